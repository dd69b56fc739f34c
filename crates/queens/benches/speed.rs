//! The README's table of speeds on your machine: one thread counts all placements, by this crate,
//! by its iterator, and by the textbook's recursion.
//!
//! ```sh
//! cargo bench --package queens              # N = 16, 18 and 20: about a minute with AVX-512
//! cargo bench --package queens -- 16 21     # other sizes, from 1 to 31
//! ```

use std::error::Error;
use std::hint::black_box;
use std::time::{Duration, Instant};

use queens::{Counting, solutions};

/// After this time, no run is repeated.
const LONG_ENOUGH: Duration = Duration::from_secs(2);

fn main() -> Result<(), Box<dyn Error>> {
    let (options, sizes): (Vec<String>, Vec<String>) =
        std::env::args().skip(1).partition(|word| word.starts_with("--"));
    let mut sizes = sizes.iter().map(|word| word.parse()).collect::<Result<Vec<u32>, _>>()?;
    if sizes.is_empty() {
        // `cargo test --all-targets` gives no option, and asks only whether it runs.
        let is_measured = options.iter().any(|option| option == "--bench");
        sizes.extend(if is_measured { &[16, 18, 20][..] } else { &[8] });
    }
    if sizes.iter().any(|n| !(1..32).contains(n)) {
        return Err("give sizes from 1 to 31".into());
    }
    for &n in &sizes {
        let counted = || Ok(Counting::new(n).threads(1).run()?.answer.count());
        measure("count", n, &counted)?;
    }
    // The others visit each placement.
    let n = sizes[0].min(16);
    measure("solutions", n, &|| Ok(solutions(n).map(black_box).count() as u128))?;
    measure("textbook's recursion", n, &|| Ok(mirrored(n)))
}

/// Prints the number of placements and the shortest time of some runs.
fn measure(
    name: &str,
    n: u32,
    count: &dyn Fn() -> Result<u128, Box<dyn Error>>,
) -> Result<(), Box<dyn Error>> {
    let begun = Instant::now();
    let mut shortest = Duration::MAX;
    loop {
        let run = Instant::now();
        let placements = count()?;
        shortest = shortest.min(run.elapsed());
        if begun.elapsed() > LONG_ENOUGH || n < 10 {
            let seconds = shortest.as_secs_f64();
            println!("{name:20}  N = {n:2}  {placements:20} placements  {seconds:9.4} s");
            return Ok(());
        }
    }
}

/// All placements by the textbook's recursion: those with the first queen in the left half stand
/// for their mirror images.
fn mirrored(n: u32) -> u128 {
    let below = |column: u32| {
        let queen = 1 << column;
        u128::from(recursion((1 << n) - 1, queen, queen << 1, queen >> 1))
    };
    let centre = if n % 2 == 1 { below(n / 2) } else { 0 };
    2 * (0..n / 2).map(below).sum::<u128>() + centre
}

/// The completions of a board whose filled rows occupy these columns and diagonals.
fn recursion(all: u32, down: u32, left: u32, right: u32) -> u64 {
    if down == all {
        return 1;
    }
    let mut free = all & !(down | left | right);
    let mut found = 0;
    while free != 0 {
        let queen = free & free.wrapping_neg();
        free ^= queen;
        found += recursion(all, down | queen, (left | queen) << 1, (right | queen) >> 1);
    }
    found
}
