//! A kernel together with its name in the evidence.

use board::{PlanIndex, TaskSlice};
use count::{Backend, CountError, Kernel, Variant};
use gpu::Counter;
use plan::{CheckedCount, Fingerprint, KernelName, Plan, Range, Recount, TaskCounts};

/// A kernel with its name.
pub struct NamedKernel {
    name: KernelName,
    kernel: Kernel,
    /// Whether the counts of single tasks are reported.
    reports_tasks: bool,
}

impl std::fmt::Debug for NamedKernel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("NamedKernel").field("name", &self.name).finish_non_exhaustive()
    }
}

impl NamedKernel {
    /// A kernel for tasks of `plan` that takes at most `memory` bytes. It uses `backend`; for a recount it
    /// uses a variant that differs from the one that counted the tasks before.
    ///
    /// # Panics
    ///
    /// Panics if the processor lacks the backend.
    pub fn new(memory: u64, backend: Backend, plan: Plan, recount: Option<Recount>) -> NamedKernel {
        let variant = match &recount {
            None => Variant::Straight(backend),
            Some(Recount { unlike, by_search }) => {
                let to_check =
                    |by_search| Variant::to_check(unlike.as_str(), plan.method, by_search);
                to_check(*by_search).or_else(|| to_check(false)).expect("every method has another")
            }
        };
        NamedKernel::of(memory, variant, plan)
    }

    /// The kernel of this variant for tasks of `plan`.
    ///
    /// # Panics
    ///
    /// Panics if the processor lacks the variant, or if the variant does not suit the plan's method.
    pub fn of(memory: u64, variant: Variant, plan: Plan) -> NamedKernel {
        let Plan { problem, method, .. } = plan;
        let name = KernelName::new(&variant.to_string()).expect("every variant has a name");
        let kernel = Kernel::with_memory(memory, variant, problem, method);
        let kernel = kernel.expect("whoever leases a plan has made it");
        NamedKernel { name, kernel, reports_tasks: plan.reports_tasks() }
    }

    /// The kernel's name in the evidence.
    pub fn name(&self) -> KernelName {
        self.name
    }

    /// Counts tasks of the plan with this fingerprint, the first of which has the ordinal `start`: all together, and each of
    /// them if the plan reports that.
    ///
    /// # Errors
    ///
    /// [`CountError`], if a task cannot be counted, or if the sum passes 64 bits.
    pub fn count(
        &mut self,
        plan: Fingerprint,
        start: u64,
        tasks: TaskSlice<'_>,
    ) -> Result<(CheckedCount, TaskCounts), CountError> {
        let mut builder = CountBuilder::new(plan, start, self.reports_tasks);
        self.kernel.count_each(tasks, |count| builder.add(count))?;
        builder.end()
    }

    /// Counts a range of the plan with this fingerprint, whose tasks `cut` enumerates, like [`count`](NamedKernel::count).
    ///
    /// # Errors
    ///
    /// [`CountError`], if a task cannot be counted, or if the sum passes 64 bits.
    pub fn count_range(
        &mut self,
        plan: Fingerprint,
        index: &PlanIndex,
        range: Range,
    ) -> Result<(CheckedCount, TaskCounts), CountError> {
        let (start, end) = (range.start(), range.end());
        let mut builder = CountBuilder::new(plan, start, self.reports_tasks);
        self.kernel.count_each_of_range(index, start..end, |count| builder.add(count))?;
        builder.end()
    }
}

/// A device's counter of tasks of one plan.
#[derive(Debug)]
pub(crate) struct DeviceKernel {
    counter: Counter,
    reports_tasks: bool,
}

impl DeviceKernel {
    pub(crate) fn new(counter: Counter, plan: Plan) -> DeviceKernel {
        DeviceKernel { counter, reports_tasks: plan.reports_tasks() }
    }

    /// The kernel's name in the evidence, the same for all devices.
    pub(crate) fn name() -> KernelName {
        KernelName::new(Variant::DEVICE).expect("devices have a name")
    }

    /// Counts tasks like [`NamedKernel::count`].
    pub(crate) fn count(
        &mut self,
        plan: Fingerprint,
        start: u64,
        tasks: TaskSlice<'_>,
    ) -> Result<(CheckedCount, TaskCounts), gpu::Error> {
        let mut builder = CountBuilder::new(plan, start, self.reports_tasks);
        self.counter.count_each(tasks, |count| builder.add(count))?;
        Ok(builder.end()?)
    }
}

/// Adds counts of consecutive tasks up. The checked count is `None` once the sum has passed 64 bits.
struct CountBuilder {
    plan: Fingerprint,
    ordinal: u64,
    checked_count: Option<CheckedCount>,
    /// The single counts, if they are reported.
    each: Vec<u64>,
    reports_tasks: bool,
}

impl CountBuilder {
    fn new(plan: Fingerprint, ordinal: u64, reports_tasks: bool) -> CountBuilder {
        CountBuilder {
            plan,
            ordinal,
            checked_count: Some(CheckedCount::EMPTY),
            each: Vec::new(),
            reports_tasks,
        }
    }

    fn add(&mut self, count: u64) {
        self.each.extend(self.reports_tasks.then_some(count));
        self.checked_count = self
            .checked_count
            .and_then(|checked_count| checked_count.with(self.plan, self.ordinal, count));
        self.ordinal += 1;
    }

    fn end(self) -> Result<(CheckedCount, TaskCounts), CountError> {
        let checked_count = self.checked_count.ok_or(CountError::Overflow)?;
        Ok((checked_count, TaskCounts::new(&self.each)))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn the_farm_knows_the_names_of_all_variants_and_no_other() {
        let mut ours: BTreeSet<String> =
            Variant::all().map(|variant| variant.to_string()).collect();
        ours.insert(Variant::DEVICE.into());
        let theirs: BTreeSet<String> =
            KernelName::ALL.into_iter().map(|name| name.to_string()).collect();
        assert_eq!(ours, theirs);
    }
}
