//! How much memory counting may take, and how many threads fit into it.

use std::num::NonZero;

use bytesize::ByteSize;
use plan::Plan;

/// Not even one thread can count the plan within the memory that is allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{plan} needs {} of memory per thread, and only {} may be used",
    ByteSize(*needed).display().iec(), ByteSize(*given).display().iec()
)]
pub struct TooLittleMemory {
    /// The plan to count.
    pub plan: Plan,
    /// Bytes that one thread needs.
    pub needed: u64,
    /// Bytes that all threads together may take.
    pub given: u64,
}

/// A division of a memory budget: `threads` times `bytes` does not exceed it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fit {
    /// Number of threads that may count the plan at the same time.
    pub threads: NonZero<usize>,
    /// Bytes that each thread may take.
    pub bytes: u64,
}

/// Divides `memory` bytes among the threads that count `plan`. It takes as many threads as fit, up to
/// `threads`, and gives each an equal share, though no more than a thread can use. It fails if not even one thread fits.
pub fn fit(plan: Plan, threads: NonZero<usize>, memory: u64) -> Result<Fit, TooLittleMemory> {
    let need = count::memory_needed(plan.problem, plan.method);
    let wanted = u32::try_from(threads.get()).unwrap_or(u32::MAX);
    let fitting = plan::threads_that_fit(wanted, memory, need.least);
    let threads = NonZero::new(fitting as usize);
    let threads = threads.ok_or(TooLittleMemory { plan, needed: need.least, given: memory })?;
    Ok(Fit { threads, bytes: need.most.min(memory / u64::from(fitting)) })
}

#[cfg(test)]
mod tests {
    use plan::{Method, Problem};

    use super::*;

    fn plan(method: Method) -> Plan {
        Plan { problem: Problem::Total { n: 24 }, method, tasks: 1 }
    }

    fn fit_four(method: Method, memory: u64) -> Result<(usize, u64), TooLittleMemory> {
        let four = NonZero::new(4).expect("it is not 0");
        fit(plan(method), four, memory).map(|fit| (fit.threads.get(), fit.bytes))
    }

    #[test]
    fn as_many_threads_as_fit_and_never_none() {
        let count::MemoryNeed { least, most } =
            count::memory_needed(Problem::Total { n: 24 }, Method::Halves);

        assert_eq!(fit_four(Method::Halves, 4 * most), Ok((4, most)));
        assert_eq!(fit_four(Method::Halves, u64::MAX), Ok((4, most)), "more is of no use");
        let too_little =
            TooLittleMemory { plan: plan(Method::Halves), needed: least, given: least - 1 };
        assert_eq!(fit_four(Method::Halves, least - 1), Err(too_little));
        assert_eq!(fit_four(Method::Ring { width: 1 }, 0), Ok((4, 0)), "next to nothing");
    }

    #[test]
    fn equal_shares_are_enough_and_stay_within_the_bound() {
        let least = count::memory_needed(Problem::Total { n: 24 }, Method::Halves).least;
        for memory in [least, 2 * least - 1, 2 * least, 3 * least + 1, 5 * least] {
            let (threads, bytes) = fit_four(Method::Halves, memory).expect("one fits");
            assert!(bytes >= least && threads as u64 * bytes <= memory, "{threads} x {bytes}");
            assert_eq!(threads as u64, (memory / least).min(4));
        }
    }
}
