//! What a job waits for, in words for people.

use std::cmp::Reverse;

use super::Farm;
use super::owners::SHARE;
use crate::job::Job;
use crate::session::Session;
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
            0 if is_idle && self.sessions.values().any(|session| !session.seen.draining) => {
                let method = view.spec.plan.method.name();
                Some(format!("a worker that counts by {method}: those that are connected do not"))
            }
            0 if is_idle && !self.sessions.is_empty() => Some(
                "a worker: those that are connected take nothing more; `queens worker` starts one"
                    .into(),
            ),
            0 if is_idle => Some("a worker: none is connected; `queens worker` starts one".into()),
            _ if view.audits_stranded > Some(0) => Some(self.second_counts(view)),
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

    /// Who is missing for a job's second counts, and what else can be done.
    fn second_counts(&self, view: &JobView) -> String {
        let ranges = view.audits_stranded.unwrap_or(0);
        let s = if ranges == 1 { "" } else { "s" };
        let method = view.spec.plan.method.name();
        let job = &self.jobs[&view.id];
        let audits = &job.audits;
        let stranded = audits.stranded(self.able(job), job.across()).unwrap_or_default();
        let doubters: Vec<&str> = stranded.into_keys().flatten().collect();
        let but = match doubters.is_empty() {
            true => String::new(),
            false => format!(", and not of {}, whose late counts differ,", doubters.join(" or ")),
        };
        let suspect = self.distrusted().find(|party| audits.has_any_of(&party.owner));
        let suspect = suspect.map_or(String::new(), |party| {
            format!(
                "; all that {} counts is counted again while {party} is distrusted, which `queens trust {party} \
                 --reason WHY` ends for later counts",
                party.owner
            )
        });
        let withdraw = format!("{suspect}; `queens audit {} --withdraw` does without", view.id);
        match view.audit.map(|audit| audit.across).unwrap_or_default() {
            AuditScope::Machines => format!(
                "a worker on another machine{but} to count {ranges} range{s} again: none that counts by {method} is \
                 connected, and no machine checks itself{withdraw}"
            ),
            AuditScope::Owners => format!(
                "a worker of another owner{but} to count {ranges} range{s} again: none that counts by {method} is \
                 connected, and no owner checks itself; `queens token create --role worker --owner NAME` lets one in{withdraw}"
            ),
        }
    }

    /// The first of the jobs that workers count and that are served before this one, why, and when
    /// this one is expected to start.
    pub(super) fn served_before(&self, view: &JobView) -> Option<String> {
        let (id, spec, own) = (view.id, &view.spec, self.jobs.get(&view.id)?);
        let rank = |id: JobId, job: &Job| (job.work_left(), id);
        let is_of_owner = |job: &Job| job.spec.origin.owner == spec.origin.owner;
        let is_before = |(other, job): &(JobId, &Job)| {
            let is_less = rank(*other, job) < rank(id, own);
            let is_equal = job.spec.priority == spec.priority && (is_less || !is_of_owner(job));
            job.stage.state() == JobState::Running
                && (job.spec.priority > spec.priority || is_equal)
        };
        let leased = self.leases.jobs().map(|id| (id, &self.jobs[&id]));
        let place = |(id, job): &(JobId, &Job)| (Reverse(job.spec.priority), *id);
        let (first, job) = leased.filter(is_before).min_by_key(place)?;
        let why = match job.spec.priority > spec.priority {
            true => "its priority is higher",
            false if !is_of_owner(job) => {
                return Some(format!("its owner's turn: workers count job {first} of another"));
            }
            false if job.work_left() < own.work_left() => "less of it is left",
            false => "it was submitted earlier",
        };
        let starts = self.us_until(id, own).map(|us| format!(" (starts in about {})", about(us)));
        Some(format!("job {first}, which is served first as {why}{}", starts.unwrap_or_default()))
    }

    /// How long all workers need for the jobs that are served before this one, microseconds. `None`
    /// if owners take turns, if there are many such jobs, and if the time of one is not known.
    fn us_until(&self, id: JobId, job: &Job) -> Option<u64> {
        const MOST: usize = 8;
        let before = self.queue.before(job.spec.priority, &job.spec.origin.owner, id)?;
        let before = before.map(|id| &self.jobs[&id]).filter(|job| job.stage.is_running());
        let before: Vec<&Job> = before.take(MOST + 1).collect();
        if before.len() > MOST {
            return None;
        }
        let us_left = |job: &Job| {
            let able = |session: &Session| session.may_count(job.spec.plan.method);
            let able = self.sessions.iter().filter(|(_, session)| able(session));
            let able: Vec<_> = able.map(|(&id, session)| (id, session.threads())).collect();
            job.us_left(&able)
        };
        let us: Option<u64> = before.into_iter().map(us_left).sum();
        // Some of the leases meanwhile are of this job.
        us.map(|us| us.saturating_add(us / (SHARE as u64 - 1)))
    }
}

/// A time for people, in its largest unit.
fn about(us: u64) -> String {
    let seconds = us.div_ceil(1_000_000);
    match seconds {
        0..90 => format!("{} s", seconds.max(1)),
        90..5_400 => format!("{} min", seconds.div_ceil(60)),
        5_400..172_800 => format!("{} h", seconds.div_ceil(3_600)),
        _ => format!("{} days", seconds.div_ceil(86_400)),
    }
}
