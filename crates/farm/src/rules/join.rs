//! Rows become fewer: neighbours that say the same about themselves become one.
//!
//! ```text
//!   [  a  )[  a  )[ b )[  a  )[  a  )   by authors a and b, each letter of one lease
//!   [     a      )[ b )[  a  )[  a  )   if an audit would choose the last two as one
//! ```
//!
//! - They have one author, one kernel and one lease: who answers for them, and under which promise, stays as it was.
//! - Nobody asked for a second count of them, and no open dispute is about them: so a second count stays one of the row
//!   that it confirms.
//! - The policy of the job does not choose their range. A bundle shows which ranges it chooses, and all of these were
//!   counted twice before and after.
//! - Their sum fits into 64 bits.
//! - Nobody has committed to them: the root that was published is over the rows as they were.
//! - They have the signatures of one key, or none. The signatures of all stay with the row. If the key has also signed the
//!   sum of some of them ([`Stretch`]), that signature takes the place of theirs. What is left fits a row
//!   ([`Signatures::fit_a_row`]).
//! - If some of them tell what each task counts, and others do not, then the row does not.
//!
//! A report that is not to be counted again joins its row with those of its stretches. An audit
//! that is ordered later draws among the rows as they are then.

use super::{Store, StoredJob, first_rows, stored_job};
use crate::rows::{Check, CountedRange, OpenDispute, Row};
use crate::{AuditPolicy, Fingerprint, JobId, Plan, Range, Report, Signatures, Stretch};

/// Rows of a stretch, and signatures of rows that become one, beyond which they stay apart: a
/// worker whose reports are never joined must not have all of them read again for each further one.
const MOST_OF_A_STRETCH: usize = 64;

/// Joins the row of a report that was just accepted with those beside it, as far as its stretches reach.
pub(super) fn join_stretches<S: Store>(store: &mut S, report: &Report) -> Result<(), S::Fault> {
    let (id, stretches) = (report.job, &report.stretches);
    let Some(longest) = stretches.last().map(|stretch| stretch.range) else { return Ok(()) };
    let rows = first_rows(store, id, longest, MOST_OF_A_STRETCH + 1)?;
    if !(2..=MOST_OF_A_STRETCH).contains(&rows.len()) || store.committed(id)?.is_some() {
        return Ok(());
    }
    let own = rows.partition_point(|counted| counted.row.range.start() < report.range.start());
    let StoredJob { plan, .. } = stored_job(store, id)?;
    let joining = Joining::of(store, id, plan.fingerprint())?;
    match joining.around(&rows, own, stretches) {
        Some(joined) => replace(store, id, &plan, &joined),
        None => Ok(()),
    }
}

/// Replaces the rows within a range by one. If not all of them tell what each task counts, it does not: such a row tells all
/// or nothing.
fn replace<S: Store>(
    store: &mut S,
    id: JobId,
    plan: &Plan,
    joined: &CountedRange,
) -> Result<(), S::Fault> {
    let range = joined.row.range;
    store.join_rows(id, joined)?;
    let told = if plan.tells_tasks() { store.told_tasks(id, range)? } else { 0 };
    match told == 0 || told == range.len() {
        true => Ok(()),
        false => store.forget_task_counts(id, range),
    }
}

/// What decides about the rows of one job.
struct Joining {
    plan: Fingerprint,
    policy: Option<AuditPolicy>,
    disputes: Vec<OpenDispute>,
}

impl Joining {
    fn of<S: Store>(store: &mut S, id: JobId, plan: Fingerprint) -> Result<Joining, S::Fault> {
        Ok(Joining { plan, policy: store.policy(id)?, disputes: store.open_disputes(id)? })
    }

    /// What most of the rows around one of them become: those before it, and then those behind it. `None` if none may be
    /// joined with it. More of them may have fewer signatures, if somebody has signed stretches.
    fn around(
        &self,
        rows: &[CountedRange],
        own: usize,
        stretches: &[Stretch],
    ) -> Option<CountedRange> {
        let own_row = rows.get(own)?;
        let before = rows[..own].iter().rev();
        let before = self.longest(own_row, before, stretches, |sum, row| row.join(sum));
        let behind = rows[own + 1..].iter();
        let start = before.as_ref().unwrap_or(own_row);
        self.longest(start, behind, stretches, CountedRange::join).or(before)
    }

    /// What a row becomes with most of the rows that are joined with it one after the other; `None` if with none.
    fn longest<'a>(
        &self,
        row: &CountedRange,
        others: impl Iterator<Item = &'a CountedRange>,
        stretches: &[Stretch],
        join: impl Fn(&CountedRange, &CountedRange) -> Option<CountedRange>,
    ) -> Option<CountedRange> {
        let (mut sum, mut longest) = (row.clone(), None);
        for other in others {
            let Some(mut joined) = join(&sum, other) else { break };
            if let Some(signatures) = &mut joined.row.signatures {
                stretches.iter().for_each(|stretch| signatures.replace_by(stretch));
                if signatures.parts.len() > MOST_OF_A_STRETCH {
                    break;
                }
            }
            sum = joined;
            if sum.fits() && self.leaves(sum.row.range) {
                longest = Some(sum.clone());
            }
        }
        longest
    }

    /// Whether nothing asks for a second count of a range as one.
    fn leaves(&self, range: Range) -> bool {
        let is_in = |dispute: &OpenDispute| dispute.range.intersect(range).is_some();
        !self.policy.is_some_and(|policy| policy.chooses(self.plan, range))
            && !self.disputes.iter().any(is_in)
    }
}

impl CountedRange {
    /// Whether its signatures are not too many for a row.
    fn fits(&self) -> bool {
        self.row.signatures.as_ref().is_none_or(Signatures::fit_a_row)
    }

    /// This row and the next one as one, if they touch and say the same about themselves, and nobody asked for a second
    /// count of them.
    fn join(&self, next: &CountedRange) -> Option<CountedRange> {
        let (a, b) = (&self.row, &next.row);
        let is_one = a.range.end() == b.range.start()
            && (&a.author, a.kernel, a.lease) == (&b.author, b.kernel, b.lease)
            && (self.check, next.check) == (Check::NotChosen, Check::NotChosen);
        let range = Range::new(a.range.start(), b.range.end()).filter(|_| is_one)?;
        let (tally, busy_us) = (a.tally.join(b.tally)?, a.busy_us.saturating_add(b.busy_us));
        let signatures = match (&a.signatures, &b.signatures) {
            (None, None) => None,
            (first, next) => Some(first.as_ref()?.join(next.as_ref()?)?),
        };
        let row = Row { range, tally, busy_us, signatures, ..a.clone() };
        Some(CountedRange { row, check: Check::NotChosen })
    }
}
