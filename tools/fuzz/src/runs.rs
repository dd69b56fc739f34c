//! Random inputs without a fuzzing engine, for targets that are tests of other crates: what they need is
//! built quickly, and a plain run is the same every time.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::time::{Duration, Instant};

/// Inputs of a plain run.
const INPUTS: u64 = 300;

/// The longest input, bytes.
const LONGEST: u64 = 256;

/// Gives inputs to `target`: some hundred that are always the same, or for `QUEENS_FUZZ_MS` milliseconds
/// others each time, or the one input of `QUEENS_FUZZ_SEED`.
///
/// # Panics
///
/// If `target` does; the seed that replays the input is printed before.
pub fn each_input(target: impl Fn(&[u8])) {
    let run = |seed| {
        let failed = catch_unwind(AssertUnwindSafe(|| target(&input(seed)))).err();
        if let Some(panic) = failed {
            eprintln!("replay with QUEENS_FUZZ_SEED={seed}");
            resume_unwind(panic);
        }
    };
    match (number("QUEENS_FUZZ_SEED"), number("QUEENS_FUZZ_MS")) {
        (Some(seed), _) => run(seed),
        (None, None) => (0..INPUTS).for_each(run),
        (None, Some(ms)) => {
            let end = Instant::now() + Duration::from_millis(ms);
            let first = RandomState::new().build_hasher().finish() >> 1;
            (first..).take_while(|_| Instant::now() < end).for_each(run);
        }
    }
}

fn input(seed: u64) -> Vec<u8> {
    // SplitMix64.
    let mut state = seed;
    let mut next = || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    };
    let length = next() % LONGEST;
    (0..length).map(|_| next() as u8).collect()
}

fn number(variable: &str) -> Option<u64> {
    let text = std::env::var(variable).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{variable} must be a number")))
}
