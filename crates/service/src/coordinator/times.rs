//! When jobs were submitted and when they ended, which only the ledger knows.

use std::path::Path;

use farm::JobView;
use ledger::{LedgerFault, Look};

use super::HubHandle;

/// Adds their times to jobs, which are in ascending or descending order of their numbers. Jobs of a
/// ledger in memory, or of one that cannot be read now, have none.
pub(super) async fn add(hub: &HubHandle, jobs: &mut [JobView]) {
    let (Some(first), Some(last)) = (jobs.first(), jobs.last()) else { return };
    let numbers = first.id.min(last.id)..=first.id.max(last.id);
    let Some(path) = hub.ledger_path().map(Path::to_path_buf) else { return };
    let read = tokio::task::spawn_blocking(move || {
        let mut all = Vec::new();
        Look::open(&path)?.times(numbers, |job, times| all.push((job, times)))?;
        Ok::<_, LedgerFault>(all)
    });
    match read.await {
        Ok(Ok(all)) => {
            for (job, times) in all {
                if let Some(view) = jobs.iter_mut().find(|view| view.id == job) {
                    view.times = times;
                }
            }
        }
        Ok(Err(fault)) => tracing::debug!(%fault, "the times of jobs cannot be read"),
        Err(_) => {}
    }
}
