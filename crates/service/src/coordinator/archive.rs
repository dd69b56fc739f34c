//! Jobs of the archive, which the farm does not have: they are read from the ledger's file when somebody asks.

use std::path::Path;
use std::time::Duration;

use farm::{JobId, JobView};
use ledger::{LedgerFault, Look, unix_ms};
use tokio::task::spawn_blocking;
use tonic::Status;

use super::{HubHandle, Leave};

/// How often jobs are looked for that have ended long enough ago, unless that is sooner.
const EVERY: Duration = Duration::from_secs(60);
/// How many of them are looked for at a time.
const MOST: usize = 256;

/// The first `most` archived jobs from the number `from` on, the oldest first. A ledger in memory has none.
///
/// # Errors
///
/// A status, if the ledger cannot be read.
pub(super) async fn page(
    hub: &HubHandle,
    from: JobId,
    most: usize,
) -> Result<Vec<JobView>, Status> {
    let read = look(hub, move |look| look.archived(from, most)).await;
    read.map_err(|fault| Status::internal(format!("the archive cannot be read: {fault}")))
}

/// Archives jobs so long after they ended, or came back from the archive, until the hub is gone. The wall clock says how
/// long that is: if it is wrong, a job is archived early or late, and nothing is lost.
pub async fn archive_old_jobs(hub: HubHandle, after: Duration) {
    let after_ms = i64::try_from(after.as_millis()).unwrap_or(i64::MAX);
    loop {
        tokio::time::sleep(EVERY.min(after.max(Duration::from_millis(100)))).await;
        let before = unix_ms().saturating_sub(after_ms);
        let old = match look(&hub, move |look| look.at_rest_since(before, MOST)).await {
            Ok(old) => old,
            Err(fault) => {
                tracing::warn!(%fault, "cannot look for jobs to archive");
                continue;
            }
        };
        for job in old {
            match hub.leave(job, Leave::Archived).await {
                Ok(Ok(())) => tracing::info!(%job, "job archived"),
                // It has been audited since, or something of it is on its way.
                Ok(Err(refusal)) => tracing::debug!(%job, %refusal, "not archived now"),
                Err(_) => return,
            }
        }
    }
}

/// What is read of the ledger's file; nothing if there is none.
async fn look<T: Default + Send + 'static>(
    hub: &HubHandle,
    read: impl FnOnce(&Look) -> Result<T, LedgerFault> + Send + 'static,
) -> Result<T, LedgerFault> {
    let Some(path) = hub.ledger_path().map(Path::to_path_buf) else { return Ok(T::default()) };
    let read = spawn_blocking(move || read(&Look::open(&path)?)).await;
    read.unwrap_or_else(|ended| Err(LedgerFault::Content(format!("reading it ended: {ended}"))))
}
