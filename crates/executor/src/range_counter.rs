//! Enumerates a range of a plan and counts it.

use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, Instant};

use board::{Cut, Tasks};
use count::{Backend, CountError};
use farm::{KernelName, Plan, Recount, Tally};

use crate::NamedKernel;

/// Tasks that are enumerated at a time: few enough to stay in the cache, and enough neighbours to
/// share work.
const TASKS_AT_A_TIME: u64 = 4096;

/// A plan and a kernel that counts its tasks.
#[derive(Debug)]
pub struct RangeCounter {
    plan: Plan,
    cut: Arc<Cut>,
    kernel: NamedKernel,
    tasks: Tasks,
}

impl RangeCounter {
    /// Counts tasks of `plan`, which `cut` enumerates, by the kernel that [`NamedKernel::new`] makes.
    pub fn new(
        plan: Plan,
        cut: Arc<Cut>,
        memory: u64,
        backend: Backend,
        recount: Option<Recount>,
    ) -> RangeCounter {
        let kernel = NamedKernel::new(memory, backend, plan, recount);
        RangeCounter { plan, cut, kernel, tasks: Tasks::new() }
    }

    /// What the kernel is called.
    pub fn kernel_name(&self) -> KernelName {
        self.kernel.name()
    }

    /// States that the kernel has stored so far, where it stores any.
    pub fn nodes(&self) -> Option<u64> {
        self.kernel.nodes()
    }

    /// The tally of `range`, which is what a worker would report for it.
    ///
    /// # Errors
    ///
    /// [`CountError`], if a task cannot be counted, or if the sum passes 64 bits.
    pub fn tally(&mut self, range: Range<u64>) -> Result<Tally, CountError> {
        let plan = self.plan.fingerprint();
        let mut tally = Tally::EMPTY;
        for piece in pieces(range) {
            self.fill(piece.clone());
            let counted = self.kernel.count(plan, piece.start, self.tasks.as_slice())?;
            tally = tally.join(counted).ok_or(CountError::Overflow)?;
        }
        Ok(tally)
    }

    /// The sum over the tasks of `range`, in 128 bits.
    ///
    /// # Errors
    ///
    /// [`CountError`], if a task cannot be counted.
    pub fn count(&mut self, range: Range<u64>) -> Result<u128, CountError> {
        let mut sum = 0;
        for piece in pieces(range) {
            self.fill(piece);
            sum += u128::from(self.kernel.kernel().count(self.tasks.as_slice())?);
        }
        Ok(sum)
    }

    /// The sum over the tasks of `range`, counted in one go, and the time that this took without the
    /// enumeration. If it `warms_up`, the first task is counted once before, unmeasured.
    ///
    /// # Errors
    ///
    /// [`CountError`], if a task cannot be counted, or if the sum passes 64 bits.
    pub fn count_timed(
        &mut self,
        range: Range<u64>,
        warms_up: bool,
    ) -> Result<(u64, Duration), CountError> {
        self.fill(range);
        let kernel = self.kernel.kernel();
        if warms_up {
            kernel.count(self.tasks.slice(0..1))?;
        }
        let begun = Instant::now();
        let count = kernel.count(self.tasks.as_slice())?;
        Ok((count, begun.elapsed()))
    }

    fn fill(&mut self, range: Range<u64>) {
        self.tasks.clear();
        self.cut.fill(range, &mut self.tasks);
    }
}

/// Cuts a range into pieces of [`TASKS_AT_A_TIME`].
fn pieces(range: Range<u64>) -> impl Iterator<Item = Range<u64>> {
    let end = range.end;
    let starts = range.step_by(TASKS_AT_A_TIME as usize);
    starts.map(move |start| start..end.min(start + TASKS_AT_A_TIME))
}

#[cfg(test)]
mod tests {
    use board::{Method, Problem};

    use super::*;

    #[test]
    fn all_ways_to_count_a_range_agree() {
        let (problem, method) = (Problem::Total { n: 12 }, Method::Rows { rows: 5 });
        let cut = Arc::new(Cut::new(problem, method).expect("such a plan exists"));
        let plan = Plan { problem, method, tasks: cut.len() };
        assert!(plan.tasks > 2 * TASKS_AT_A_TIME, "it takes several pieces");
        let mut counter = RangeCounter::new(plan, cut, 0, Backend::detect(), None);

        let total = vectors::total(12);
        assert_eq!(counter.count(0..plan.tasks), Ok(total));
        let tally = counter.tally(0..plan.tasks).expect("it counts");
        assert_eq!(u128::from(tally.count), total);
        let (timed, _) = counter.count_timed(0..plan.tasks, true).expect("it counts");
        assert_eq!(u128::from(timed), total);

        let (first, second) = (counter.tally(0..5000), counter.tally(5000..plan.tasks));
        assert_eq!(first.expect("it counts").join(second.expect("it counts")), Some(tally));
        assert_eq!(counter.count(7..7), Ok(0));
    }
}
