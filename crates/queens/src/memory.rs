//! How much memory counting may take, and how many threads that is enough for.

use std::num::NonZero;

use bytesize::ByteSize;
use farm::Plan;
use sysinfo::System;

/// The threads that were asked for do not fit, not even one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{plan} takes {} a thread, and {} may be used: allow more with --memory, or count by another \
     method, such as --method ring",
    ByteSize(*needed).display().iec(), ByteSize(*given).display().iec()
)]
pub struct TooLittleMemory {
    /// What is to be counted.
    pub plan: Plan,
    /// Bytes a thread needs.
    pub needed: u64,
    /// Bytes all threads together may take.
    pub given: u64,
}

/// What may be taken where nothing is said: half of what the machine has, or the container.
pub(crate) fn usual() -> ByteSize {
    let mut system = System::new();
    system.refresh_memory();
    let container = system.cgroup_limits().map_or(u64::MAX, |limits| limits.total_memory);
    ByteSize(system.total_memory().min(container) / 2)
}

/// As many of `threads` as may count `plan` at a time within `memory` bytes.
pub(crate) fn threads_that_fit(
    plan: Plan,
    threads: NonZero<usize>,
    memory: u64,
) -> Result<NonZero<usize>, TooLittleMemory> {
    let needed = count::memory_needed(plan.problem.n(), plan.method).least;
    let fit = memory
        .checked_div(needed)
        .map_or(threads.get(), |fit| fit.min(threads.get() as u64) as usize);
    NonZero::new(fit).ok_or(TooLittleMemory { plan, needed, given: memory })
}

#[cfg(test)]
mod tests {
    use farm::{Method, Problem};

    use super::*;

    #[test]
    fn as_many_threads_as_fit_and_never_none() {
        let plan = |method| Plan { problem: Problem::Total { n: 24 }, method, tasks: 1 };
        let (halves, ring) = (plan(Method::Halves), plan(Method::Ring { width: 1 }));
        let four = NonZero::new(4).expect("it is not 0");
        let needed = count::memory_needed(24, Method::Halves).least;
        let fit = |plan, memory| threads_that_fit(plan, four, memory).map(NonZero::get);

        assert_eq!(fit(halves, 10 * needed), Ok(4));
        assert_eq!(fit(halves, 3 * needed - 1), Ok(2));
        let too_little = TooLittleMemory { plan: halves, needed, given: needed - 1 };
        assert_eq!(fit(halves, needed - 1), Err(too_little));
        assert_eq!(fit(ring, 0), Ok(4), "a search takes next to nothing");
    }
}
