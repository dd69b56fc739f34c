//! Estimates counts of tasks from a part of their work.

use std::num::NonZeroU32;

use board::Task;

use super::{CountError, Kernel, Work, add, weighted};
use crate::colours::Draws;

impl Kernel {
    /// Estimates the result of [`count`](Kernel::count) for `tasks` from a part of the work.
    ///
    /// By `colours`, the sets of odd columns that black queens may take are numbered. Those with
    /// the number `first` modulo `every` are counted, and the result is their count times `every`.
    /// If `first` is random, from 0 to `every - 1` with equal probability, the estimate has the
    /// true count as its mean, and `every` times the time that it takes has the true time as its
    /// mean. By the other methods, tasks are counted as a whole.
    ///
    /// ```
    /// use std::num::NonZeroU32;
    ///
    /// use queens_count::board::{PlanIndex, Method, Problem};
    /// use queens_count::{Backend, Kernel};
    ///
    /// let index = PlanIndex::new(Problem::Total { n: 18 }, Method::Colours)?;
    /// let tasks = index.tasks(9_000..9_001)?;
    /// let mut kernel = Kernel::new(Backend::detect(), 18, Method::Colours)?;
    /// let every = NonZeroU32::new(4).expect("4 is not 0");
    /// let mut sum = 0;
    /// for first in 0..4 {
    ///     sum += kernel.sample(&tasks, every, first)?;
    /// }
    /// assert_eq!(sum, 4 * kernel.count(&tasks)?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The errors of [`count`](Kernel::count).
    pub fn sample(
        &mut self,
        tasks: &[Task],
        every: NonZeroU32,
        first: u32,
    ) -> Result<u64, CountError> {
        if !matches!(self.work, Work::Colours(_)) {
            return self.count(tasks);
        }
        let draws = Draws { every: every.get(), first };
        let records = self.records(tasks)?;
        let drawn = tasks.iter().zip(records).try_fold(0, |sum, (task, record)| {
            add(sum, weighted(task.weight, self.colour_product(record, draws)?)?)
        })?;
        drawn.checked_mul(draws.every.into()).ok_or(CountError::Overflow)
    }
}

#[cfg(test)]
mod tests {
    use board::{Method, PlanIndex, Problem};

    use super::*;
    use crate::{Backend, Variant};

    /// Each set of columns is drawn by one of the beginnings, so the sum of their estimates is the
    /// count times their number.
    #[test]
    fn estimates_have_no_bias_and_leave_the_kernel_as_it_was() {
        let method = Method::Colours;
        let straight = Backend::available().map(Variant::Straight);
        let variants: Vec<_> = straight.chain([Variant::Mirrored(Backend::Portable)]).collect();
        for (n, every) in [(13, 7), (14, 20), (15, 2), (16, 100)] {
            let index = PlanIndex::new(Problem::Total { n }, method).expect("such a plan");
            let middle = index.len() / 2;
            let tasks = index.tasks(middle..middle + 8).expect("it has these tasks");
            for &variant in &variants {
                let mut kernel = Kernel::new(variant, n, method).expect("such a kernel");
                let count = kernel.count(&tasks).expect("it is small");
                let of = NonZeroU32::new(every).expect("it is not 0");
                let sampled = (0..every).map(|first| kernel.sample(&tasks, of, first));
                let sampled: Vec<u64> = sampled.collect::<Result<_, _>>().expect("it is small");
                let sum: u64 = sampled.iter().sum();
                assert_eq!(sum, u64::from(every) * count, "N={n} by {variant:?}");
                assert!(sampled.iter().any(|&it| it != count), "all sets were counted");
                assert_eq!(kernel.count(&tasks), Ok(count), "N={n} by {variant:?}");
            }
        }
    }

    #[test]
    fn what_has_no_sets_is_counted_as_a_whole() {
        let (n, method) = (10, Method::Rows { rows: 2 });
        let index = PlanIndex::new(Problem::Total { n }, method).expect("such a plan");
        let tasks = index.tasks(0..index.len()).expect("all tasks");
        let mut kernel = Kernel::new(Backend::Portable, n, method).expect("such a kernel");
        let every = NonZeroU32::new(7).expect("7 is not 0");
        assert_eq!(kernel.sample(&tasks, every, 6), Ok(724));
    }
}
