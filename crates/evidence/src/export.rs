//! Writes a bundle from a ledger's rows.

use std::collections::HashMap;
use std::io;
use std::path::Path;

use blake3::Hash;
use farm::{CountedRange, EvidenceRecord, JobState, RestoredJob, Row};

use super::canonical::{Decimal, encode};
use super::format::{
    AuditLine, AuthorLine, DisputeLine, Line, RangeLine, RowText, StatedPolicy, VERSION,
};
use super::header::Header;
use super::new_file::NewFile;

/// A bundle that was written.
#[derive(Debug)]
pub struct Exported {
    /// Its first line.
    pub header: Header,
    /// The hash of its text.
    pub name: Hash,
}

/// Writes the evidence of `job` to the new file `bundle`, completely or not at all. The file is
/// compressed by gzip if its name ends in `.gz`. `records` passes every record to the function that
/// it is given, in the order of a bundle. It is called twice and must pass the same records both
/// times. `exported_at` is in milliseconds since 1970.
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
    let header = summary(job, exported_at, &records)?;
    let mut file = NewFile::begin(bundle)?;
    let mut name = blake3::Hasher::new();
    text(&header, &records, &mut |bytes| {
        name.update(bytes);
        Ok(file.write_all(bytes)?)
    })?;
    file.finish()?;
    Ok(Exported { header, name: name.finalize() })
}

/// The header of the bundle of `job`. All records are read, because the header has the numbers of
/// lines.
///
/// # Errors
///
/// Any error of `records`.
pub fn summary<E>(
    job: &RestoredJob,
    exported_at: i64,
    records: impl Fn(&mut dyn FnMut(EvidenceRecord) -> Result<(), E>) -> Result<(), E>,
) -> Result<Header, E> {
    let mut header = header(job, exported_at);
    let mut writer = Writer::default();
    records(&mut |record| {
        if let EvidenceRecord::Range { counted, .. } = &record {
            header.covered += counted.row.range.len();
        }
        for line in writer.lines(record) {
            *number_of(&mut header, &line) += 1;
        }
        Ok(())
    })?;
    Ok(header)
}

/// Passes the bytes of the bundle with this header to `write`, line by line. `records` must pass
/// the same records as for [`summary`].
///
/// # Errors
///
/// Any error of `records` and `write`.
pub fn text<E>(
    header: &Header,
    records: impl Fn(&mut dyn FnMut(EvidenceRecord) -> Result<(), E>) -> Result<(), E>,
    write: &mut dyn FnMut(&[u8]) -> Result<(), E>,
) -> Result<(), E> {
    let mut line = |mut bytes: Vec<u8>| {
        bytes.push(b'\n');
        write(&bytes)
    };
    line(encode(header))?;
    let mut writer = Writer::default();
    records(&mut |record| {
        writer.lines(record).into_iter().try_for_each(|written| line(encode(&written)))
    })
}

/// The state of a job in its bundle. A job that is done but waits for second counts is running.
fn state(job: &RestoredJob) -> JobState {
    if job.state == JobState::Done && job.audits_wanted > 0 { JobState::Running } else { job.state }
}

fn header(job: &RestoredJob, exported_at: i64) -> Header {
    let plan = &job.spec.plan;
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
        shard: job.spec.slice.index(),
        shards: job.spec.slice.of(),
        state: state(job).name().into(),
        covered: 0,
        counted: Decimal(job.total),
        policies: 0,
        trust: 0,
        authors: 0,
        ranges: 0,
        audits: 0,
        disputes: 0,
    }
}

/// Makes lines of records. The line of an author precedes the first count that names it.
#[derive(Default)]
struct Writer {
    authors: HashMap<AuthorLine, u32>,
}

impl Writer {
    fn lines(&mut self, record: EvidenceRecord) -> Vec<Line> {
        let mut lines = Vec::with_capacity(2);
        let line = match record {
            EvidenceRecord::Policy { policy, at_ms } => {
                Line::Policy(StatedPolicy::new(policy, at_ms))
            }
            EvidenceRecord::Trust(change) => Line::Trust(change.into()),
            EvidenceRecord::Range { counted, task_counts, at_ms } => {
                let CountedRange { row, check } = counted;
                let text = self.row(&row, at_ms, &mut lines);
                Line::Range(RangeLine::new(check, text, &task_counts))
            }
            EvidenceRecord::Audit { row, at_ms } => {
                Line::Audit(AuditLine { row: self.row(&row, at_ms, &mut lines) })
            }
            EvidenceRecord::Dispute { row, at_ms, state } => {
                let text = self.row(&row, at_ms, &mut lines);
                Line::Dispute(DisputeLine { state, row: text })
            }
        };
        lines.push(line);
        lines
    }

    fn row(&mut self, row: &Row, at_ms: i64, lines: &mut Vec<Line>) -> RowText {
        let (author, new) = (AuthorLine::from(row), self.authors.len() as u32);
        let number = *self.authors.entry(author.clone()).or_insert_with(|| {
            lines.push(Line::Author(author));
            new
        });
        RowText::new(row, number, at_ms)
    }
}

fn number_of<'a>(header: &'a mut Header, line: &Line) -> &'a mut u64 {
    match line {
        Line::Policy(_) => &mut header.policies,
        Line::Trust(_) => &mut header.trust,
        Line::Author(_) => &mut header.authors,
        Line::Range(_) => &mut header.ranges,
        Line::Audit(_) => &mut header.audits,
        Line::Dispute(_) => &mut header.disputes,
    }
}
