//! The model's attempts: how often a process crashed with each task.

use std::collections::BTreeSet;

use farm::{Change, Effect, Event, JobId, JobState, JobView, LedgerCommand, Request, SessionId};

use crate::books::{Book, Process, Seat, ordinals};
use crate::coverage::Coverage;
use crate::model::Model;

impl Book {
    /// The number of tasks that may be leased.
    pub fn leasable(&self) -> u64 {
        self.free - self.failed.len() as u64
    }

    fn is_free(&self, ordinal: usize) -> bool {
        !self.claimed[ordinal] && self.holder[ordinal].is_none()
    }

    /// Clears the attempts of a task that was counted.
    pub fn clear(&mut self, ordinal: usize) {
        self.attempts.remove(&ordinal);
        self.failed.remove(&ordinal);
    }

    /// Takes back the attempts of a process that did not crash. A task has failed only as long as
    /// three processes crashed with it.
    pub fn came_back(&mut self, process: &Process, coverage: &mut Coverage) {
        for (ordinal, attempts) in &mut self.attempts {
            let before = attempts.len();
            attempts.retain(|crashed| crashed != process);
            if attempts.len() < before && attempts.len() < 3 {
                coverage.failures_lifted += u64::from(self.failed.remove(ordinal));
            }
        }
    }

    fn clear_all(&mut self, coverage: &mut Coverage) {
        coverage.tried_again += self.failed.len() as u64;
        self.attempts.clear();
        self.failed.clear();
    }

    /// Checks the tasks of a new lease.
    pub fn check_attempts(&self, lease: std::ops::Range<usize>) {
        let failed = lease.clone().find(|ordinal| self.failed.contains(ordinal));
        assert_eq!(failed, None, "a failed task is leased: {lease:?}");
    }

    /// Whether the job has tasks that may be leased.
    pub fn waits(&self) -> bool {
        self.state == JobState::Running && self.leasable() > 0
    }
}

impl Model {
    /// Notes the end of a session that may have ended with its process.
    pub fn lost(&mut self, id: SessionId) {
        let Some(seat) = self.seats.get(&id) else { return };
        let held = if seat.draining { BTreeSet::new() } else { self.held(seat) };
        let process = seat.process();
        self.left(id);
        self.lost_now = Some((process, held));
    }

    /// Checks the attempts of the tasks of a crashed process. A machine that crashes very often
    /// adds none.
    pub fn note_loss(&mut self, effects: &[Effect], coverage: &mut Coverage) {
        let Some((process, held)) = self.lost_now.take() else { return };
        let owner = &process.0;
        let is_machine = |effect: &Effect| match effect {
            Effect::Lost { processes, .. } => *processes > 12 && !processes.is_power_of_two(),
            _ => false,
        };
        if effects.iter().any(is_machine) {
            coverage.blamed_on_machines += 1;
            return;
        }
        // Every worker of a world knows every method.
        let counts = |seat: &Seat| seat.credit > 0 && !seat.late && !seat.draining;
        let is_other = |seat: &Seat| seat.provenance.principal.owner != *owner && counts(seat);
        let is_alone = !self.seats.values().any(is_other);
        for (job, ordinal) in held {
            let book = self.book(job);
            let crashed = book.attempts.entry(ordinal).or_default();
            crashed.push(process.clone());
            let is_of_two = crashed.iter().any(|(other, _)| other != owner);
            let has_failed = crashed.len() >= 3 && (is_of_two || is_alone);
            coverage.spared += u64::from(crashed.len() >= 3 && !has_failed);
            // Another worker may have the same task, or the task may have failed already.
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

    /// Checks which tasks a step calls failed.
    pub fn check_failures(&mut self, event: &Event, effects: &[Effect], coverage: &mut Coverage) {
        let said = effects.iter().filter_map(|effect| match effect {
            Effect::RangeFailed { job, range } => {
                Some(ordinals(*range).map(|ordinal| (*job, ordinal as u64)))
            }
            _ => None,
        });
        let said = said.flatten();
        assert_eq!(said.collect::<Vec<_>>(), std::mem::take(&mut self.failed_now), "{event:?}");
        let is_resumed = |effect: &Effect| {
            let Effect::Ledger(_, command) = effect else { return false };
            matches!(command, LedgerCommand::Change { change: Change::Resume, .. })
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
