//! Writes a bundle from a ledger's rows.

use std::collections::HashMap;
use std::io;
use std::path::Path;

use blake3::Hash;
use farm::{
    CountedRange, EvidenceRecord, Merkle, PublicKey, Range, RestoredJob, Row, Signatures, Signer,
    SigningKey, TaskCounts,
};

use super::canonical::{Decimal, Hex, encode};
use super::format::{
    AuditLine, AuthorLine, CommitmentLine, DisputeLine, Line, PolicyLine, RangeLine, RowText,
    SignatureLine, SignerLine, StatementLine, TasksLine, VERSION,
};
use super::header::Header;
use super::new_file::NewFile;
use super::told;

/// A bundle that was written.
#[derive(Debug)]
pub struct Exported {
    /// Its first line.
    pub header: Header,
    /// The hash of the header.
    pub name: Hash,
    /// The key that has signed it, if one has.
    pub signed_by: Option<PublicKey>,
}

/// Writes the evidence of `job` to the new file `bundle`, completely or not at all, compressed by zstd if the file's
/// name ends in `.zst`. `records` passes every row of evidence to the function that it gets, in the order of a bundle;
/// it is called twice and must pass the same rows both times. `exported_at` is in milliseconds since 1970. If there is a
/// `key`, it signs the bundle.
///
/// # Errors
///
/// Any error of `records`, and [`io::Error`] if the bundle exists already or cannot be written.
pub fn export<E: From<io::Error>>(
    job: &RestoredJob,
    exported_at: i64,
    bundle: &Path,
    key: Option<&SigningKey>,
    records: impl Fn(&mut dyn FnMut(EvidenceRecord) -> Result<(), E>) -> Result<(), E>,
) -> Result<Exported, E> {
    let header = summary(job, exported_at, &records)?;
    let mut file = NewFile::begin(bundle)?;
    text(job, &header, key, &records, &mut |bytes| Ok(file.write_all(bytes)?))?;
    file.finish()?;
    let name = blake3::hash(&encode(&header));
    Ok(Exported { header, name, signed_by: key.map(SigningKey::public) })
}

/// The header of the bundle of `job`. It has the numbers of all lines and the Merkle root over them, so all rows are
/// read.
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
    let mut tree = Merkle::default();
    let mut writer = Writer { job, authors: HashMap::new(), signers: HashMap::new() };
    records(&mut |record| {
        if let EvidenceRecord::Range { counted, task_counts, .. } = &record {
            header.covered += counted.row.range.len();
            header.tasks_told += task_counts.as_slice().len() as u64;
        }
        for line in writer.lines(record) {
            *number_of(&mut header, &line) += 1;
            tree.add(&encode(&line));
        }
        Ok(())
    })?;
    header.merkle_root = Hex(*tree.root().as_bytes());
    Ok(header)
}

/// Passes the bytes of the bundle of `job` with this header to `write`, line by line, with the signature by `key` if there
/// is one. `records` must pass the same rows as for [`summary`].
///
/// # Errors
///
/// Any error of `records` and `write`.
pub fn text<E>(
    job: &RestoredJob,
    header: &Header,
    key: Option<&SigningKey>,
    records: impl Fn(&mut dyn FnMut(EvidenceRecord) -> Result<(), E>) -> Result<(), E>,
    write: &mut dyn FnMut(&[u8]) -> Result<(), E>,
) -> Result<(), E> {
    let mut line = |mut bytes: Vec<u8>| {
        bytes.push(b'\n');
        write(&bytes)
    };
    let first = encode(header);
    let name = blake3::hash(&first);
    line(first)?;
    let mut writer = Writer { job, authors: HashMap::new(), signers: HashMap::new() };
    records(&mut |record| {
        writer.lines(record).into_iter().try_for_each(|written| line(encode(&written)))
    })?;
    match key {
        Some(key) => line(encode(&Line::Signature(SignatureLine::new(name, key)))),
        None => Ok(()),
    }
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
        fingerprint: Hex(plan.fingerprint().0),
        shard: job.slice.index(),
        shards: job.slice.of(),
        state: job.state.name().into(),
        covered: 0,
        counted: Decimal(job.total),
        policies: 0,
        trust: 0,
        authors: 0,
        ranges: 0,
        audits: 0,
        disputes: 0,
        signers: 0,
        statements: 0,
        commitments: 0,
        task_lines: 0,
        tasks_told: 0,
        merkle_root: Hex([0; 32]),
    }
}

/// Makes lines of records. An author stands before the first count that names it, a signer before its first statement,
/// and statements stand behind the count that they are about.
struct Writer<'a> {
    job: &'a RestoredJob,
    authors: HashMap<AuthorLine, u32>,
    signers: HashMap<Signer, u32>,
}

impl Writer<'_> {
    fn lines(&mut self, record: EvidenceRecord) -> Vec<Line> {
        let mut lines = Vec::with_capacity(3);
        let (mut tasks, mut signed) = (Vec::new(), None);
        let line = match record {
            EvidenceRecord::Policy { policy, at_ms } => {
                Line::Policy(PolicyLine::new(policy, self.job.state, at_ms))
            }
            EvidenceRecord::Commitment { root, at_ms } => {
                Line::Commitment(CommitmentLine::new(root, at_ms))
            }
            EvidenceRecord::Trust(change) => Line::Trust(change.into()),
            EvidenceRecord::Range { counted, task_counts, at_ms } => {
                let CountedRange { row, check } = counted;
                let text = self.row(&row, at_ms, &mut lines);
                tasks = task_lines(&row, &task_counts);
                signed = row.signatures;
                Line::Range(RangeLine { audit: check.into(), row: text })
            }
            EvidenceRecord::Audit { row, at_ms } => {
                let text = self.row(&row, at_ms, &mut lines);
                signed = row.signatures;
                Line::Audit(AuditLine { row: text })
            }
            EvidenceRecord::Dispute { row, at_ms, state } => {
                let text = self.row(&row, at_ms, &mut lines);
                signed = row.signatures;
                Line::Dispute(DisputeLine { state: state.into(), row: text })
            }
        };
        lines.push(line);
        lines.extend(tasks);
        if let Some(Signatures { signer, parts }) = signed {
            let new = self.signers.len() as u32;
            let by = *self.signers.entry(signer).or_insert_with(|| {
                lines.push(Line::Signer(SignerLine::from(signer)));
                new
            });
            let statement = |part| Line::Statement(StatementLine::new(by, part));
            lines.extend(parts.iter().map(statement));
        }
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

/// What the tasks of a row count, if that is told.
fn task_lines(row: &Row, counts: &TaskCounts) -> Vec<Line> {
    let counts = counts.as_slice();
    let of = |block: Range| {
        let at = |ordinal: u64| (ordinal - row.range.start()) as usize;
        Line::Tasks(TasksLine::new(block.start(), &counts[at(block.start())..at(block.end())]))
    };
    told::blocks(row.range).filter(|_| !counts.is_empty()).map(of).collect()
}

fn number_of<'a>(header: &'a mut Header, line: &Line) -> &'a mut u64 {
    match line {
        Line::Policy(_) => &mut header.policies,
        Line::Commitment(_) => &mut header.commitments,
        Line::Trust(_) => &mut header.trust,
        Line::Author(_) => &mut header.authors,
        Line::Range(_) => &mut header.ranges,
        Line::Tasks(_) => &mut header.task_lines,
        Line::Audit(_) => &mut header.audits,
        Line::Dispute(_) => &mut header.disputes,
        Line::Signer(_) => &mut header.signers,
        Line::Statement(_) => &mut header.statements,
        Line::Signature(_) => unreachable!("it is no line of the ledger"),
    }
}
