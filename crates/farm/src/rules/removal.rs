//! Jobs that are over and leave the ledger.
//!
//! ```text
//!   over ──Remove──► cancelled, with fewer rows each time ──► gone
//! ```

use super::{NOBODY, Store, change_job, stored_job};
use crate::rows::Contradiction;
use crate::{JobChange, JobId, JobState, Removal};

/// Removes some of a job that is over. What is left of it is cancelled, because it has no total any
/// more.
pub(super) fn remove<S: Store>(store: &mut S, id: JobId, most: usize) -> Result<Removal, S::Fault> {
    let job = stored_job(store, id)?;
    if !job.state.is_over() {
        return Err(Contradiction::NoSuchJob(id).into());
    }
    let mut proofs = store.trust_changes()?.into_iter().filter_map(|change| change.proof);
    if proofs.any(|(job, _)| job == id) {
        return Err(Contradiction::Proof(id).into());
    }
    if store.remove_some(id, most)? {
        return Ok(Removal::Gone);
    }
    if job.state != JobState::Cancelled {
        change_job(store, id, JobChange::State(JobState::Cancelled), NOBODY, |_| ())?;
    }
    Ok(Removal::Begun)
}
