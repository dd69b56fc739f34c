//! A counted range as a row: what the tables of ranges, audits and disputes have in common.

use farm::{Author, Claim, Digest, JobId, KernelName, LeaseId, Range, Report, Tally};
use rusqlite::{Row, ToSql};

use super::LedgerFault;
use super::seal::seal;

/// The columns that [`Entry::read`] wants to see, and the order of [`Entry::values`].
pub(crate) const ENTRY: &str =
    "first, past, count, residue, digest, kernel, worker, build, lease, busy_us, seal";

/// A count of a range, and who answers for it.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    pub range: Range,
    pub tally: Tally,
    pub kernel: KernelName,
    pub author: Author,
    pub lease: LeaseId,
    pub busy_us: u64,
}

impl Entry {
    /// What a report is in the ledger.
    pub fn new(report: &Report, author: &Author) -> Entry {
        let Report { range, tally, kernel, lease, busy_us, .. } = *report;
        Entry { range, tally, kernel, author: author.clone(), lease, busy_us }
    }

    /// The values of [`ENTRY`]'s columns.
    pub(crate) fn values(&self, job: JobId) -> [Box<dyn ToSql>; 11] {
        let Entry { range, tally, kernel, author, lease, busy_us } = self;
        [
            Box::new(signed(range.start())),
            Box::new(signed(range.end())),
            Box::new(tally.count.to_string()),
            Box::new(signed(tally.residue)),
            Box::new(tally.digest.to_string()),
            Box::new(kernel.to_string()),
            Box::new(author.worker.clone()),
            Box::new(author.build.clone()),
            Box::new(signed(lease.0)),
            Box::new(i64::try_from(*busy_us).unwrap_or(i64::MAX)),
            Box::new(seal(job, self)),
        ]
    }

    /// A row of `job`, the columns of [`ENTRY`], if it still says what was written.
    pub fn read(job: JobId, row: &Row<'_>) -> Result<Entry, LedgerFault> {
        let (first, past) = (unsigned(row, 0)?, unsigned(row, 1)?);
        let (count, digest): (String, String) = (row.get(2)?, row.get(4)?);
        let kernel: String = row.get(5)?;
        let fault =
            || LedgerFault::Content(format!("the row [{first}, {past}) = {count} is no count"));
        let tally = Tally {
            count: count.parse().map_err(|_| fault())?,
            residue: unsigned(row, 3)?,
            digest: digest.parse::<Digest>().map_err(|_| fault())?,
        };
        let entry = Entry {
            range: Range::new(first, past).ok_or_else(fault)?,
            tally,
            kernel: KernelName::new(&kernel).ok_or_else(fault)?,
            author: Author { worker: row.get(6)?, build: row.get(7)? },
            lease: LeaseId(unsigned(row, 8)?),
            busy_us: unsigned(row, 9)?,
        };
        if row.get::<_, i64>(10)? != seal(job, &entry) || !tally.is_sound() {
            let text = format!("job {job} has a row at ordinal {first} that was altered");
            return Err(LedgerFault::Content(text));
        }
        Ok(entry)
    }
}

/// Rows that tile a range, as one: a worker or a kernel that is not all rows' is left empty.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Tiled {
    pub(crate) claim: Claim,
    pub(crate) worker: String,
    pub(crate) kernel: KernelName,
}

impl Tiled {
    pub(crate) fn new(entry: Entry) -> Tiled {
        let Entry { tally, author, kernel, .. } = entry;
        Tiled { claim: tally.claim(), worker: author.worker, kernel }
    }

    /// With one more row. `None` if the sum passes 128 bits.
    pub(crate) fn with(self, entry: &Entry) -> Option<Tiled> {
        let same_worker = self.worker == entry.author.worker;
        let same_kernel = self.kernel == entry.kernel;
        Some(Tiled {
            claim: self.claim.join(entry.tally.claim())?,
            worker: if same_worker { self.worker } else { String::new() },
            kernel: if same_kernel { self.kernel } else { KernelName::default() },
        })
    }
}

/// A number that is never negative.
pub(crate) fn unsigned(row: &Row<'_>, column: usize) -> Result<u64, LedgerFault> {
    let value: i64 = row.get(column)?;
    u64::try_from(value)
        .map_err(|_| LedgerFault::Content(format!("{value} where no negative number can be")))
}

/// Ids and ordinals as SQLite stores them; all of ours are far below 2^63.
pub(crate) fn signed(value: u64) -> i64 {
    i64::try_from(value).expect("ids and ordinals stay below 2^63")
}
