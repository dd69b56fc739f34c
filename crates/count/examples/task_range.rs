//! Counts one range of the tasks of a problem, as a worker of a farm does. The counts of all ranges
//! add up to the total.
//!
//! ```sh
//! cargo run --release --example task_range -- 18 0 2500
//! ```

use std::error::Error;

use queens_count::board::{MethodChoice, PlanIndex, Problem};
use queens_count::{Backend, Kernel, self_test};

fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let number = |place: usize, usual: u64| words.get(place).map_or(Ok(usual), |it| it.parse());
    let problem = Problem::Total { n: u32::try_from(number(0, 16)?)? };

    // All parts of a count must divide the problem by the same method.
    let choice = MethodChoice::suggested(problem);
    let method = choice.for_problem(problem);
    let index = PlanIndex::new(problem, method)?;
    let range = number(1, 0)?..number(2, index.len())?;

    let backend = Backend::detect();
    self_test(backend, [choice])?;
    let mut kernel = Kernel::new(backend, problem, method)?;
    let count = kernel.count_range(&index, range.clone())?;
    println!("{count} from tasks {range:?} of {}, by {method} and {backend}", index.len());
    Ok(())
}
