//! From a ledger to a bundle.

use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use anyhow::Context;
use blake3::Hash;
use farm::{CountedRange, EvidenceRecord, JobId, Refusal, RestoredJob};

use super::format::{Header, Line, VERSION};
use super::merkle::Merkle;
use crate::failure::Failure;
use crate::ledger::{Evidence, LedgerFault};

/// A bundle that was written.
#[derive(Debug)]
pub(crate) struct Exported {
    pub(crate) header: Header,
    /// The hash of its header.
    pub(crate) name: Hash,
}

/// Why no bundle was written.
enum Fault {
    Ledger(LedgerFault),
    Output(std::io::Error),
}

impl From<LedgerFault> for Fault {
    fn from(fault: LedgerFault) -> Fault {
        Fault::Ledger(fault)
    }
}

/// Writes the evidence of a job to a file that is not there yet, whole or not at all.
pub(crate) fn export(ledger: &Path, job: JobId, bundle: &Path) -> Result<Exported, Failure> {
    let at_ledger = |fault: LedgerFault| fault.at(Some(ledger));
    let output = |error: std::io::Error| Failure::Output {
        what: bundle.display().to_string(),
        reason: error.to_string(),
    };
    let failure = |fault| match fault {
        Fault::Ledger(fault) => at_ledger(fault),
        Fault::Output(error) => output(error),
    };
    let evidence = Evidence::open(ledger).map_err(at_ledger)?;
    let known = evidence.jobs().iter().find(|known| known.id == job);
    let known = known.ok_or(Failure::Job(Refusal::NoSuchJob(job)))?;

    // Twice over the same rows: the header comes first, and has the root of all that follow.
    let mut header = header(known);
    let mut tree = Merkle::default();
    evidence
        .for_each(job, |record| {
            let line = line(record);
            *count(&mut header, &line) += 1;
            tree.add(&text(&line));
            Ok(())
        })
        .map_err(failure)?;
    header.merkle_root = tree.root().to_string();

    if bundle.exists() {
        return Err(output(std::io::ErrorKind::AlreadyExists.into()));
    }
    let folder = match bundle.parent() {
        Some(folder) if folder != Path::new("") => folder.to_path_buf(),
        _ => PathBuf::from("."),
    };
    let file = tempfile::NamedTempFile::new_in(folder).map_err(output)?;
    let mut out = BufWriter::new(file);
    let first = serde_json::to_vec(&header).context("a header is JSON")?;
    let mut write = |line: &[u8]| {
        out.write_all(line).and_then(|()| out.write_all(b"\n")).map_err(Fault::Output)
    };
    write(&first).map_err(failure)?;
    evidence.for_each(job, |record| write(&text(&line(record)))).map_err(failure)?;
    let file = out.into_inner().map_err(|error| output(error.into_error()))?;
    file.as_file().sync_all().map_err(output)?;
    file.persist_noclobber(bundle).map_err(|error| output(error.error))?;
    Ok(Exported { header, name: blake3::hash(&first) })
}

fn header(job: &RestoredJob) -> Header {
    let plan = &job.plan;
    Header {
        queens_bundle: VERSION,
        program: format!("queens {}", env!("CARGO_PKG_VERSION")),
        exported_at: crate::ledger::unix_ms(),
        problem: plan.problem.text(),
        n: plan.problem.n(),
        method: plan.method.name().into(),
        parameter: plan.method.parameter().map(|(_, value)| value),
        tasks: plan.tasks,
        fingerprint: plan.fingerprint().to_string(),
        shard: job.slice.index(),
        shards: job.slice.of(),
        state: job.state.name().into(),
        counted: job.total.to_string(),
        policies: 0,
        ranges: 0,
        audits: 0,
        disputes: 0,
        distrusted: 0,
        merkle_root: String::new(),
    }
}

fn line(record: EvidenceRecord) -> Line {
    match record {
        EvidenceRecord::Policy { policy, at_ms } => Line::policy(policy, at_ms),
        EvidenceRecord::Range { counted: CountedRange { row, check }, at_ms } => {
            Line::Range { at: at_ms, audit: check.into(), count: (&row).into() }
        }
        EvidenceRecord::Audit { row, at_ms } => Line::Audit { at: at_ms, count: (&row).into() },
        EvidenceRecord::Dispute { row, at_ms, state } => {
            Line::Dispute { at: at_ms, state: state.into(), count: (&row).into() }
        }
        EvidenceRecord::Distrusted { worker, at_ms, range: _ } => {
            Line::Distrusted { at: at_ms, worker }
        }
    }
}

fn count<'a>(header: &'a mut Header, line: &Line) -> &'a mut u64 {
    match line {
        Line::Policy { .. } => &mut header.policies,
        Line::Range { .. } => &mut header.ranges,
        Line::Audit { .. } => &mut header.audits,
        Line::Dispute { .. } => &mut header.disputes,
        Line::Distrusted { .. } => &mut header.distrusted,
    }
}

fn text(line: &Line) -> Vec<u8> {
    serde_json::to_vec(line).expect("a line is JSON")
}
