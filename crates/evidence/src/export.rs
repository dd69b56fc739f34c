//! Writes a bundle from a ledger's rows.

use std::io::{self, BufWriter, Write};
use std::path::Path;

use blake3::Hash;
use farm::{CountedRange, EvidenceRecord, RestoredJob};
use tempfile::NamedTempFile;

use super::format::{Header, Line, Policy, VERSION};
use super::merkle::Merkle;

/// A bundle that was written.
#[derive(Debug)]
pub struct Exported {
    /// Its first line.
    pub header: Header,
    /// The hash of the header.
    pub name: Hash,
}

/// Writes the evidence of `job` to the new file `bundle`, completely or not at all. `records` passes every
/// row of evidence to the function that it gets, in the order of a bundle; it is called twice and must
/// pass the same rows both times. `exported_at` is in milliseconds since 1970.
///
/// # Errors
///
/// Any error of `records`, and [`io::Error`] if the bundle exists already or cannot be written.
pub fn export<E: From<io::Error>>(
    job: &RestoredJob,
    exported_at: i64,
    bundle: &Path,
    records: impl Fn(&mut dyn FnMut(EvidenceRecord) -> Result<(), E>) -> Result<(), E>,
) -> Result<Exported, E> {
    // The rows are read twice, because the header comes first and has the Merkle root of all other lines.
    let mut header = header(job, exported_at);
    let mut tree = Merkle::default();
    records(&mut |record| {
        let line = line(job, record);
        *count(&mut header, &line) += 1;
        tree.add(&text(&line));
        Ok(())
    })?;
    header.merkle_root = tree.root().to_string();

    if bundle.exists() {
        return Err(io::Error::from(io::ErrorKind::AlreadyExists).into());
    }
    let folder = match bundle.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    };
    let mut out = BufWriter::new(NamedTempFile::new_in(folder)?);
    let first = serde_json::to_vec(&header).expect("a header is JSON");
    let mut write = |line: &[u8]| -> Result<(), E> {
        out.write_all(line)?;
        Ok(out.write_all(b"\n")?)
    };
    write(&first)?;
    records(&mut |record| write(&text(&line(job, record))))?;
    let file = out.into_inner().map_err(io::IntoInnerError::into_error)?;
    file.as_file().sync_all()?;
    file.persist_noclobber(bundle).map_err(|error| error.error)?;
    Ok(Exported { header, name: blake3::hash(&first) })
}

fn header(job: &RestoredJob, exported_at: i64) -> Header {
    let plan = &job.plan;
    Header {
        queens_bundle: VERSION,
        program: format!("queens {}", env!("CARGO_PKG_VERSION")),
        exported_at,
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
        trust: 0,
        merkle_root: String::new(),
    }
}

fn line(job: &RestoredJob, record: EvidenceRecord) -> Line {
    match record {
        EvidenceRecord::Policy { policy, at_ms } => {
            Line::Policy(Policy::new(policy, job.state, at_ms))
        }
        EvidenceRecord::Range { counted: CountedRange { row, check }, at_ms } => {
            Line::Range { at: at_ms, audit: check.into(), count: (&row).into() }
        }
        EvidenceRecord::Audit { row, at_ms } => Line::Audit { at: at_ms, count: (&row).into() },
        EvidenceRecord::Dispute { row, at_ms, state } => {
            Line::Dispute { at: at_ms, state: state.into(), count: (&row).into() }
        }
        EvidenceRecord::Trust(change) => Line::trust(change),
    }
}

fn count<'a>(header: &'a mut Header, line: &Line) -> &'a mut u64 {
    match line {
        Line::Policy(_) => &mut header.policies,
        Line::Range { .. } => &mut header.ranges,
        Line::Audit { .. } => &mut header.audits,
        Line::Dispute { .. } => &mut header.disputes,
        Line::Trust { .. } => &mut header.trust,
    }
}

fn text(line: &Line) -> Vec<u8> {
    serde_json::to_vec(line).expect("a line is JSON")
}
