//! A slow reader of the ledger, which tells what is damaged while there are still copies.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use ledger::{LedgerFault, Scrub, ScrubReport};
use tokio::sync::watch;
use tokio::task::spawn_blocking;
use tokio::time::Instant;

/// Rows that are read at a time, which is some milliseconds' work.
const ROWS: usize = 1_000;
/// The pause after them: so 10 million rows take less than an hour, and a hundredth of a processor.
const PAUSE: Duration = Duration::from_millis(250);

/// The longest that it waits before it begins: the start of a coordinator reads the whole ledger anyway.
const FIRST: Duration = Duration::from_secs(600);

/// What the reader of a ledger has found.
#[derive(Clone, Debug, Default)]
pub struct Scrubbed(Arc<watch::Sender<Found>>);

/// What was found until now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Found {
    /// Rows that were read since the coordinator was started.
    pub(super) rows: u64,
    /// How often all of the ledger was read.
    pub(super) passes: u64,
    /// Rows and jobs that are damaged: what the last whole pass found, or the one that goes on, if that is more.
    pub(super) damaged: u64,
}

impl Scrubbed {
    pub(super) fn found(&self) -> Found {
        *self.0.borrow()
    }

    pub(super) fn subscribe(&self) -> watch::Receiver<Found> {
        self.0.subscribe()
    }
}

/// Reads the ledger at `path` again and again, as often as `every` says, until `stop` turns true. When it returns, it
/// has the ledger open no more.
pub async fn scrub(
    path: PathBuf,
    every: Duration,
    scrubbed: Scrubbed,
    mut stop: watch::Receiver<bool>,
) {
    let mut told: Vec<String> = Vec::new();
    let mut next = Instant::now() + every.min(FIRST);
    loop {
        tokio::select! {
            () = tokio::time::sleep_until(next) => next += every,
            () = stopped(&mut stop) => return,
        }
        match pass(&path, &scrubbed, &mut told, &mut stop).await {
            Ok(Some(report)) => {
                let ScrubReport { jobs, ranges, audits, disputes, decisions, damaged, .. } = report;
                scrubbed.0.send_modify(|found| {
                    (found.passes, found.damaged) = (found.passes + 1, damaged);
                });
                tracing::info!(
                    jobs,
                    ranges,
                    audits,
                    disputes,
                    decisions,
                    damaged,
                    "all of the ledger was read"
                );
            }
            Ok(None) => return,
            Err(fault) => {
                let reason = fault.at(Some(&path)).to_string();
                tracing::warn!(reason, "the ledger could not be read to its end");
            }
        }
        next = next.max(Instant::now());
    }
}

/// Reads all of it once. `None` if it was told to stop.
async fn pass(
    path: &Path,
    scrubbed: &Scrubbed,
    told: &mut Vec<String>,
    stop: &mut watch::Receiver<bool>,
) -> Result<Option<ScrubReport>, LedgerFault> {
    let owned = path.to_path_buf();
    let mut scrub = blocking(move || Scrub::open(&owned)).await?;
    let mut read = 0;
    loop {
        let (back, more) = blocking(move || {
            let more = scrub.step(ROWS)?;
            Ok((scrub, more))
        })
        .await?;
        scrub = back;
        let report = scrub.report();
        for damage in &report.damages {
            if !told.contains(damage) {
                tracing::error!(ledger = %path.display(), damage, "the ledger is damaged: keep its latest sound copy, and \
                    see `queens scrub`");
                if told.len() < Scrub::DESCRIBED {
                    told.push(damage.clone());
                }
            }
        }
        let rows = report.ranges + report.audits + report.disputes + report.decisions;
        scrubbed.0.send_modify(|found| {
            found.rows += rows - read;
            found.damaged = found.damaged.max(report.damaged);
        });
        read = rows;
        if !more {
            return Ok(Some(report.clone()));
        }
        tokio::select! {
            () = tokio::time::sleep(PAUSE) => {}
            () = stopped(stop) => return Ok(None),
        }
    }
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, LedgerFault> + Send + 'static,
) -> Result<T, LedgerFault> {
    spawn_blocking(work)
        .await
        .unwrap_or_else(|ended| Err(LedgerFault::Content(format!("reading it ended: {ended}"))))
}

async fn stopped(stop: &mut watch::Receiver<bool>) {
    // Without its sender, nobody wants it any more.
    let _ = stop.wait_for(|stop| *stop).await;
}
