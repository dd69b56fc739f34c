//! How a search is asked to end.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Asks searches to end before they have counted everything. Clones ask the same searches.
///
/// ```
/// use queens_count::{Backend, CountError, Kernel, Stop};
/// use queens_count::board::{Method, Prefix, Problem, Task};
///
/// let mut kernel = Kernel::new(Backend::detect(), 20, Method::Prefixes { rows: 0 })?;
/// let stop = Stop::default();
/// kernel.stop_at(stop.clone());
/// stop.ask();
/// let all = Task { record: Prefix::EMPTY, weight: 1 };
/// assert_eq!(kernel.count(&[all]), Err(CountError::Stopped));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Stop(Arc<AtomicBool>);

impl Stop {
    /// Asks, for good.
    pub fn ask(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether somebody has asked.
    pub fn is_asked(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}
