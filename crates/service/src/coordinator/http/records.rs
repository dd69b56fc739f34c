//! What the pages show from the ledger: who counted what of a job, what happened to it, and what an
//! owner or a worker has counted.
//!
//! A connection of its own reads the ledger, so that the farm does not wait, and it reads one
//! record at a time. If another record is asked for meanwhile, it is not read before it is asked
//! for again, which the pages do every second. The longer a reading takes, the less often it is
//! repeated.

use std::collections::HashMap;
use std::fmt::Debug;
use std::hash::Hash;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use farm::{Cell, JobId};
use ledger::{LedgerFault, LedgerView};
use page::{CellRecord, JobRecord};
use tokio::time::Instant;

/// The shortest time between two readings of one record.
const LEAST: Duration = Duration::from_secs(5);
/// How long a record is not read again, as a multiple of the time that its reading took.
const REST: u32 = 50;
/// How long no record is read after a reading, as the same kind of multiple. SQLite begins its log
/// anew only while nobody reads, so there must be such times.
const REST_OF_ALL: u32 = 4;
/// The longest that a job's rows are read.
const LONGEST: Duration = Duration::from_secs(5);
/// A record that was not requested for this time is forgotten, so that nobody sees an old one.
const KEPT: Duration = Duration::from_secs(30);
/// The most records that are kept. They are those that were requested last. One takes some hundred
/// KiB, 2 MiB at most.
const MOST: usize = 64;

/// The records of a ledger by their keys. A ledger in memory has none.
pub(super) struct Records<K, V> {
    ledger: Option<Arc<Path>>,
    known: Arc<Mutex<HashMap<K, Kept<V>>>>,
    /// Held by the thread that reads.
    reading: Arc<tokio::sync::Mutex<()>>,
}

struct Kept<V> {
    record: Option<Arc<V>>,
    asked: Instant,
    /// When it may be read again.
    again: Instant,
}

impl<K, V> Records<K, V>
where
    K: Clone + Debug + Eq + Hash + Send + 'static,
    V: Send + Sync + 'static,
{
    pub(super) fn new(ledger: Option<Arc<Path>>) -> Records<K, V> {
        Records { ledger, known: Arc::default(), reading: Arc::default() }
    }

    /// The latest record of `key`; `None` if it was not read yet. If it is old and nothing else is
    /// being read, it is read again, which a later caller sees. Must be called within a runtime.
    pub(super) fn of(
        &self,
        key: K,
        read: impl FnOnce(&LedgerView, &K) -> Result<V, LedgerFault> + Send + 'static,
    ) -> Option<Arc<V>> {
        let ledger = self.ledger.clone()?;
        let now = Instant::now();
        let mut known = self.known.lock().expect("nobody panics while holding it");
        known.retain(|_, known| now.duration_since(known.asked) < KEPT);
        if known.len() >= MOST && !known.contains_key(&key) {
            let oldest = known.iter().min_by_key(|(_, known)| known.asked);
            let oldest = oldest.map(|(key, _)| key.clone())?;
            known.remove(&oldest);
        }
        let new = Kept { record: None, asked: now, again: now };
        let entry = known.entry(key.clone()).or_insert(new);
        entry.asked = now;
        if entry.again <= now
            && let Ok(reading) = self.reading.clone().try_lock_owned()
        {
            let known = Arc::clone(&self.known);
            tokio::task::spawn_blocking(move || {
                let begun = Instant::now();
                let record = LedgerView::open(&ledger).and_then(|look| read(&look, &key));
                let took = begun.elapsed();
                note(&known, &key, record, took);
                std::thread::sleep(took * REST_OF_ALL);
                drop(reading);
            });
        }
        entry.record.clone()
    }
}

/// Notes what was read within a time, and when it may be read again.
fn note<K: Debug + Eq + Hash, V>(
    known: &Mutex<HashMap<K, Kept<V>>>,
    key: &K,
    read: Result<V, LedgerFault>,
    took: Duration,
) {
    let mut known = known.lock().expect("nobody panics while holding it");
    let Some(entry) = known.get_mut(key) else { return };
    match read {
        Ok(record) => entry.record = Some(Arc::new(record)),
        Err(fault) => tracing::debug!(?key, %fault, "the ledger cannot be looked at"),
    }
    entry.again = Instant::now() + LEAST.max(took * REST);
}

/// Reads what a job's rows say of these cells, for some seconds at most.
pub(super) fn of_job(
    look: &LedgerView,
    job: JobId,
    cells: &[Cell],
) -> Result<JobRecord, LedgerFault> {
    const ROWS_BETWEEN_LOOKS: u32 = 1_000;
    let end = Instant::now() + LONGEST;
    let mut records = vec![CellRecord::default(); cells.len()];
    let (mut at, mut rows, mut is_whole) = (0, 0_u32, true);
    look.ranges(job, |range, worker, is_audited| {
        // Both are in the order of the ordinals.
        while cells.get(at).is_some_and(|cell| cell.range.end() <= range.start()) {
            at += 1;
        }
        for (cell, record) in cells.iter().zip(&mut records).skip(at) {
            let Some(part) = cell.range.intersect(range) else { break };
            record.audited += if is_audited { part.len() } else { 0 };
            let named = &mut record.workers;
            if named.len() < Cell::HOLDERS && !named.iter().any(|name| name == worker) {
                named.push(worker.into());
            }
        }
        rows += 1;
        if rows.is_multiple_of(ROWS_BETWEEN_LOOKS) && Instant::now() >= end {
            is_whole = false;
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    })?;
    Ok(JobRecord { cells: records, is_whole, log: look.incidents(job)? })
}

#[cfg(test)]
mod tests {
    use super::*;

    type Jobs = Records<JobId, JobRecord>;

    /// Asks for a job's record, and waits until it was read.
    async fn ask(records: &Jobs, job: u64) {
        records.of(JobId(job), |look, &job| of_job(look, job, &[]));
        // Time passes in any case, so that no two jobs are asked for at once.
        tokio::time::sleep(Duration::from_millis(1)).await;
        drop(records.reading.lock().await);
    }

    fn kept(records: &Jobs) -> Vec<u64> {
        let known = records.known.lock().expect("nobody panics while holding it");
        let mut kept: Vec<u64> = known.keys().map(|job| job.0).collect();
        kept.sort_unstable();
        kept
    }

    #[tokio::test(start_paused = true)]
    async fn the_records_of_the_jobs_that_were_asked_for_last_are_kept_for_a_while() {
        let records = Jobs::new(Some(Path::new("there is no such ledger").into()));
        for job in 0..200 {
            ask(&records, job).await;
            // Somebody looks at job 0 all the time.
            ask(&records, 0).await;
        }
        let latest: Vec<u64> = std::iter::once(0).chain(200 - 63..200).collect();
        assert_eq!(kept(&records), latest);

        tokio::time::sleep(KEPT + Duration::from_secs(1)).await;
        ask(&records, 500).await;
        assert_eq!(kept(&records), [500]);
    }

    #[tokio::test(start_paused = true)]
    async fn what_takes_long_to_read_is_read_the_less_often() {
        let records = Jobs::new(Some(Path::new("there is no such ledger").into()));
        ask(&records, 1).await;
        let until_again = |took| {
            note(&records.known, &JobId(1), Ok(JobRecord::default()), took);
            let known = records.known.lock().expect("nobody panics while holding it");
            known[&JobId(1)].again.duration_since(Instant::now())
        };
        assert_eq!(until_again(Duration::from_millis(1)), Duration::from_secs(5));
        assert_eq!(until_again(Duration::from_secs(4)), Duration::from_secs(200));
    }

    #[tokio::test(start_paused = true)]
    async fn one_record_is_read_at_a_time() {
        let records = Jobs::new(Some(Path::new("there is no such ledger").into()));
        let is_read = |job| {
            let known = records.known.lock().expect("nobody panics while holding it");
            known[&JobId(job)].again > Instant::now()
        };
        let reading = records.reading.clone().lock_owned().await;
        let asked = records.of(JobId(1), |_, _| unreachable!("another one is being read"));
        assert!(asked.is_none() && !is_read(1));
        drop(reading);
        ask(&records, 1).await;
        assert!(is_read(1), "it is tried again");
    }
}
