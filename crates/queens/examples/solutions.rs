//! Times the iterator over placements, and beside it a recursion that calls a function with each placement.
//!
//! ```sh
//! cargo run --release --example solutions -- 13
//! ```

use std::error::Error;
use std::hint::black_box;
use std::time::{Duration, Instant};

use queens::solutions;

fn main() -> Result<(), Box<dyn Error>> {
    let n: u32 = std::env::args().nth(1).map_or(Ok(13), |word| word.parse())?;
    if !(1..32).contains(&n) {
        return Err("give a size from 1 to 31".into());
    }
    let iterated = || solutions(n).map(black_box).count();
    let visited = || {
        let mut found = 0;
        visit(n, 0, [0; 3], &mut vec![0; n as usize], &mut |columns| {
            black_box(columns.to_vec());
            found += 1;
        });
        found
    };
    for (name, list) in [("iterator", &iterated as &dyn Fn() -> usize), ("recursion", &visited)] {
        let times = (0..9).map(|_| time(list));
        let (found, best) = times.min_by_key(|(_, took)| *took).expect("there are nine");
        println!("{name:9}  {found} placements, {:.1} ms", 1e3 * best.as_secs_f64());
    }
    Ok(())
}

fn time(list: &dyn Fn() -> usize) -> (usize, Duration) {
    let begun = Instant::now();
    (list(), begun.elapsed())
}

/// The textbook's search with masks of the columns and diagonals that queens occupy.
fn visit(
    n: u32,
    row: usize,
    [down, left, right]: [u32; 3],
    columns: &mut [u32],
    each: &mut dyn FnMut(&[u32]),
) {
    if row == columns.len() {
        return each(columns);
    }
    let mut free = !(down | left | right) & ((1 << n) - 1);
    while free != 0 {
        let queen = free & free.wrapping_neg();
        columns[row] = free.trailing_zeros();
        free ^= queen;
        let below = [down | queen, (left | queen) << 1, (right | queen) >> 1];
        visit(n, row + 1, below, columns, each);
    }
}
