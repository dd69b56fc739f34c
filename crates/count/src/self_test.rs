//! A short count that every program makes before it trusts this processor.

use board::{Cut, Method, Problem, Tasks};
use thiserror::Error;

use crate::{Backend, CountError, Kernel};

/// The size of the board: large enough for every step of the search and of the join, and counted in
/// about a millisecond.
const N: u32 = 10;

/// A backend that counts wrong here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error(
    "on this machine the backend {backend} miscounts boards of size {N} by {method}: use another \
     with --backend, and report this"
)]
pub struct Miscount {
    /// Which backend.
    pub backend: Backend,
    /// By which method.
    pub method: Method,
    /// What it counted.
    pub found: Result<u64, CountError>,
    /// What the reference counts.
    pub expected: Result<u64, CountError>,
}

/// Counts a small board by every method, with `backend` and with the reference.
///
/// # Errors
///
/// [`Miscount`], if the two disagree: the processor or this program is broken.
///
/// # Panics
///
/// If the processor lacks the backend.
pub fn self_test(backend: Backend) -> Result<(), Miscount> {
    for method in [Method::Rows { rows: 2 }, Method::Ring { width: 1 }, Method::Halves] {
        let cut = Cut::new(Problem::Total { n: N }, method).expect("every method cuts this board");
        let mut tasks = Tasks::new();
        cut.fill(0..cut.len(), &mut tasks);
        let count = |backend| Kernel::new(backend, N, method).count(tasks.as_slice());
        let (found, expected) = (count(backend), count(Backend::Reference));
        if found != expected {
            return Err(Miscount { backend, method, found, expected });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_backend_of_this_processor_passes() {
        for backend in Backend::available() {
            assert_eq!(self_test(backend), Ok(()));
        }
    }

    #[test]
    fn a_miscount_names_the_backend_and_the_way_out() {
        let (backend, method) = (Backend::Avx512, Method::Halves);
        let miscount = Miscount { backend, method, found: Ok(723), expected: Ok(724) };
        assert_eq!(
            miscount.to_string(),
            "on this machine the backend avx512 miscounts boards of size 10 by halves: use another \
             with --backend, and report this"
        );
    }
}
