//! Writes a bundle from a ledger's rows.

use std::collections::HashMap;
use std::io::{self, Write};
use std::path::Path;

use blake3::Hash;
use farm::{AuditPolicy, CountedRange, EvidenceRecord, Row, StoredJob};

use super::canonical::{Decimal, encode};
use super::format::{Line, Lines, RowText, StatedAuthor, StatedPolicy, VERSION};
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
    job: &StoredJob,
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
    file.complete()?.keep()?;
    Ok(Exported { header, name: name.finalize() })
}

/// The header of the bundle of `job`. All records are read, because the header has their sum and
/// the numbers of lines.
pub fn summary<E>(
    job: &StoredJob,
    exported_at: i64,
    records: impl Fn(&mut dyn FnMut(EvidenceRecord) -> Result<(), E>) -> Result<(), E>,
) -> Result<Header, E> {
    let plan = &job.spec.plan;
    let mut header = Header {
        queens_bundle: VERSION,
        program: format!("queens {}", env!("CARGO_PKG_VERSION")),
        exported_at,
        problem: plan.problem.text(),
        n: plan.problem.n(),
        method: plan.method.name().into(),
        parameter: plan.method.parameter().map(|(_, value)| value),
        tasks: plan.tasks,
        fingerprint: plan.fingerprint().to_string(),
        shard: job.spec.shard.index(),
        shards: job.spec.shard.of(),
        state: job.state,
        covered: 0,
        counted: 0,
        lines: Lines::default(),
    };
    let mut writer = Writer::default();
    records(&mut |record| {
        if let EvidenceRecord::Range { counted, .. } = &record {
            header.covered += counted.row.range.len();
            header.counted += u128::from(counted.row.checked_count.count);
        }
        for line in writer.lines(record) {
            header.lines.note(&line);
        }
        Ok(())
    })?;
    Ok(header)
}

/// Passes the bytes of the bundle with this header to `write`, line by line. `records` must pass
/// the same records as for [`summary`].
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

/// Turns records into lines. The line of an author precedes the first count that names the author.
#[derive(Default)]
struct Writer {
    authors: HashMap<Hash, u32>,
}

impl Writer {
    fn lines(&mut self, record: EvidenceRecord) -> Vec<Line> {
        let mut lines = Vec::with_capacity(2);
        let line = match record {
            EvidenceRecord::Policy { policy, at_ms } => {
                let AuditPolicy { share_ppm, by_reference, across, .. } = policy;
                Line::Policy(StatedPolicy { share_ppm, by_reference, across, asked_at: at_ms })
            }
            EvidenceRecord::Trust(change) => Line::Trust(change),
            EvidenceRecord::Range { counted: CountedRange { row, check }, task_counts, at_ms } => {
                let decimals =
                    || task_counts.as_slice().iter().map(|&count| Decimal(count)).collect();
                let counts = (!task_counts.are_omitted()).then(decimals);
                Line::Range { audit: check, row: self.row(&row, at_ms, &mut lines), counts }
            }
            EvidenceRecord::Audit { row, at_ms } => {
                Line::Audit { row: self.row(&row, at_ms, &mut lines) }
            }
            EvidenceRecord::Dispute { row, state, at_ms } => {
                Line::Dispute { state, row: self.row(&row, at_ms, &mut lines) }
            }
        };
        lines.push(line);
        lines
    }

    fn row(&mut self, row: &Row, at_ms: i64, lines: &mut Vec<Line>) -> RowText {
        let author = StatedAuthor { provenance: row.provenance.clone(), kernel: row.kernel };
        let new = self.authors.len() as u32;
        let number = *self.authors.entry(author.hash()).or_insert_with(|| {
            lines.push(Line::Author(author));
            new
        });
        RowText::new(row, number, at_ms)
    }
}
