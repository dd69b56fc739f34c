//! What a job waits for, in words for people.

use std::cmp::Reverse;

use super::Farm;
use crate::job::Job;
use crate::{AuditScope, JobId, JobState, JobView};

impl Farm {
    /// What a job waits for, if it is more than its turn: see [`JobView::waits_for`]. A job of
    /// which workers hold ranges waits for nothing but second counts that none of the workers may
    /// give.
    pub(super) fn waits_for(&self, view: &JobView) -> Option<String> {
        let id = view.id;
        if view.state == JobState::Paused {
            return Some(format!("`queens resume {id}`: it is paused"));
        }
        let is_running = view.state == JobState::Running;
        if !is_running && (view.state != JobState::Done || view.audits_wanted == 0) {
            return None;
        }
        let is_idle = view.workers == 0;
        match view.able_workers {
            0 if is_idle => Some("a worker: none is connected".into()),
            _ if view.audits_stranded > Some(0) => Some(second_counts(view)),
            _ if !is_running || !is_idle => None,
            _ if view.tasks_done == view.tasks() && view.disputes > 0 => {
                let s = if view.disputes == 1 { "" } else { "s" };
                Some(format!("another machine or owner to count {} range{s} again", view.disputes))
            }
            _ if view.failed > 0 && view.tasks_done + view.failed == view.tasks() => {
                Some(format!("`queens resume {id}`: workers were lost with what is left of it"))
            }
            _ => None,
        }
    }

    /// The first of the jobs that workers count and that are served before this one.
    pub(super) fn served_before(&self, view: &JobView) -> Option<String> {
        let spec = &view.spec;
        let is_of_owner = |job: &Job| job.spec.origin.owner == spec.origin.owner;
        let is_before = |(id, job): &(JobId, &Job)| {
            let is_equal =
                job.spec.priority == spec.priority && (*id < view.id || !is_of_owner(job));
            job.stage.state() == JobState::Running
                && (job.spec.priority > spec.priority || is_equal)
        };
        let leased = self.leases.jobs().map(|id| (id, &self.jobs[&id]));
        let place = |(id, job): &(JobId, &Job)| (Reverse(job.spec.priority), *id);
        let (first, job) = leased.filter(is_before).min_by_key(place)?;
        Some(match job.spec.priority == spec.priority && !is_of_owner(job) {
            true => format!("its owner's turn: workers count job {first} of another"),
            false => format!("job {first}, which is served first"),
        })
    }
}

/// Who is missing for a job's second counts, and what else can be done.
fn second_counts(view: &JobView) -> String {
    let ranges = view.audits_stranded.unwrap_or(0);
    let s = if ranges == 1 { "" } else { "s" };
    let withdraw = format!("`queens audit {} --withdraw` does without", view.id);
    match view.audit.map(|audit| audit.across).unwrap_or_default() {
        AuditScope::Machines => format!(
            "a worker on another machine to count {ranges} range{s} again: none is connected, and no machine checks \
             itself; {withdraw}"
        ),
        AuditScope::Owners => format!(
            "a worker of another owner to count {ranges} range{s} again: none is connected, and no owner checks \
             itself; `queens token create --role worker --owner NAME` lets one in, and {withdraw}"
        ),
    }
}
