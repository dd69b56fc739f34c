//! Whom nobody believes after several histories of trust, of copies of one ledger that went on apart.
//!
//! No clock decides, because clocks of machines differ. A pardon ends what it knew of: the changes before it in its own
//! history. A party that another copy has distrusted since, or distrusted again, stays distrusted.
//!
//! ```text
//!   copy A   distrusts X ──── pardons X
//!   copy B   distrusts X ──── distrusts Y ──── pardons Y ──── distrusts Y
//!   united   X was pardoned by somebody who knew why; Y is distrusted
//! ```

use crate::TrustChange;

/// One history that holds all changes of several ones. Whoever is believed after it does not depend on the order of the
/// histories, or on how often one of them is among them, and it may be united with others again.
#[must_use]
pub fn unite_trust<'a>(histories: impl IntoIterator<Item = &'a [TrustChange]>) -> Vec<TrustChange> {
    let (mut over, mut pardons, mut open) = (Vec::new(), Vec::new(), Vec::new());
    for history in histories {
        for (at, change) in history.iter().enumerate() {
            let ends = |later: &TrustChange| later.trusted && later.party == change.party;
            match change {
                change if change.trusted => pardons.push(change),
                change if history[at..].iter().any(ends) => over.push(change),
                change => open.push(change),
            }
        }
    }
    open.retain(|change| !over.contains(change));
    // What is over comes before all pardons, and what is not after them.
    let mut united = Vec::new();
    for mut changes in [over, pardons, open] {
        changes.sort_by_key(|change| (change.at_ms, &change.party, change.proof, &change.reason));
        changes.dedup();
        united.extend(changes.into_iter().cloned());
    }
    united
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Distrusted, Party};

    /// `+x` believes the owner x, `-x` does not; the digit tells changes apart.
    fn history(words: &str) -> Vec<TrustChange> {
        let change = |word: &str| TrustChange {
            party: Party { owner: word[1..2].into(), machine: None },
            trusted: word.starts_with('+'),
            proof: None,
            reason: String::new(),
            at_ms: word[2..].parse().expect("a time"),
        };
        words.split_whitespace().map(change).collect()
    }

    fn distrusted(changes: &[TrustChange]) -> String {
        Distrusted::after(changes).0.iter().map(|party| party.owner.as_str()).collect()
    }

    #[test]
    fn a_pardon_ends_only_what_it_knew_of() {
        for (copies, expected) in [
            (["-x1", "-x1 +x2"], ""),
            (["-x1 +x2", "-x1 +x2 -x3"], "x"),
            // The clock of the second machine is behind.
            (["-x5 +x6", "-x5 -x2"], "x"),
            (["-x1", "+x9"], "x"),
            (["-x1 +x2", "-y1 -z1 +z2"], "y"),
            (["", "-x1"], "x"),
        ] {
            let [a, b] = copies.map(history);
            for order in [[&a, &b], [&b, &a]] {
                let united = unite_trust(order.map(Vec::as_slice));
                assert_eq!(distrusted(&united), expected, "{copies:?}");
            }
        }
    }

    #[test]
    fn histories_can_be_united_in_any_order_and_any_groups() {
        let all = ["-x1 +x2 -y3", "-x1 -y3 +y4 -x5", "-z1 +z2 -x1", "-x1 +x2 -y3 -z9 +x10", "+x2"]
            .map(history);
        let slices = |of: &[usize]| of.iter().map(|&at| all[at].as_slice()).collect::<Vec<_>>();
        let whole = unite_trust(slices(&[0, 1, 2, 3, 4]));
        assert_eq!(unite_trust(slices(&[4, 2, 0, 3, 1, 0, 2])), whole);
        for cut in 1..5 {
            let first = unite_trust(slices(&(0..cut).collect::<Vec<_>>()));
            let second = unite_trust(slices(&(cut..5).collect::<Vec<_>>()));
            assert_eq!(unite_trust([first.as_slice(), &second]), whole, "{cut}");
            assert_eq!(unite_trust([second.as_slice(), &first, &second]), whole, "{cut}");
        }
        assert_eq!(distrusted(&whole), "xyz".replace('y', ""));
    }
}
