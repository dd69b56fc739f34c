//! The model's attempts: how often a process crashed with each task.

use std::collections::BTreeSet;

use farm::{
    Change, Effect, Event, JobChange, JobId, JobState, JobView, LedgerCommand, Request, SessionId,
};

use crate::books::{Book, Seat, ordinals};
use crate::coverage::Coverage;
use crate::model::Model;

impl Book {
    /// The number of tasks that may be leased.
    pub fn leasable(&self) -> u64 {
        self.free - self.failed.len() as u64
    }

    /// Whether a task must be leased alone.
    pub fn is_suspected(&self, ordinal: usize) -> bool {
        self.was_lost_twice(ordinal) && !self.failed.contains(&ordinal)
    }

    fn was_lost_twice(&self, ordinal: usize) -> bool {
        self.attempts.get(&ordinal).is_some_and(|&times| times >= 2)
    }

    fn is_free(&self, ordinal: usize) -> bool {
        !self.claimed[ordinal] && self.holder[ordinal].is_none()
    }

    /// The number of tasks that may be leased together with others.
    fn ordinary(&self) -> u64 {
        let is_set_apart = |&&ordinal: &&usize| self.is_free(ordinal) && self.is_suspected(ordinal);
        self.leasable() - self.attempts.keys().filter(is_set_apart).count() as u64
    }

    /// Clears the attempts of a task that was counted, or that a worker brought back.
    pub fn clear(&mut self, ordinal: usize) {
        self.attempts.remove(&ordinal);
        self.failed.remove(&ordinal);
    }

    fn clear_all(&mut self, coverage: &mut Coverage) {
        coverage.tried_again += self.failed.len() as u64;
        self.attempts.clear();
        self.failed.clear();
    }

    /// Checks the tasks of a new lease.
    fn check_lease(&self, lease: std::ops::Range<usize>, coverage: &mut Coverage) {
        let failed = lease.clone().find(|ordinal| self.failed.contains(ordinal));
        assert_eq!(failed, None, "a failed task is leased: {lease:?}");
        if !lease.clone().any(|ordinal| self.is_suspected(ordinal)) {
            return;
        }
        coverage.halvings += 1;
        assert_eq!(self.ordinary(), 0, "other tasks come before those that may kill: {lease:?}");
        let alike = |ordinal: &usize| {
            let same = self.attempts.get(ordinal) == self.attempts.get(&lease.start);
            same && self.is_free(*ordinal)
        };
        assert!(lease.clone().all(|ordinal| alike(&ordinal)), "leased with others: {lease:?}");
        let before = (0..lease.start).rev().take_while(alike).count();
        let block = before + (lease.start..self.claimed.len()).take_while(alike).count();
        assert!(lease.len() <= (block / 2).max(1), "{lease:?} of {block}");
    }
}

impl Model {
    /// Notes the end of a session that may have ended with its process.
    pub fn lost(&mut self, id: SessionId) {
        let Some(seat) = self.seats.get(&id) else { return };
        let held = if seat.draining { BTreeSet::new() } else { self.held(seat) };
        let suspected = held.iter().filter(|(job, task)| self.books[job].was_lost_twice(*task));
        let alone = suspected.count() == 1;
        self.left(id);
        self.lost_now = Some((held, alone));
    }

    /// Checks the attempts of the tasks of a crashed process. A machine that crashes very often
    /// adds none.
    pub fn note_loss(&mut self, effects: &[Effect], coverage: &mut Coverage) {
        let Some((held, alone)) = self.lost_now.take() else { return };
        let is_machine = |effect: &Effect| matches!(effect, Effect::Lost { processes: 33.., .. });
        if effects.iter().any(is_machine) {
            coverage.blamed_on_machines += 1;
            return;
        }
        for (job, ordinal) in held {
            let book = self.book(job);
            let times = book.attempts.entry(ordinal).or_default();
            *times += 1;
            let has_failed = alone && *times >= 3;
            // Another worker may have the task, too. It may also be failed meanwhile.
            if has_failed && book.is_free(ordinal) && !book.failed.contains(&ordinal) {
                coverage.failed += 1;
                book.failed.insert(ordinal);
                self.failed_now.push((job, ordinal as u64));
            }
        }
    }

    /// The tasks that a session counts for the first time. It may have one by two leases.
    fn held(&self, seat: &Seat) -> BTreeSet<(JobId, usize)> {
        let leases = seat.leases.iter().filter(|(_, held)| !held.whole);
        let held = leases.flat_map(|(&lease, held)| {
            let own = move |&o: &usize| self.books[&held.job].expects(o, lease);
            ordinals(held.hull).filter(own).map(|ordinal| (held.job, ordinal))
        });
        held.collect()
    }

    /// Whether a worker may be leased a task of a job.
    pub fn has_task_for(&self, seat: &Seat, book: &Book) -> bool {
        book.ordinary() > 0 || book.leasable() > 0 && !self.holds_suspected(seat)
    }

    /// Whether a session holds a task that was lost twice. The task may be failed meanwhile.
    fn holds_suspected(&self, seat: &Seat) -> bool {
        self.held(seat).iter().any(|(job, ordinal)| self.books[job].was_lost_twice(*ordinal))
    }

    /// Checks a lease before it is noted.
    pub fn check_attempts(
        &self,
        seat: &Seat,
        job: JobId,
        lease: std::ops::Range<usize>,
        coverage: &mut Coverage,
    ) {
        let book = &self.books[&job];
        let is_suspected = book.is_suspected(lease.start);
        assert!(!is_suspected || !self.holds_suspected(seat), "not alone: {lease:?}");
        book.check_lease(lease, coverage);
    }

    /// Checks which tasks a step calls failed.
    pub fn check_failures(&mut self, event: &Event, effects: &[Effect], coverage: &mut Coverage) {
        let said = effects.iter().filter_map(|effect| match effect {
            Effect::TaskFailed { job, ordinal } => Some((*job, *ordinal)),
            _ => None,
        });
        assert_eq!(said.collect::<Vec<_>>(), std::mem::take(&mut self.failed_now), "{event:?}");
        let is_resumed = |effect: &Effect| {
            let Effect::Ledger(_, command) = effect else { return false };
            let running = JobChange::State(JobState::Running);
            matches!(command, LedgerCommand::Change { change, .. } if *change == running)
        };
        if let Event::Asked(_, _, Request::Change(job, Change::Resume)) = event
            && effects.iter().any(is_resumed)
        {
            self.book(*job).clear_all(coverage);
        }
    }

    pub fn check_failed_tasks(&self, view: &JobView) {
        let failed = &self.books[&view.id].failed;
        assert_eq!(view.failed, failed.len() as u64, "permanently failed tasks of job {}", view.id);
        let named = failed.iter().take(JobView::FAILED_NAMED).map(|&ordinal| ordinal as u64);
        assert!(named.eq(view.failed_first.iter().copied()), "{view:?}");
    }
}
