//! Compares every kernel on every backend with known counts, with the definition, and with each
//! other.

mod backends;
mod bounds;
mod counting;
mod first_rows;
mod halves;
mod ring;
mod variants;

use board::{Method, PlanIndex, Problem};
use queens_count::{Backend, Kernel};

/// Q(n), counted by `backend` from the tasks of `method`.
fn total(backend: Backend, n: u32, method: Method) -> u128 {
    /// This exceeds the number of tasks that the vector backends take at once, and is no multiple
    /// of a group of `ring`.
    const BLOCK: u64 = 4_999;
    let problem = Problem::Total { n };
    let index = PlanIndex::new(problem, method).expect("the board can be cut so");
    let mut kernel = Kernel::new(backend, n, method).expect("there is such a kernel");
    let mut sum = 0;
    for start in (0..index.len()).step_by(BLOCK as usize) {
        let tasks = index.tasks(start..index.len().min(start + BLOCK));
        let tasks = tasks.expect("the plan has the range");
        sum += u128::from(kernel.count(&tasks).expect("tasks are good"));
    }
    sum
}

/// SplitMix64 (Steele, Lea and Flood, 2014).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}
