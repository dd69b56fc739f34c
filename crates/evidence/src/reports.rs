//! Reads the ranges of a bundle as the reports that they once were.

use std::path::Path;

use anyhow::{Result, bail, ensure};
use farm::{Check, JobId, LeaseId, LeaseKind, LeaseToken, Provenance, Report, TaskCounts};

use crate::canonical::{Decimal, decode};
use crate::check::Checked;
use crate::format::Line;
use crate::lines::{Reader, open_file};

/// Passes each range of a bundle, in ascending order, to `see`: as a report about this job, with a
/// lease of its own. [`check`](crate::check()) has found the bundle sound, as `checked`.
///
/// # Errors
///
/// Any error of `see`, and an error if the bundle cannot be read, is no longer the one that was
/// checked, or has more than the first counts of one process: audits, disputes, or changes of
/// trust.
pub fn reports(
    bundle: &Path,
    checked: &Checked,
    job: JobId,
    mut see: impl FnMut(Report, Provenance) -> Result<()>,
) -> Result<()> {
    let fingerprint = checked.plan.fingerprint();
    let mut lines = Reader::new(&open_file(bundle)?)?;
    let mut leases = 0;
    lines.next()?;
    while let Some(bytes) = lines.next()? {
        let (row, counts) = match decode(bytes)? {
            Line::Range { audit: Check::NotChosen, row, counts } => (row, counts),
            Line::Author(_) => continue,
            _ => bail!(
                "it has audits, disputes or changes of trust of a farm, and a bundle does not have all that a merge needs \
                 of these; merge the farm's ledger"
            ),
        };
        let row = row.read(checked.content.authors.len())?;
        let author = &checked.content.authors[row.by as usize];
        let each: Vec<u64> = counts.iter().flatten().map(|&Decimal(count)| count).collect();
        ensure!(each.len() <= TaskCounts::MOST, "{} has the counts of too many tasks", row.range);
        leases += 1;
        let report = Report {
            job,
            fingerprint,
            lease: LeaseId(leases),
            // A ledger does not keep it.
            token: LeaseToken::new(row.range, LeaseKind::Count, [0; 16]),
            range: row.range,
            checked_count: row.result.try_into()?,
            task_counts: TaskCounts::new(&each),
            kernel: author.kernel,
            busy_us: row.busy.as_micros().try_into()?,
        };
        see(report, author.provenance.clone())?;
    }
    Ok(lines.ensure_name(checked.name)?)
}
