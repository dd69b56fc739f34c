//! A kernel together with its name in the evidence.

use board::{PlanIndex, Task};
use count::{Backend, CountError, Kernel, Stop, Variant};
use farm::{CheckedCount, Fingerprint, KernelName, Plan, Range, Recount, TaskCounts};

/// A kernel with its name.
#[derive(Debug)]
pub struct NamedKernel {
    name: KernelName,
    kernel: Kernel,
    /// Whether the counts of single tasks are reported.
    reports_tasks: bool,
}

impl NamedKernel {
    /// A kernel for tasks of `plan`. It uses `backend`; for a recount it uses a variant that
    /// differs from the one that counted the tasks before. Panics if the processor lacks the
    /// backend.
    pub fn new(backend: Backend, plan: Plan, recount: Option<Recount>) -> NamedKernel {
        let variant = match &recount {
            None => Variant::Straight(backend),
            Some(Recount { unlike, by_reference }) => {
                Variant::to_check(unlike.as_str(), plan.method, *by_reference)
            }
        };
        NamedKernel::of(variant, plan)
    }

    /// The kernel of this variant for tasks of `plan`. Panics if the processor lacks it.
    pub fn of(variant: Variant, plan: Plan) -> NamedKernel {
        let Plan { problem, method, .. } = plan;
        let name = KernelName::new(&variant.to_string()).expect("every variant has a name");
        let kernel = Kernel::new(variant, problem, method);
        let kernel = kernel.expect("whoever leases a plan has made it");
        NamedKernel { name, kernel, reports_tasks: plan.reports_tasks() }
    }

    /// The kernel's name in the evidence.
    pub fn name(&self) -> KernelName {
        self.name
    }

    /// From now on, counting fails with [`CountError::Stopped`] once `stop` is asked.
    pub fn stop_at(&mut self, stop: Stop) {
        self.kernel.stop_at(stop);
    }

    /// Counts tasks of the plan with this fingerprint, the first of which has the ordinal `start`.
    /// Returns the count of all tasks together and, if the plan reports it, that of each task. It
    /// fails if a task cannot be counted, or if the sum passes 64 bits.
    pub fn count(
        &mut self,
        plan: Fingerprint,
        start: u64,
        tasks: &[Task],
    ) -> Result<(CheckedCount, TaskCounts), CountError> {
        add_up(plan, start, self.reports_tasks, |add| self.kernel.count_each(tasks, add))
    }

    /// Counts a range of the plan with this fingerprint, whose tasks `index` enumerates, like
    /// [`count`](NamedKernel::count). It also fails if the plan does not have the range.
    pub fn count_range(
        &mut self,
        plan: Fingerprint,
        index: &PlanIndex,
        range: Range,
    ) -> Result<(CheckedCount, TaskCounts), CountError> {
        let (start, end) = (range.start(), range.end());
        add_up(plan, start, self.reports_tasks, |add| {
            self.kernel.count_each_of_range(index, start..end, add)
        })
    }
}

/// The name of devices in the evidence, the same for all of them.
pub(crate) fn device_name() -> KernelName {
    KernelName::new(Variant::DEVICE).expect("devices have a name")
}

/// Adds up the counts that `count` passes on. They are those of consecutive tasks, the first of
/// which has the ordinal `start`.
pub(crate) fn add_up<E: From<CountError>>(
    plan: Fingerprint,
    start: u64,
    reports_tasks: bool,
    count: impl FnOnce(&mut dyn FnMut(u64)) -> Result<(), E>,
) -> Result<(CheckedCount, TaskCounts), E> {
    let (mut ordinal, mut sum, mut each) = (start, Some(CheckedCount::EMPTY), Vec::new());
    count(&mut |count| {
        each.extend(reports_tasks.then_some(count));
        sum = sum.and_then(|sum| sum.with(plan, ordinal, count));
        ordinal += 1;
    })?;
    Ok((sum.ok_or(CountError::Overflow)?, TaskCounts::new(&each)))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn the_farm_knows_the_names_of_all_variants_and_no_other() {
        let of = |backend: &Backend| {
            [Variant::Straight(*backend), Variant::Mirrored(*backend)].map(|it| it.to_string())
        };
        let mut ours: BTreeSet<String> = Backend::ALL.iter().flat_map(of).collect();
        ours.insert(Variant::DEVICE.into());
        let theirs: BTreeSet<String> =
            KernelName::ALL.into_iter().map(|name| name.to_string()).collect();
        assert_eq!(ours, theirs);
    }
}
