//! What a ledger keeps of a job: accepted counts, second counts, and evidence.
//!
//! ```text
//!   accepted range   a row, and whether it was counted twice ([`Check`])
//!   second count     a row about the same range, by another party and another kernel
//!   evidence         a row that contradicts, or that no longer counts ([`DisputeState`])
//! ```

use std::ops::ControlFlow;

use crate::{
    Across, AuditPolicy, Author, Claim, Found, JobId, KernelName, LeaseId, Maker, Party, Range,
    Report, Tally, TaskCounts, Unaudited,
};

/// A count of a range, and who answers for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// The ordinals that were counted.
    pub range: Range,
    /// What they count.
    pub tally: Tally,
    /// What counted them.
    pub kernel: KernelName,
    /// Who counted them.
    pub author: Author,
    /// The lending that the count answered.
    pub lease: LeaseId,
    /// Thread time spent on it, microseconds.
    pub busy_us: u64,
}

impl Row {
    /// The row of a report.
    #[must_use]
    pub fn new(report: &Report, author: &Author) -> Row {
        let Report { range, tally, kernel, lease, busy_us, .. } = *report;
        Row { range, tally, kernel, author: author.clone(), lease, busy_us }
    }
}

/// Whether an accepted range was counted a second time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Check {
    /// Nobody asked for a second count.
    NotChosen,
    /// A second count is asked for, and is missing.
    Wanted,
    /// Two parties counted it alike.
    Agreed,
}

/// An accepted range.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CountedRange {
    /// The count that is in the total.
    pub row: Row,
    /// Whether somebody else counted it, too.
    pub check: Check,
}

impl CountedRange {
    /// What an auditor needs to know of it.
    #[must_use]
    pub fn unaudited(&self) -> Unaudited {
        let Row { range, kernel, author, .. } = &self.row;
        Unaudited { range: *range, maker: author.maker.clone(), kernel: *kernel }
    }
}

/// Where a count stands that is kept as evidence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DisputeState {
    /// It contradicts the accepted count, and nobody knows yet which is right.
    Open,
    /// Its dispute is over.
    Settled,
    /// It was accepted, or confirmed another count, until its maker was proven wrong elsewhere, or until only
    /// other owners could confirm.
    TakenBack,
}

/// A job's line of evidence. Times are Unix milliseconds, for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EvidenceRecord {
    /// A policy that chose ranges to be counted twice.
    Policy {
        /// The policy.
        policy: AuditPolicy,
        /// When it was asked for.
        at_ms: i64,
    },
    /// An accepted range.
    Range {
        /// The range, its count and its check.
        counted: CountedRange,
        /// What each of its tasks counts, if that is told.
        task_counts: TaskCounts,
        /// When it was accepted.
        at_ms: i64,
    },
    /// A second count that agrees with the accepted one.
    Audit {
        /// The second count.
        row: Row,
        /// When it was made.
        at_ms: i64,
    },
    /// A count that is not in the total.
    Dispute {
        /// The count.
        row: Row,
        /// When it was made.
        at_ms: i64,
        /// Why it is kept.
        state: DisputeState,
    },
    /// A change of trust in somebody.
    Trust(TrustChange),
}

/// A party is believed no more, or again. The latest change about a party holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrustChange {
    /// Who.
    pub party: Party,
    /// Whether it is believed since.
    pub trusted: bool,
    /// The count that proved it wrong, of some job; `None` if a person decided.
    pub proof: Option<(JobId, Range)>,
    /// Why, for people; empty if a proof says it.
    pub reason: String,
    /// When, in Unix milliseconds.
    pub at_ms: i64,
}

/// The open claims about one range that contradict its rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenDispute {
    /// The disputed range.
    pub range: Range,
    /// Each claim, the oldest first.
    pub claims: Vec<Row>,
}

/// Whether a count by one maker and kernel says something new about one by another. Nobody can check itself,
/// and a loop cannot check itself either.
#[must_use]
pub(crate) fn is_second_opinion(
    (maker, kernel): (&Maker, KernelName),
    (other_maker, other_kernel): (&Maker, KernelName),
    across: Across,
) -> bool {
    maker.is_apart_from(other_maker, across) && kernel != other_kernel
}

/// What rows say together that tile a range without a gap.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tiled {
    /// Their sum and digest.
    pub claim: Claim,
    /// Who counted all of them. `None` if several did: then nobody answers for the sum.
    pub maker: Option<Maker>,
    /// What counted all of them. It is empty if it was not the same.
    pub kernel: KernelName,
}

impl Tiled {
    /// What rows in ascending order say together; `None` if they do not tile the range.
    ///
    /// # Errors
    ///
    /// [`TooLarge`] if their sum passes 128 bits.
    pub fn of<'a>(
        rows: impl IntoIterator<Item = &'a Row>,
        range: Range,
    ) -> Result<Option<Tiled>, TooLarge> {
        let mut tiling = Tiling::new(range);
        let _ = rows.into_iter().try_for_each(|row| tiling.add(row));
        tiling.end()
    }
}

impl From<Tiled> for Found {
    fn from(Tiled { claim, maker, kernel }: Tiled) -> Found {
        Found::Exactly { claim, maker, kernel }
    }
}

/// Adds up rows in ascending order, as long as they tile a range.
#[derive(Debug)]
pub(crate) struct Tiling {
    range: Range,
    /// Where the next row has to begin.
    next: u64,
    tiled: Option<Tiled>,
    state: TilingState,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TilingState {
    Sound,
    Unaligned,
    TooLarge,
}

/// The sum of the rows of a range passes 128 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooLarge;

impl TooLarge {
    /// What is wrong with the job of these rows.
    #[must_use]
    pub fn of(self, job: JobId) -> Contradiction {
        Contradiction::TooLarge(job)
    }
}

impl Tiling {
    /// No rows yet.
    #[must_use]
    pub(crate) fn new(range: Range) -> Tiling {
        Tiling { range, next: range.start(), tiled: None, state: TilingState::Sound }
    }

    /// Adds the next row. Breaks off if no further row can make a difference.
    pub(crate) fn add(&mut self, row: &Row) -> ControlFlow<()> {
        if row.range.start() != self.next || row.range.end() > self.range.end() {
            self.state = TilingState::Unaligned;
            return ControlFlow::Break(());
        }
        self.next = row.range.end();
        let (claim, maker) = (row.tally.claim(), &row.author.maker);
        let Some(tiled) = &mut self.tiled else {
            self.tiled = Some(Tiled { claim, maker: Some(maker.clone()), kernel: row.kernel });
            return ControlFlow::Continue(());
        };
        let Some(sum) = tiled.claim.join(claim) else {
            self.state = TilingState::TooLarge;
            return ControlFlow::Break(());
        };
        tiled.claim = sum;
        if tiled.maker.as_ref() != Some(maker) {
            tiled.maker = None;
        }
        if tiled.kernel != row.kernel {
            tiled.kernel = KernelName::default();
        }
        ControlFlow::Continue(())
    }

    /// What the rows say together; `None` if they do not tile the range.
    ///
    /// # Errors
    ///
    /// [`TooLarge`] if their sum passes 128 bits.
    pub(crate) fn end(self) -> Result<Option<Tiled>, TooLarge> {
        match self.state {
            TilingState::TooLarge => Err(TooLarge),
            TilingState::Unaligned => Ok(None),
            TilingState::Sound => Ok(self.tiled.filter(|_| self.next == self.range.end())),
        }
    }
}

/// What is wrong with the rows of a job, or with what the farm wants to do to them.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Contradiction {
    /// A command about a job that is not there.
    #[error("job {0} is gone")]
    NoSuchJob(JobId),
    /// An accepted range overlaps another one.
    #[error("job {0} was about to accept {1} twice")]
    AcceptedTwice(JobId, Range),
    /// A second count does not belong to a range that waits for one, or is no second opinion.
    #[error("job {0} was about to confirm {1}, which is no row that this count can confirm")]
    NotConfirmable(JobId, Range),
    /// A settlement is about a range without an open dispute.
    #[error("job {0} was about to settle {1}, which is not disputed")]
    NotDisputed(JobId, Range),
    /// A job is to end or to be held, and its rows do not say so.
    #[error(
        "job {job} should end with {tasks} tasks and the total {total}, but its rows have {covered} and \
         {sum}, and {open} of them wait for another count"
    )]
    NotDone {
        /// The job.
        job: JobId,
        /// How many tasks it should have.
        tasks: u64,
        /// The total that it should have.
        total: u128,
        /// Tasks that its rows have.
        covered: u64,
        /// The sum of its rows.
        sum: u128,
        /// Ranges that wait for a second count, and open claims.
        open: u64,
    },
    /// A job is to be removed that proved somebody wrong.
    #[error("job {0} was about to be removed, which proved somebody wrong")]
    Proof(JobId),
    /// Two rows of a job overlap.
    #[error("job {0} has overlapping ranges at ordinal {1}")]
    Overlap(JobId, u64),
    /// Rows lie outside of the part of the plan that is wanted.
    #[error("job {0} has ranges beyond its plan")]
    BeyondPlan(JobId),
    /// A job is said to be done or held, and rows are missing.
    #[error("job {0} is done or held, but not all of its ranges are there")]
    NotCovered(JobId),
    /// The total of a job that is done is not the sum of its rows.
    #[error("job {0} has a total that is not the sum of its ranges")]
    WrongTotal(JobId),
    /// A dispute is about ordinals that no rows tile.
    #[error("job {0} disputes {1}, which it lacks")]
    DisputesNothing(JobId, Range),
    /// A sum passes 128 bits.
    #[error("job {0} has counts that pass 128 bits")]
    TooLarge(JobId),
}
