//! The fuzzing target `bundle`: an altered bundle is refused with a sentence, or still has the same
//! content. The crate `fuzz` says how to run it for longer.

use std::fs;

use evidence::{Sample, Seed, check};
use tempfile::TempDir;

/// The bytes of a sound bundle, a small job that is done: `queens count 8 --method colours --ledger
/// l.db`, then `queens export 1 sound.bundle --ledger l.db`.
const SOUND: &[u8] = include_bytes!("sound.bundle");

#[test]
fn bundle() {
    let folder = TempDir::new().expect("a temporary directory");
    let path = folder.path().join("altered");
    let read = |bytes: &[u8]| {
        fs::write(&path, bytes).expect("it can be written");
        check(&path, Sample { draws: 3, seed: Seed::Number(1), all: false })
    };
    read(SOUND).expect("it is sound");
    bolero::check!().for_each(move |input: &[u8]| {
        let mut source = Source(input);
        let mut bytes = SOUND.to_vec();
        for _ in 0..=source.below(4) {
            let at = source.below(bytes.len());
            match source.below(4) {
                0 => bytes.truncate(at),
                1 => drop(bytes.remove(at)),
                2 => bytes.insert(at, source.byte()),
                _ => bytes[at] = source.byte(),
            }
            if bytes.is_empty() {
                break;
            }
        }
        if let Ok(checked) = read(&bytes) {
            assert_eq!(checked.plan.problem, board::Problem::Total { n: 8 });
            assert_eq!(checked.header.counted, 92);
        }
    });
}

/// The bytes of an input as choices; after its end all bytes are zero.
struct Source<'a>(&'a [u8]);

impl Source<'_> {
    fn byte(&mut self) -> u8 {
        let Some((first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        *first
    }

    /// A number below `bound`, which is not 0.
    fn below(&mut self, bound: usize) -> usize {
        let wide = if bound > 256 { usize::from(self.byte()) << 8 } else { 0 };
        (wide | usize::from(self.byte())) % bound
    }
}
