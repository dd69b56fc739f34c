//! Counts all placements of N queens, and shows on standard error how far the count has come.
//!
//! ```sh
//! cargo run --release --example progress -- 18
//! ```

use std::error::Error;
use std::time::Instant;

use queens::Counting;

fn main() -> Result<(), Box<dyn Error>> {
    let n: u32 = std::env::args().nth(1).map_or(Ok(16), |word| word.parse())?;
    let begun = Instant::now();
    let counted = Counting::new(n)
        .on_progress(|progress| {
            let percent = 100 * progress.tasks_done / progress.tasks.max(1);
            eprint!("\r{percent:3}% of the tasks, {} placements so far", progress.placements);
        })
        .run()?;
    let seconds = begun.elapsed().as_secs_f64();
    eprintln!("\rQ({n}), counted in {seconds:.3} s on {} threads{:30}", counted.threads, "");
    println!("{}", counted.answer.count());
    Ok(())
}
