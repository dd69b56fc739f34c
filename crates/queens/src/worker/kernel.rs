//! A kernel, and what the evidence calls it.

use board::TaskSlice;
use count::{Backend, CountError, Kernel, Variant};
use farm::{Fingerprint, KernelName, Plan, Recount, Tally};

/// A kernel with its name.
pub(crate) struct NamedKernel {
    name: KernelName,
    kernel: Kernel,
}

impl NamedKernel {
    /// For tasks of a plan, within `memory` bytes: by `backend`, or by something else than what counted
    /// them before.
    pub(crate) fn new(
        memory: u64,
        backend: Backend,
        plan: Plan,
        recount: Option<Recount>,
    ) -> NamedKernel {
        let Plan { problem, method, .. } = plan;
        let variant = match &recount {
            None => Variant::Straight(backend),
            Some(Recount { unlike, by_search }) => {
                let to_check = |by_search| Variant::to_check(unlike.as_str(), method, by_search);
                to_check(*by_search).or_else(|| to_check(false)).expect("every method has another")
            }
        };
        let name = KernelName::new(&variant.to_string()).expect("names of variants are short");
        NamedKernel { name, kernel: Kernel::of(memory, variant, problem, method) }
    }

    /// What it is called.
    pub(crate) fn name(&self) -> KernelName {
        self.name
    }

    /// Counts tasks of the plan with this fingerprint, the first of which has the ordinal `start`.
    pub(crate) fn count(
        &mut self,
        plan: Fingerprint,
        start: u64,
        tasks: TaskSlice<'_>,
    ) -> Result<Tally, CountError> {
        let (mut tally, mut ordinal) = (Some(Tally::EMPTY), start);
        self.kernel.count_each(tasks, |count| {
            tally = tally.and_then(|tally| tally.with(plan, ordinal, count));
            ordinal += 1;
        })?;
        tally.ok_or(CountError::Overflow)
    }
}
