//! A kernel together with its name in the evidence.

use board::{Cut, TaskSlice};
use count::{Backend, CountError, Kernel, Variant};
use gpu::Counter;
use plan::{Fingerprint, KernelName, Plan, Range, Recount, Tally, TaskCounts};

/// A kernel with its name.
pub struct NamedKernel {
    name: KernelName,
    kernel: Kernel,
    /// Whether the counts of single tasks are reported.
    tells_tasks: bool,
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
        NamedKernel { name, kernel, tells_tasks: plan.tells_tasks() }
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
    ) -> Result<(Tally, TaskCounts), CountError> {
        let mut tallying = Tallying::new(plan, start, self.tells_tasks);
        self.kernel.count_each(tasks, |count| tallying.add(count))?;
        tallying.end()
    }

    /// Counts a range of the plan with this fingerprint, whose tasks `cut` enumerates, like [`count`](NamedKernel::count).
    ///
    /// # Errors
    ///
    /// [`CountError`], if a task cannot be counted, or if the sum passes 64 bits.
    pub fn count_range(
        &mut self,
        plan: Fingerprint,
        cut: &Cut,
        range: Range,
    ) -> Result<(Tally, TaskCounts), CountError> {
        let (start, end) = (range.start(), range.end());
        let mut tallying = Tallying::new(plan, start, self.tells_tasks);
        self.kernel.count_each_of_range(cut, start..end, |count| tallying.add(count))?;
        tallying.end()
    }
}

/// A device's counter of tasks of one plan.
#[derive(Debug)]
pub(crate) struct DeviceKernel {
    counter: Counter,
    tells_tasks: bool,
}

impl DeviceKernel {
    pub(crate) fn new(counter: Counter, plan: Plan) -> DeviceKernel {
        DeviceKernel { counter, tells_tasks: plan.tells_tasks() }
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
    ) -> Result<(Tally, TaskCounts), gpu::Error> {
        let mut tallying = Tallying::new(plan, start, self.tells_tasks);
        self.counter.count_each(tasks, |count| tallying.add(count))?;
        Ok(tallying.end()?)
    }
}

/// Adds counts of consecutive tasks up. The tally is `None` once the sum has passed 64 bits.
struct Tallying {
    plan: Fingerprint,
    ordinal: u64,
    tally: Option<Tally>,
    /// The single counts, if they are reported.
    each: Vec<u64>,
    tells_tasks: bool,
}

impl Tallying {
    fn new(plan: Fingerprint, ordinal: u64, tells_tasks: bool) -> Tallying {
        Tallying { plan, ordinal, tally: Some(Tally::EMPTY), each: Vec::new(), tells_tasks }
    }

    fn add(&mut self, count: u64) {
        self.each.extend(self.tells_tasks.then_some(count));
        self.tally = self.tally.and_then(|tally| tally.with(self.plan, self.ordinal, count));
        self.ordinal += 1;
    }

    fn end(self) -> Result<(Tally, TaskCounts), CountError> {
        let tally = self.tally.ok_or(CountError::Overflow)?;
        Ok((tally, TaskCounts::new(&self.each)))
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
