//! The real ledger behind a queue of commands, which become durable in order.
//!
//! ```text
//!   command ──► queue ──commit (batches)──► durable, answer ──reported──► the farm
//!                 │                              │
//!                 └── lost in a crash            └── kept in a crash, reported or not
//! ```
//!
//! In some worlds a coordinator may restart from an older copy, as if the ledger was lost with its
//! machine.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::rc::Rc;

use farm::{
    Asker, Change, Check, CountedRange, DisputeState, Distrusted, Fingerprint, IntervalSet, JobId,
    JobSpec, JobState, LedgerAnswer, LedgerCommand, Plan, Principal, Provenance, Range, Report,
    Restored, Row, Shard, Vote, Withdrawn,
};
use ledger::LedgerFault;

use crate::coverage::Coverage;
use crate::disk::{Copy, Disk};
use crate::rows::vote;
use crate::snapshot::{JobSnapshot, Snapshot};
use crate::truth::{Truth, Truths, is_published};

pub struct Ledger {
    /// The durable state.
    pub disk: Disk,
    /// An older copy of the durable state, which lacks only counts.
    copy: Option<Copy>,
    /// Parties that are distrusted.
    distrusted: Distrusted,
    /// The states of the durable jobs.
    stand: BTreeMap<JobId, JobState>,
    /// The snapshots of jobs that were read since the jobs last changed.
    read: RefCell<BTreeMap<JobId, Rc<JobSnapshot>>>,
    /// The constant facts about the durable jobs.
    pub jobs: BTreeMap<JobId, LedgerJob>,
    pub queue: VecDeque<(Asker, LedgerCommand)>,
    /// Commands that are durable but not yet reported to the farm.
    pub answers: VecDeque<Done>,
    /// Accepted ranges that are durable, for checks of acknowledgements.
    pub accepted: BTreeSet<(JobId, Range)>,
    pub confirmed: BTreeSet<(JobId, Range)>,
    pub evidence: BTreeSet<(JobId, Range)>,
    /// The number of times that a client's request for a state became durable.
    pub states: BTreeMap<(JobId, &'static str), u64>,
    /// The counts of what happened.
    pub coverage: Coverage,
    /// Number of owners that lie together.
    pub lying: u64,
    epoch: u64,
    truths: Truths,
}

/// A command that is durable.
#[derive(Clone, Debug)]
pub struct Done {
    pub asker: Asker,
    pub command: LedgerCommand,
    pub answer: LedgerAnswer,
    /// The durable state after it, if the command may have changed more rows than it names.
    pub after: Option<Rc<Snapshot>>,
    /// The row that an accepted range and its neighbours became.
    pub joined: Vec<CountedRange>,
}

pub struct LedgerJob {
    pub plan: Plan,
    pub shard: Shard,
    /// The ordinals of the shard.
    pub ordinals: IntervalSet,
    pub fingerprint: Fingerprint,
    pub truth: Rc<Truth>,
}

impl Ledger {
    /// A new ledger. `lying` is the number of owners that may lie together.
    pub fn new(disk: Disk, lying: u64) -> Ledger {
        Ledger {
            disk,
            copy: None,
            distrusted: Distrusted::default(),
            stand: BTreeMap::new(),
            read: RefCell::default(),
            jobs: BTreeMap::new(),
            queue: VecDeque::new(),
            answers: VecDeque::new(),
            accepted: BTreeSet::new(),
            confirmed: BTreeSet::new(),
            evidence: BTreeSet::new(),
            states: BTreeMap::new(),
            coverage: Coverage::default(),
            lying,
            epoch: 0,
            truths: Truths::default(),
        }
    }

    /// Everything that is durable.
    pub fn snapshot(&self) -> Snapshot {
        let jobs = self.jobs.keys().map(|&id| (id, self.stored(id))).collect();
        Snapshot { jobs, distrusted: self.distrusted.clone() }
    }

    pub fn stored(&self, job: JobId) -> Rc<JobSnapshot> {
        let read = || Rc::new(JobSnapshot::of(self.disk.ledger(), job));
        self.read.borrow_mut().entry(job).or_insert_with(read).clone()
    }

    pub fn state(&self, job: JobId) -> JobState {
        self.stand[&job]
    }

    /// Notes which jobs a command may have changed.
    fn note_changed(&mut self, command: &LedgerCommand) {
        let changed: Vec<JobId> = match command {
            command if command.is_look_up() => return,
            LedgerCommand::Accept { report, .. } | LedgerCommand::Confirm(report, _) => {
                self.read.get_mut().remove(&report.job);
                return;
            }
            LedgerCommand::Settle { .. } => self.jobs.keys().copied().collect(),
            command => command.job().into_iter().collect(),
        };
        for id in changed {
            self.read.get_mut().remove(&id);
            let job = self.disk.ledger().job(id).expect("it can be read");
            self.stand.insert(id, job.state);
        }
        if let LedgerCommand::Settle { report, .. } = command {
            self.distrusted = Distrusted::after(&self.stored(report.job).trust);
        }
    }

    /// The accepted rows with ordinals of a range.
    pub fn rows_in(&self, job: JobId, range: Range) -> Vec<CountedRange> {
        self.disk.ledger().rows_in(job, range).expect("they can be read")
    }

    /// The claim of the row that covers exactly this range.
    fn row_vote(&self, job: JobId, range: Range) -> Option<Vote> {
        let rows = self.rows_in(job, range).into_iter();
        vote(&rows.map(|counted| (counted.row.range.start(), counted)).collect(), range)
    }

    pub fn distrusted(&self) -> &Distrusted {
        &self.distrusted
    }

    pub fn is_distrusted(&self, principal: &Principal) -> bool {
        self.distrusted.includes(principal)
    }

    /// Makes the first `commands` commands of the queue durable.
    pub fn commit(&mut self, commands: usize, now_ms: u64) {
        let batch: Vec<_> = self.queue.drain(..commands).collect();
        if batch.iter().any(|(_, command)| decides(command)) {
            self.copy = None;
        }
        let ledger = Rc::clone(self.disk.ledger());
        let all = || {
            for (asker, command) in batch {
                let done = self.execute(asker, command, now_ms);
                self.answers.push_back(done);
            }
            Ok::<(), LedgerFault>(())
        };
        ledger.in_one_go(all).expect("it can be written");
    }

    /// Keeps a copy of the durable state, unless there is one that lacks only counts.
    pub fn keep_copy(&mut self) {
        self.copy.get_or_insert_with(|| self.disk.copy());
    }

    /// Replaces the ledger by its copy. Returns whether there is one.
    pub fn go_back(&mut self) -> bool {
        let copy = self.copy.take();
        copy.iter().for_each(|copy| self.disk.replace(copy));
        copy.is_some()
    }

    /// The state that the next coordinator gets.
    pub fn reopen(&mut self) -> Restored {
        self.epoch += 1;
        let restored = self.disk.open(self.epoch);
        self.distrusted = restored.distrusted.clone();
        self.stand = restored.jobs.iter().map(|job| (job.stored.id, job.stored.state)).collect();
        self.read.get_mut().clear();
        self.queue.clear();
        self.answers.clear();
        restored
    }

    fn execute(&mut self, asker: Asker, command: LedgerCommand, now_ms: u64) -> Done {
        self.check(&command);
        let before = is_broad(&command).then(|| self.snapshot());
        let answer = self.disk.ledger().execute(&command, now_ms as i64);
        let answer = answer.expect("it fits the rows");
        self.note_changed(&command);
        let after = before.is_some().then(|| Rc::new(self.snapshot()));
        self.note(&command, &answer);
        if let (Some(before), Some(after)) = (before, &after) {
            self.note_change(&before, after, &command, &answer);
        }
        let joined = self.joined(&command);
        Done { asker, command, answer, after, joined }
    }

    /// The row that an accepted range and its neighbours became.
    fn joined(&mut self, command: &LedgerCommand) -> Vec<CountedRange> {
        let LedgerCommand::Accept { report, .. } = command else { return Vec::new() };
        let counted = self.rows_in(report.job, report.range).pop().expect("it was accepted");
        self.coverage.joined += u64::from(counted.row.range != report.range);
        vec![counted]
    }

    /// Checks what must hold for every command.
    fn check(&self, command: &LedgerCommand) {
        match command {
            LedgerCommand::CreateJob { job, .. } => {
                let newest = self.jobs.last_key_value().map_or(JobId(0), |(&id, _)| id);
                assert!(*job > newest, "job number {job} was used before");
            }
            LedgerCommand::Change {
                job,
                change: change @ (Change::Cancel | Change::Pause | Change::Resume),
                ..
            } => {
                let known = self.state(*job);
                let is_given_up = *change == Change::Cancel;
                assert!(known != JobState::Suspended || is_given_up, "job {job} is suspended");
                let ended = known == JobState::Cancelled && !is_given_up;
                assert!(!ended, "cancelled is final, {job}");
                assert_ne!(known, JobState::Done, "job {job} is over");
            }
            LedgerCommand::NoteBegun(job)
            | LedgerCommand::NoteCounted(job)
            | LedgerCommand::NoteWaited(job, _) => {
                assert!(!self.state(*job).is_over(), "job {job} is over");
            }
            // The priority of a job that is done may change, because the job may still be audited.
            LedgerCommand::Change { job, change: Change::Priority(_), .. } => {
                assert_ne!(self.state(*job), JobState::Cancelled, "job {job} is over");
            }
            LedgerCommand::Finish { job, total, reason: None, .. } => {
                assert_ne!(self.state(*job), JobState::Cancelled, "cancelled is final");
                let known = &self.jobs[job];
                let is_wrong = *total != known.truth.total(&known.ordinals);
                assert!(!is_wrong || !is_published(&known.plan), "{total} is known to be wrong");
            }
            LedgerCommand::Finish { job, total, .. } => {
                assert_ne!(self.state(*job), JobState::Cancelled, "cancelled is final");
                let known = &self.jobs[job];
                assert_ne!(
                    *total,
                    known.truth.total(&known.ordinals),
                    "a right total is suspended"
                );
            }
            LedgerCommand::Accept { report, provenance, .. }
            | LedgerCommand::Confirm(report, provenance) => self.check_report(report, provenance),
            LedgerCommand::Dispute(report, provenance) => {
                self.check_report(report, provenance);
                let stored = self.row_vote(report.job, report.range);
                let stored = stored.expect("only what rows tile is disputed");
                let contradicts = stored.result != report.checked_count.result();
                assert!(
                    contradicts || self.claims(report.job, report.range) > 0,
                    "{provenance:?} does not contradict what is accepted: {report:?}"
                );
            }
            LedgerCommand::Settle { report, provenance, .. } => {
                self.check_report(report, provenance);
                let truth =
                    self.jobs[&report.job].truth.checked_count(report.range).expect("it fits");
                let is_right = report.checked_count.result() == truth.result();
                // If all counts are by machines of one owner, the settlement rests on the word of
                // that owner alone.
                let is_own_word = self.is_own_word(report, provenance);
                assert!(is_right || is_own_word || self.lying >= 2, "settled wrong: {report:?}");
            }
            LedgerCommand::Change { change: Change::Audit { .. }, .. }
            | LedgerCommand::Doubt(..)
            | LedgerCommand::Compare(..)
            | LedgerCommand::FindAudits { .. } => {}
            LedgerCommand::Trust { .. } => unreachable!("no command changes trust"),
            LedgerCommand::Remove(..) => unreachable!("no command removes a job"),
        }
    }

    /// Whether a settlement is between machines of one owner that lies.
    fn is_own_word(&self, report: &Report, provenance: &Provenance) -> bool {
        let job = self.stored(report.job);
        let row = job.rows.values().map(|counted| &counted.row);
        let evidence = job.evidence.iter().filter(|(_, state)| *state == DisputeState::Open);
        let mut counts = row.chain(evidence.map(|(row, _)| row));
        let is_theirs = |row: &Row| row.provenance.principal.owner == provenance.principal.owner;
        self.lying > 0 && counts.all(|row| row.range != report.range || is_theirs(row))
    }

    fn check_report(&self, report: &Report, provenance: &Provenance) {
        let job = &self.jobs[&report.job];
        assert!(!self.is_distrusted(&provenance.principal), "{provenance:?} is trusted again");
        assert_eq!(report.fingerprint, job.fingerprint, "a report of another plan");
        assert!(report.checked_count.is_sound(), "altered on its way: {report:?}");
        assert!(job.ordinals.contains(report.range), "{} is not in the shard", report.range);
        let state = self.state(report.job);
        assert_ne!(state, JobState::Cancelled, "the job of {report:?} was cancelled before");
    }

    /// Number of open claims about a range.
    pub fn claims(&self, job: JobId, range: Range) -> usize {
        let is_open = |state: DisputeState| state == DisputeState::Open;
        self.stored(job)
            .evidence
            .iter()
            .filter(|(row, state)| row.range == range && is_open(*state))
            .count()
    }

    fn note(&mut self, command: &LedgerCommand, answer: &LedgerAnswer) {
        match command {
            LedgerCommand::CreateJob { job, spec: JobSpec { plan, shard, .. }, .. } => {
                let known = LedgerJob {
                    plan: *plan,
                    shard: *shard,
                    ordinals: plan.ordinals(*shard),
                    fingerprint: plan.fingerprint(),
                    truth: self.truths.of(plan),
                };
                self.jobs.insert(*job, known);
            }
            LedgerCommand::NoteBegun(job) => *self.states.entry((*job, "begun")).or_default() += 1,
            LedgerCommand::NoteCounted(job) => {
                *self.states.entry((*job, "counted")).or_default() += 1;
            }
            LedgerCommand::Change { job, change, .. } => {
                let name = match change {
                    Change::Priority(_) => "prioritised",
                    Change::Audit { .. } => "audited",
                    _ => change.state().expect("the others change it").name(),
                };
                *self.states.entry((*job, name)).or_default() += 1;
            }
            LedgerCommand::Accept { report, audit, .. } => {
                self.coverage.audits_wanted += u64::from(*audit);
                self.accepted.insert((report.job, report.range));
            }
            LedgerCommand::Confirm(report, _) => {
                self.coverage.confirmed += 1;
                self.confirmed.insert((report.job, report.range));
            }
            LedgerCommand::Dispute(report, _) => {
                let is_first = self.evidence.insert((report.job, report.range));
                self.coverage.disputes += u64::from(is_first);
            }
            LedgerCommand::Settle { report, wrong, .. } => {
                self.coverage.settlements += 1;
                self.coverage.proven_wrong += wrong.len() as u64;
                self.evidence.insert((report.job, report.range));
            }
            LedgerCommand::FindAudits { most, .. } => {
                let LedgerAnswer::AuditsFound(found) = answer else { panic!("{answer:?}") };
                self.coverage.full_windows += u64::from(found.len() == *most);
            }
            LedgerCommand::Finish { reason, .. } => {
                self.coverage.suspended += u64::from(reason.is_some());
            }
            LedgerCommand::Doubt(..) => self.coverage.counted_again += 1,
            LedgerCommand::Compare(..)
            | LedgerCommand::NoteWaited(..)
            | LedgerCommand::Trust { .. }
            | LedgerCommand::Remove(..) => {}
        }
    }

    fn note_change(
        &mut self,
        before: &Snapshot,
        after: &Snapshot,
        command: &LedgerCommand,
        answer: &LedgerAnswer,
    ) {
        let coverage = &mut self.coverage;
        let is_done = |job: &JobId| before.jobs[job].job.state == JobState::Done;
        match (command, answer) {
            (LedgerCommand::Change { job, .. }, _) => {
                coverage.audited_anew += u64::from(is_done(job));
                let was_suspended = before.jobs[job].job.state == JobState::Suspended;
                coverage.suspended_and_audited += u64::from(was_suspended);
            }
            (LedgerCommand::Settle { report, .. }, LedgerAnswer::Settled(withdrawn)) => {
                let stored = vote(&before.jobs[&report.job].rows, report.range);
                let stored = stored.expect("only what rows tile is disputed");
                coverage.corrections += u64::from(stored.result != report.checked_count.result());
                for Withdrawn { job, ranges, .. } in withdrawn {
                    let (old, new) = (&before.jobs[job], &after.jobs[job]);
                    let lost = old.rows.values().filter(|old| ranges.intersects(old.row.range));
                    coverage.withdrawn += lost.count() as u64;
                    let voided = |(start, old): (&u64, _)| -> bool {
                        let old: &farm::CountedRange = old;
                        let new = new.rows.get(start).map(|new| new.check);
                        old.check == Check::Agreed && new == Some(Check::Wanted)
                    };
                    coverage.voided += u64::from(old.rows.iter().any(voided));
                    let is_open = new.job.state == JobState::Running;
                    coverage.reopened += u64::from(is_done(job) && is_open);
                }
            }
            (LedgerCommand::Doubt(..), LedgerAnswer::AuditNoted { .. }) => {}
            _ => panic!("{command:?} was answered with {answer:?}"),
        }
    }
}

/// Whether a command may change more rows than it names.
fn is_broad(command: &LedgerCommand) -> bool {
    matches!(
        command,
        LedgerCommand::Settle { .. }
            | LedgerCommand::Change { change: Change::Audit { .. }, .. }
            | LedgerCommand::Doubt(..)
    )
}

/// Whether a copy from before this command would lack more than counts. Workers can repeat counts,
/// but not decisions.
fn decides(command: &LedgerCommand) -> bool {
    let is_count = matches!(command, LedgerCommand::Accept { .. } | LedgerCommand::Confirm(..));
    !is_count && !command.is_look_up()
}
