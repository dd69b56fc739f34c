//! Jobs that are over and leave: into the archive, or for good.
//!
//! ```text
//!   over ──Archive──► archived ──Unarchive, or a party of it was proven wrong──► as it was, without its name
//!     └──Remove──► cancelled, with fewer rows each time ──► gone   ◄──Remove── archived
//! ```

use super::{Store, StoredJob, restore_job, stored_job};
use crate::rows::Contradiction;
use crate::{Counted, JobId, JobState, Removal, RestoredJob};

/// Puts a job that is over into the archive.
pub(super) fn archive<S: Store>(
    store: &mut S,
    id: JobId,
    counted: &Counted,
) -> Result<(), S::Fault> {
    let StoredJob { state, is_archived, .. } = stored_job(store, id)?;
    if !state.is_over() || is_archived {
        return Err(Contradiction::NotArchivable(id).into());
    }
    store.archive(id, counted)
}

/// Takes a job out of the archive, and reads it. `None` if it is not there.
pub(super) fn unarchive<S: Store>(
    store: &mut S,
    id: JobId,
) -> Result<Option<RestoredJob>, S::Fault> {
    if !store.job(id)?.is_some_and(|job| job.is_archived) {
        return Ok(None);
    }
    store.unarchive(id)?;
    let job = stored_job(store, id)?;
    restore_job(store, job).map(Some)
}

/// Removes some of a job that is over. What is left of it is cancelled, because it has no total any more.
pub(super) fn remove<S: Store>(store: &mut S, id: JobId, most: usize) -> Result<Removal, S::Fault> {
    let Some(job) = store.job(id)?.filter(|job| job.state.is_over()) else {
        return Ok(Removal::Missing);
    };
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
