//! The tasks of loans, enumerated at the pace at which somebody takes them: by the coordinator's end
//! of a session.

use std::collections::VecDeque;
use std::sync::Arc;

use board::{Cut, Tasks};
use farm::{LeaseId, Loan, TasksBlock};
use wire::MAX_TASKS_PER_MESSAGE;

/// Loans whose tasks are still to come, in the order in which they were lent.
#[derive(Debug, Default)]
pub(crate) struct Lent(VecDeque<Coming>);

/// A loan whose tasks from the ordinal `next` on are still to come.
#[derive(Debug)]
struct Coming {
    loan: Loan,
    next: u64,
    cut: Arc<Cut>,
}

impl Lent {
    /// All tasks of `loan`, whose plan is cut so, are to come.
    pub(crate) fn push(&mut self, loan: Loan, cut: Arc<Cut>) {
        self.0.push_back(Coming { loan, next: loan.range.start(), cut });
    }

    /// No more tasks of this lease are to come.
    pub(crate) fn revoke(&mut self, lease: LeaseId) {
        self.0.retain(|coming| coming.loan.lease != lease);
    }

    /// The next tasks: as many as one message has, or the rest of a loan. `None` if no tasks are to come.
    pub(crate) fn next_block(&mut self) -> Option<TasksBlock> {
        let Coming { loan: Loan { lease, range, .. }, next, cut } = self.0.front_mut()?;
        let (lease, start) = (*lease, *next);
        let end = range.end().min(start + MAX_TASKS_PER_MESSAGE as u64);
        let mut tasks = Tasks::with_capacity((end - start) as usize);
        cut.fill(start..end, &mut tasks).expect("a loan is a range of its plan");
        *next = end;
        if end == range.end() {
            self.0.pop_front();
        }
        Some(TasksBlock { lease, start, tasks })
    }
}
