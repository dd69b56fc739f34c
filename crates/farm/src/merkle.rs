//! The root of a Merkle tree over lines, computed one line at a time.
//!
//! ```text
//!   root ── H(1, left, right)          H is BLAKE3; a node without a sibling moves up unchanged
//!           /               \
//!      H(1, ..)           H(1, ..)     the stack holds one node for each full tree so far:
//!      /      \           /      \     of 1, 2, 4, ... leaves
//!   H(0, line) ...
//! ```

use blake3::{Hash, Hasher};

/// A Merkle tree to which leaves are added.
#[derive(Debug, Default)]
pub struct Merkle {
    /// The roots of full trees with their numbers of leaves, the largest first.
    trees: Vec<(u64, Hash)>,
}

impl Merkle {
    /// Adds a leaf.
    pub fn add(&mut self, line: &[u8]) {
        let mut tree = (1, Hasher::new().update(&[0]).update(line).finalize());
        while let Some((_, left)) = self.trees.pop_if(|(leaves, _)| *leaves == tree.0) {
            tree = (2 * tree.0, parent(left, tree.1));
        }
        self.trees.push(tree);
    }

    /// The root over all leaves so far. Without leaves it is the hash of the empty string.
    #[must_use]
    pub fn root(&self) -> Hash {
        let trees = self.trees.iter().rev().map(|&(_, tree)| tree);
        trees.reduce(|right, left| parent(left, right)).unwrap_or_else(|| blake3::hash(b""))
    }
}

fn parent(left: Hash, right: Hash) -> Hash {
    Hasher::new().update(&[1]).update(left.as_bytes()).update(right.as_bytes()).finalize()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn root(lines: &[&str]) -> Hash {
        let mut tree = Merkle::default();
        lines.iter().for_each(|line| tree.add(line.as_bytes()));
        tree.root()
    }

    fn leaf(line: &str) -> Hash {
        root(&[line])
    }

    #[test]
    fn a_root_is_what_its_definition_says() {
        let (a, b, c) = (leaf("a"), leaf("b"), leaf("c"));
        assert_eq!(root(&["a", "b"]), parent(a, b));
        assert_eq!(root(&["a", "b", "c"]), parent(parent(a, b), c));
        let four = parent(parent(a, b), parent(c, leaf("d")));
        assert_eq!(root(&["a", "b", "c", "d"]), four);
        assert_eq!(root(&["a", "b", "c", "d", "e"]), parent(four, leaf("e")));
    }

    #[test]
    fn any_change_changes_the_root() {
        let lines = ["one", "two", "three", "four", "five"];
        let whole = root(&lines);
        for at in 0..lines.len() {
            let mut changed = lines;
            changed[at] = "other";
            assert_ne!(root(&changed), whole);
            assert_ne!(root(&lines[..at]), whole);
        }
        assert_ne!(root(&["two", "one", "three", "four", "five"]), whole);
    }
}
