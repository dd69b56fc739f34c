//! A short count that every program makes before it trusts this processor.

use std::sync::{Mutex, MutexGuard, PoisonError};

use board::{Method, MethodChoice, PlanIndex, Problem};
use thiserror::Error;

use crate::{Backend, Kernel, KernelError};

/// The size of the board. It is large enough for every step of a method, and is counted in some
/// milliseconds. On a board of 12, a search by colours fills whole vectors of every backend.
const fn size(method: MethodChoice) -> u32 {
    match method {
        MethodChoice::Colours => 12,
        MethodChoice::Rows { .. } | MethodChoice::Prefixes { .. } => 10,
    }
}

/// The reason why a backend must not be used here.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Error)]
#[non_exhaustive]
pub enum SelfTestError {
    /// The processor lacks the backend.
    #[error(transparent)]
    Kernel(#[from] KernelError),
    /// The backend miscounts: the processor or this program is broken.
    #[error(
        "on this machine the backend {backend} miscounts boards of size {n} by {method}: use another \
         backend, and report this"
    )]
    Miscount {
        /// The backend.
        backend: Backend,
        /// The method.
        method: Method,
        /// The size of the board.
        n: u32,
    },
}

/// Counts a small board by each of `methods`, with `backend` and with the reference. The parameters
/// of the methods do not matter. A backend and method that have passed in this process are not
/// counted again.
///
/// # Errors
///
/// [`SelfTestError`] if the processor lacks the backend or the two counts differ.
pub fn self_test(
    backend: Backend,
    methods: impl IntoIterator<Item = MethodChoice>,
) -> Result<(), SelfTestError> {
    for choice in methods {
        let n = size(choice);
        let problem = Problem::Total { n };
        let of_board: MethodChoice = choice.with(None);
        let method = of_board.for_problem(problem);
        if passed().contains(&(backend, method)) {
            continue;
        }
        let index = PlanIndex::new(problem, method).expect("every method cuts this board");
        let count = |backend| {
            let mut kernel = Kernel::new(backend, n, method)?;
            Ok::<_, KernelError>(kernel.count_range(&index, 0..index.len()))
        };
        if count(backend)? != count(Backend::Reference)? {
            return Err(SelfTestError::Miscount { backend, method, n });
        }
        passed().push((backend, method));
    }
    Ok(())
}

fn passed() -> MutexGuard<'static, Vec<(Backend, Method)>> {
    static PASSED: Mutex<Vec<(Backend, Method)>> = Mutex::new(Vec::new());
    PASSED.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_backend_of_this_processor_passes() {
        for backend in Backend::available() {
            assert_eq!(self_test(backend, MethodChoice::all()), Ok(()));
            assert!(passed().contains(&(backend, Method::Colours)), "{backend} is tested again");
        }
    }

    #[test]
    fn a_parameter_that_the_small_board_does_not_have_is_no_matter() {
        let rows = MethodChoice::Rows { rows: Some(31) };
        assert_eq!(self_test(Backend::Portable, [rows]), Ok(()));
    }

    #[test]
    fn a_miscount_names_the_backend_and_the_way_out() {
        let (backend, method) = (Backend::Avx512, Method::Colours);
        assert_eq!(
            SelfTestError::Miscount { backend, method, n: 12 }.to_string(),
            "on this machine the backend avx512 miscounts boards of size 12 by colours: use another \
             backend, and report this"
        );
    }
}
