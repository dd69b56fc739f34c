//! A kernel, and what the evidence calls it.

use board::TaskSlice;
use count::{Backend, CountError, Kernel, Variant};
use farm::{Fingerprint, KernelName, Plan, Recount, Tally};

/// A kernel with its name.
pub struct NamedKernel {
    name: KernelName,
    kernel: Kernel,
}

impl std::fmt::Debug for NamedKernel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("NamedKernel").field("name", &self.name).finish_non_exhaustive()
    }
}

impl NamedKernel {
    /// A kernel for tasks of `plan` that takes at most `memory` bytes. It uses `backend`, or, for a
    /// recount, something else than what counted the tasks before.
    ///
    /// # Panics
    ///
    /// If the processor lacks the backend.
    pub fn new(memory: u64, backend: Backend, plan: Plan, recount: Option<Recount>) -> NamedKernel {
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

    /// What the evidence calls it.
    pub fn name(&self) -> KernelName {
        self.name
    }

    /// States that the kernel has stored so far, where it stores any.
    pub(crate) fn nodes(&self) -> Option<u64> {
        self.kernel.nodes()
    }

    /// The kernel itself.
    pub(crate) fn kernel(&mut self) -> &mut Kernel {
        &mut self.kernel
    }

    /// Counts tasks of the plan with this fingerprint, the first of which has the ordinal `start`.
    ///
    /// # Errors
    ///
    /// [`CountError`], if a task cannot be counted, or if the sum passes 64 bits.
    pub fn count(
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
