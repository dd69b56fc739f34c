//! Estimates counts and times of tasks from a part of their work.

use std::num::NonZeroU32;
use std::time::{Duration, Instant};

use board::Task;

use super::{CountError, Kernel, Work, add, weighted};
use crate::colours;
use crate::halves::Draws;

/// An estimate of the count of some tasks and of the time that it takes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sampled {
    /// The sum of weight times completions.
    pub count: u64,
    /// The seconds for all of the work.
    pub seconds: f64,
    /// The part of `seconds` that is estimated from a sample.
    pub sampled_seconds: f64,
}

impl Kernel {
    /// Estimates the result of [`count`](Kernel::count) for `tasks`, and the time that it takes.
    ///
    /// By `colours`, the sets of odd columns that black queens may take are numbered. Those with the
    /// number `first` modulo `every` are counted, and stand for all of them in the count and in the
    /// time. By `halves`, the same holds for the blocks of a join, but lists are made as a whole. If
    /// `first` is random, from 0 to `every - 1` with equal probability, the estimates have the true
    /// count and time as their means. Tasks are counted as a whole by another method. By `halves`,
    /// this is so for another variant than [`Straight`](crate::Variant::Straight) and for the
    /// reference, too.
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
    ///     sum += kernel.sample(&tasks, every, first)?.count;
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
    ) -> Result<Sampled, CountError> {
        if matches!(self.work, Work::Colours(_)) {
            let draws = colours::Draws { every: every.get(), first };
            return self.sample_sets(tasks, draws);
        }
        self.draw(Draws::new(every.get(), first));
        let begun = Instant::now();
        let count = self.count(tasks);
        let took = begun.elapsed();
        let draws = self.draw(Draws::ALL);
        let [drawn, warmed_up] = draws.map_or([Duration::ZERO; 2], |it| [it.took, it.warmed_up]);
        let sampled_seconds = f64::from(every.get()) * drawn.as_secs_f64();
        let beside = took.saturating_sub(drawn + warmed_up);
        let seconds = beside.as_secs_f64() + sampled_seconds;
        Ok(Sampled { count: count?, seconds, sampled_seconds })
    }

    /// Estimates from those sets of odd columns that are drawn, by a kernel for `colours`.
    fn sample_sets(
        &mut self,
        tasks: &[Task],
        draws: colours::Draws,
    ) -> Result<Sampled, CountError> {
        let begun = Instant::now();
        let records = self.records(tasks)?;
        let drawn = tasks.iter().zip(records).try_fold(0, |sum, (task, record)| {
            add(sum, weighted(task.weight, self.colour_product(record, draws)?)?)
        })?;
        let count = drawn.checked_mul(draws.every.into()).ok_or(CountError::Overflow)?;
        let seconds = f64::from(draws.every) * begun.elapsed().as_secs_f64();
        Ok(Sampled { count, seconds, sampled_seconds: seconds })
    }

    /// Changes the choice of blocks that are joined. Returns the choice before, if there are
    /// blocks.
    fn draw(&mut self, wanted: Draws) -> Option<Draws> {
        match &mut self.work {
            Work::Halves(counter) => Some(std::mem::replace(counter.draws(), wanted)),
            Work::Rows(..)
            | Work::Ring(_)
            | Work::Colours(_)
            | Work::FirstRows(_)
            | Work::SplitSearch => None,
        }
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
    fn estimates_by_colours_have_no_bias() {
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
                let sampled: Vec<Sampled> = sampled.collect::<Result<_, _>>().expect("it is small");
                let sum: u64 = sampled.iter().map(|sampled| sampled.count).sum();
                assert_eq!(sum, u64::from(every) * count, "N={n} by {variant:?}");
                assert!(sampled.iter().any(|it| it.count != count), "all sets were counted");
                assert!(sampled.iter().all(|it| it.seconds > 0.0));
                assert_eq!(kernel.count(&tasks), Ok(count), "N={n} by {variant:?}");
            }
        }
    }

    /// Each block is drawn by one of the beginnings, so the sum of their estimates is the count
    /// times their number.
    #[test]
    fn estimates_have_no_bias_and_leave_the_kernel_as_it_was() {
        for (n, ordinal) in [(18, 9_000), (19, 89_900)] {
            let method = Method::Halves;
            let index = PlanIndex::new(Problem::Total { n }, method).expect("such a plan");
            let tasks = index.tasks(ordinal..ordinal + 2).expect("it has these tasks");
            for backend in [Backend::Portable, Backend::detect()] {
                let mut kernel = Kernel::new(backend, n, method).expect("such a kernel");
                let count = kernel.count(&tasks).expect("it is small");
                let every = NonZeroU32::new(3).expect("3 is not 0");
                let sampled: Vec<Sampled> = (0..3)
                    .map(|first| kernel.sample(&tasks, every, first).expect("it is small"))
                    .collect();
                let sum: u64 = sampled.iter().map(|sampled| sampled.count).sum();
                assert_eq!(sum, 3 * count, "N={n} by {backend}: {sampled:?}");
                assert!(
                    sampled.iter().any(|sampled| sampled.count != count),
                    "all blocks were joined"
                );
                assert!(
                    sampled
                        .iter()
                        .all(|it| 0.0 < it.sampled_seconds && it.sampled_seconds < it.seconds)
                );
                assert_eq!(kernel.count(&tasks), Ok(count));
            }
        }
    }

    #[test]
    fn what_has_no_blocks_is_counted_as_a_whole() {
        let (n, method) = (10, Method::Rows { rows: 2 });
        let index = PlanIndex::new(Problem::Total { n }, method).expect("such a plan");
        let tasks = index.tasks(0..index.len()).expect("all tasks");
        let mut kernel = Kernel::new(Backend::Portable, n, method).expect("such a kernel");
        let every = NonZeroU32::new(7).expect("7 is not 0");
        let sampled = kernel.sample(&tasks, every, 6).expect("it is small");
        assert_eq!((sampled.count, sampled.sampled_seconds), (724, 0.0));
    }
}
