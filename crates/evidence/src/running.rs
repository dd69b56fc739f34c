//! The running totals of a check: sums and sets over the lines of a bundle so far.

use std::collections::{BTreeMap, HashSet};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use farm::{
    AuditPolicy, AuditScope, Check, CountResult, Digest, DisputeState, Distrusted, Fingerprint,
    IntervalSet, JobState, Known, Plan, Range, Shard, TrustChange,
};

use crate::canonical::Decimal;
use crate::confirmations::{Amount, Confirmations};
use crate::draw::{Drawing, Unit};
use crate::format::{Line, Lines, StatedAuthor, StatedPolicy, StatedRow};

/// The most bytes of lines that a check keeps in memory: policies, changes of trust and authors.
const MOST_KEPT: usize = 64 << 20;

/// The most lines of authors. Each takes some 300 bytes of memory besides its text.
const MOST_AUTHORS: usize = 100_000;

/// The most policies. All of them are printed.
const MOST_POLICIES: usize = 1000;

/// The content of the lines after a bundle's header.
#[derive(Debug, Default)]
pub struct Content {
    /// All audits that were ordered, the oldest first.
    pub policies: Vec<StatedPolicy>,
    /// The principals that the farm distrusted, or trusted again, the oldest first.
    pub trust: Vec<TrustChange>,
    /// The sums over the second counts.
    pub confirmations: Confirmations,
    /// Number of tasks whose counts are reported.
    pub tasks_reported: u64,
    /// The time of one thread that the counts of the total took, at most the largest [`Duration`].
    pub busy: Duration,
    /// The time of one thread that the second counts took.
    pub second_busy: Duration,
    /// The authors, by their numbers.
    pub authors: Vec<StatedAuthor>,
    /// The ranges and counts of each author, by its number.
    pub counted_by: BTreeMap<u32, Amount>,
}

/// Sums and sets over the lines so far.
pub(super) struct Running {
    pub(super) content: Content,
    plan: Plan,
    fingerprint: Fingerprint,
    shard: IntervalSet,
    pub(super) known: Known,
    pub(super) drawing: Drawing,
    distrusted: Distrusted,
    /// Hashes of the lines of authors. No line may come twice.
    known_authors: HashSet<blake3::Hash>,
    kept: usize,
    pub(super) lines: Lines,
    /// Number of ranges according to the header. If the header says that there are few, all of them
    /// are kept in memory, so there must not be more.
    most_ranges: u64,
    /// The range that a second count on the next line must be of.
    last: Option<(StatedRow, Check)>,
    /// The end of the last range.
    end: u64,
    pub(super) covered: u64,
    pub(super) total: u128,
    open_disputes: u64,
}

impl Running {
    pub(super) fn new(plan: Plan, shard: Shard, drawing: Drawing, most_ranges: u64) -> Running {
        Running {
            content: Content::default(),
            plan,
            fingerprint: plan.fingerprint(),
            shard: plan.ordinals(shard),
            known: Known::of(&plan, shard),
            drawing,
            distrusted: Distrusted::default(),
            known_authors: HashSet::new(),
            kept: 0,
            lines: Lines::default(),
            most_ranges,
            last: None,
            end: 0,
            covered: 0,
            total: 0,
            open_disputes: 0,
        }
    }

    /// Checks one line of `bytes` bytes.
    pub(super) fn see(&mut self, line: Line, bytes: usize) -> Result<()> {
        let is_kept = matches!(line, Line::Policy(_) | Line::Trust(_) | Line::Author(_));
        if is_kept {
            self.kept += bytes;
            ensure!(
                self.kept <= MOST_KEPT,
                "the lines about policies, trust and authors have more than {MOST_KEPT} bytes"
            );
        }
        let is_late = self.lines.ranges + self.lines.disputes > 0;
        self.lines.note(&line);
        match line {
            Line::Policy(line) => {
                ensure!(
                    !is_late && self.content.trust.is_empty() && self.content.authors.is_empty(),
                    OUT_OF_ORDER
                );
                ensure!(
                    self.content.policies.len() < MOST_POLICIES,
                    "it has more than {MOST_POLICIES} policies"
                );
                ensure!(
                    line.share_ppm <= AuditPolicy::ALL,
                    "the audited share is {} millionths, which is more than 1",
                    line.share_ppm
                );
                self.content.policies.push(line);
            }
            Line::Trust(change) => {
                ensure!(!is_late && self.content.authors.is_empty(), OUT_OF_ORDER);
                self.content.trust.push(change);
            }
            Line::Author(author) => {
                if self.content.authors.is_empty() {
                    self.distrusted = Distrusted::after(&self.content.trust);
                }
                ensure!(
                    self.content.authors.len() < MOST_AUTHORS,
                    "it has more than {MOST_AUTHORS} authors"
                );
                ensure!(self.known_authors.insert(author.hash()), "the author has a line already");
                self.content.authors.push(author);
            }
            Line::Range { audit, row, counts } => {
                ensure!(self.lines.disputes == 0, OUT_OF_ORDER);
                self.settle(None)?;
                let row = row.read(self.content.authors.len())?;
                self.content.busy = self.content.busy.saturating_add(row.busy);
                self.range(&row)?;
                self.draw(&row, counts.as_deref())?;
                self.last = Some((row, audit));
            }
            Line::Audit { row } => {
                let row = row.read(self.content.authors.len())?;
                self.content.second_busy = self.content.second_busy.saturating_add(row.busy);
                ensure!(
                    self.last.is_some(),
                    "this is a second count of {}, but no first count stands before it",
                    row.range
                );
                self.settle(Some(&row))?;
            }
            Line::Dispute { state, row } => {
                self.settle(None)?;
                row.read(self.content.authors.len())?;
                self.open_disputes += u64::from(state == DisputeState::Open);
            }
        }
        Ok(())
    }

    fn range(&mut self, row: &StatedRow) -> Result<()> {
        let (range, count) = (row.range, row.result.count);
        let last = std::mem::replace(&mut self.end, range.end());
        ensure!(
            range.start() >= last,
            "{range} begins before {last}, where the previous range ended"
        );
        ensure!(
            self.shard.contains(range),
            "{range} does not belong to the {} tasks of {}",
            self.shard.len(),
            self.plan
        );
        ensure!(self.known.allows(range, count), "the tasks of {range} cannot count {count}");
        ensure!(
            self.lines.ranges <= self.most_ranges,
            "it has more ranges than its header says, {}",
            self.most_ranges
        );
        self.covered += range.len();
        let total = self.total.checked_add(count);
        self.total = total.context("the sum exceeds 2^128 - 1")?;
        self.content.counted_by.entry(row.by).or_default().add(row);
        Ok(())
    }

    /// Passes a range to the drawing, with its tasks if their counts are reported.
    fn draw(&mut self, row: &StatedRow, counts: Option<&[Decimal]>) -> Result<()> {
        let tasks = counts.map(|counts| {
            ensure!(
                self.plan.reports_tasks(),
                "counts of tasks are not reported by {}",
                self.plan.method
            );
            self.content.tasks_reported += row.range.len();
            results(self.fingerprint, &self.known, row, counts)
        });
        let range = Unit { range: row.range, result: row.result, is_task: false };
        self.drawing.pass(range, tasks.transpose()?.as_deref());
        Ok(())
    }

    /// Records what confirms the last range: `second` is the second count that follows it.
    fn settle(&mut self, second: Option<&StatedRow>) -> Result<()> {
        let Some((first, audit)) = self.last.take() else { return Ok(()) };
        let across = self.content.policies.last().map(|policy| policy.across);
        self.content.confirmations.note(
            &first,
            audit == Check::Agreed,
            second,
            &self.content.authors,
            across.unwrap_or(AuditScope::Machines),
            &self.distrusted,
        )
    }

    /// Checks the conditions that must hold at the end of a bundle whose job is in this state.
    pub(super) fn close(&mut self, state: JobState) -> Result<()> {
        self.settle(None)?;
        if state != JobState::Done {
            return Ok(());
        }
        ensure!(
            self.covered == self.shard.len(),
            "its state is done, but {} of {} tasks have no count",
            self.shard.len() - self.covered,
            self.shard.len()
        );
        ensure!(
            self.open_disputes == 0,
            "its state is done, but {} counts are disputed",
            self.open_disputes
        );
        Ok(())
    }
}

const OUT_OF_ORDER: &str = "it is out of order";

/// The claimed count of each task of a row whose counts are reported. Such a row is sampled task by
/// task, and any other row as a whole.
fn results(
    plan: Fingerprint,
    known: &Known,
    row: &StatedRow,
    counts: &[Decimal],
) -> Result<Vec<Unit>> {
    let range = row.range;
    ensure!(
        counts.len() as u64 == range.len(),
        "it does not report the count of each task of {range}"
    );
    let (mut sum, mut results) = (CountResult::default(), Vec::with_capacity(counts.len()));
    for (ordinal, &Decimal(count)) in (range.start()..).zip(counts) {
        let task = Range::new(ordinal, ordinal + 1).expect("it is one task");
        let (count, digest) = (u128::from(count), Digest::of(plan, ordinal, count));
        ensure!(known.allows(task, count), "the task {ordinal} cannot count {count}");
        let result = CountResult { count, digest };
        sum = sum.join(result).context("the counts of the tasks exceed 2^128 - 1")?;
        results.push(Unit { range: task, result, is_task: true });
    }
    ensure!(sum == row.result, "the counts of the tasks of {range} do not add up to its count");
    Ok(results)
}
