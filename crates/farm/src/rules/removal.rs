//! Jobs that are over and leave the ledger.
//!
//! ```text
//!   over ──Remove──► cancelled, with fewer rows each time ──► gone
//! ```

use super::Store;
use crate::rows::Contradiction;
use crate::{JobId, JobState, Removal};

/// Removes some of a job that is over. What is left of it is cancelled, because it has no total any
/// more.
pub(super) fn remove<S: Store>(store: &mut S, id: JobId, most: usize) -> Result<Removal, S::Fault> {
    let job = store.job(id)?.filter(|job| job.state.is_over());
    let job = job.ok_or(Contradiction::NoSuchJob(id))?;
    if store.proofs()?.contains(&id) {
        return Err(Contradiction::Proof(id).into());
    }
    if store.remove_some(id, most)? {
        return Ok(Removal::Gone);
    }
    if job.state != JobState::Cancelled {
        store.set_state(id, JobState::Cancelled, None)?;
    }
    Ok(Removal::Begun)
}
