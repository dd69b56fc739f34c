//! Counts all placements of N queens, and shows on standard error how far the count has come.
//!
//! ```sh
//! cargo run --release --example total -- 18
//! ```

use std::error::Error;
use std::time::Instant;

use queens_count::Counting;
use queens_count::board::Problem;

fn main() -> Result<(), Box<dyn Error>> {
    let n = std::env::args().nth(1).map_or(Ok(16), |word| word.parse())?;
    let begun = Instant::now();
    let answer = Counting::new(Problem::Total { n })
        .on_progress(|progress| {
            let percent = 100 * progress.tasks_done / progress.tasks.max(1);
            eprint!("\r{percent:3}% of the tasks, {} placements so far", progress.placements);
        })
        .run()?;
    eprintln!("\rQ({n}), counted in {:.3} s{:30}", begun.elapsed().as_secs_f64(), "");
    println!("{}", answer.count());
    Ok(())
}
