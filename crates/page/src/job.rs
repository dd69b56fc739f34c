//! The page of one job.

use std::time::Duration;

use farm::{AuditPolicy, JobState, JobView, LostWorkers};
use maud::{Markup, html};

use crate::chart::chart;
use crate::frame::Reader;
use crate::jobs::{audits, done, owner, state};
use crate::map::map;
use crate::parts::{Page, Part};
use crate::snapshot::{JobSight, Snapshot};
use crate::text::{grouped, percent, short, size, time, utc};

/// The id of the part with which a job is changed.
const ACTIONS: &str = "actions";

/// One job. The part with which it is changed depends on the reader: see [`actions`].
pub fn job(sight: &JobSight, snapshot: &Snapshot) -> Page {
    let JobSight { view, map: plan, record, history } = sight;
    let top = html! {
        h1 { "Job " (view.id) @if let Some(key) = &view.origin.key { " " span.key { (key) } } }
        p.summary { (view.plan.to_string()) " · " (state(view)) " · " (done(view)) }
        @if let Some(held) = &view.held {
            p.refusal role="alert" { "It is held: " (held.reason) ". An audit counts what looks worst again." }
        }
        (facts(view, snapshot))
    };
    let counted = html! {
        h2 { "Counted over time" }
        @match history {
            Some((span, loads)) => (chart(*span, loads)),
            None => p.empty { "Nothing of it was counted yet." },
        }
    };
    let plan = html! {
        h2 { "Plan" }
        p.hint { (grouped(view.plan.tasks)) " tasks in the order of their ordinals, row by row. A cell says \
                  which they are, and who holds or has counted them." }
        (map(plan, record.as_deref()))
    };
    let log = html! {
        @if let Some(record) = record && !record.log.is_empty() {
            h2 { "Log" }
            ol.log { @for entry in &record.log { li { time { (utc(entry.unix_ms)) } " " (entry.text) } } }
            p.hint { "Times are UTC, from the ledger." }
        }
    };
    let parts = vec![
        Part::new("facts", &top),
        Part::new(ACTIONS, &html! {}),
        Part::new("map", &plan),
        Part::new("history", &counted),
        Part::new("log", &log),
    ];
    Page { title: format!("Job {}", view.id), live: format!("/jobs/{}/live", view.id), parts }
}

fn facts(job: &JobView, snapshot: &Snapshot) -> Markup {
    let rate = snapshot.rates.get(&job.id).copied();
    html! {
        dl.facts {
            (fact("Tasks counted", &format!("{} of {}", grouped(job.tasks_done), grouped(job.tasks()))))
            (fact(if job.state == JobState::Done { "Total" } else { "Sum so far" }, &grouped(job.total)))
            @if let Some(guess) = guess(job) { (fact("Guess of the total", &guess)) }
            (fact("Tasks per second", &rate.map_or("–".into(), short)))
            (fact("Time left", &job.seconds_left().map_or("–".into(), |left| time(Duration::from_secs_f64(left)))))
            (fact("Workers", &format!("{} of {} able, {} threads", job.workers, job.able_workers, job.threads)))
            @if job.thread_memory > 0 {
                (fact("Memory", &format!("at least {} a thread", size(job.thread_memory))))
            }
            (fact("Owner", owner(job)))
            (fact("Priority", &job.priority.to_string()))
            (fact("Audits", &audit_fact(job)))
            (fact("Disputed ranges", &job.disputes.to_string()))
            (fact("Poisoned tasks", &poison_fact(job)))
            @if !job.lost.is_empty() { (fact("Lost workers", &lost_fact(job))) }
        }
    }
}

fn fact(name: &str, value: &str) -> Markup {
    html! { div { dt { (name) } dd { (value) } } }
}

/// What the total would be if the rest counted like what is done. Tasks are lent from all over the plan, so that what
/// is done is a fair sample of it, though not one whose error is known.
fn guess(job: &JobView) -> Option<String> {
    let (done, all) = (job.tasks_done, job.tasks());
    let is_some =
        job.state != JobState::Done && done > 0 && done < all && done.saturating_mul(100) >= all;
    is_some.then(|| {
        let total = job.total as f64 * all as f64 / done as f64;
        format!("about {total:.2e}, if the rest is like the {} that is counted", percent(done, all))
    })
}

fn audit_fact(job: &JobView) -> String {
    match job.audit {
        None => audits(job),
        Some(policy) => {
            let share = 100.0 * f64::from(policy.share_ppm) / f64::from(AuditPolicy::ALL);
            let done = audits(job);
            format!("{share}% of the ranges, across {}: {done} done", policy.across.name())
        }
    }
}

fn poison_fact(job: &JobView) -> String {
    let named: Vec<String> = job.poisoned_first.iter().map(grouped).collect();
    match job.poisoned {
        0 => "0".into(),
        all => format!(
            "{}: {}{}",
            grouped(all),
            named.join(", "),
            if all > named.len() as u64 { ", …" } else { "" }
        ),
    }
}

/// The part of [`job`] with which `reader` changes the job, if they may.
pub fn actions(job: &JobView, reader: &Reader) -> Part {
    Part::new(ACTIONS, &html! { @if reader.may_change(job) { (buttons(job)) } })
}

fn lost_fact(job: &JobView) -> String {
    let of = |lost: &LostWorkers| {
        let s = if lost.processes == 1 { "" } else { "es" };
        format!("{} process{s} of {} on {}", lost.processes, lost.maker.owner, lost.maker.machine)
    };
    job.lost.iter().map(of).collect::<Vec<_>>().join(", ")
}

/// What can be done with a job in its state.
fn buttons(job: &JobView) -> Markup {
    let button = |action: &str, text: &str| {
        html! {
            form method="post" action=(format!("/jobs/{}/{action}", job.id)) {
                button class=(action) { (text) }
            }
        }
    };
    html! {
        div.actions role="group" aria-label="What you can do with this job" {
            @if job.state == JobState::Running { (button("pause", "Pause")) }
            @if job.state == JobState::Paused { (button("resume", "Resume")) }
            @if job.state == JobState::Running && job.poisoned > 0 {
                (button("resume", "Try the poisoned tasks again"))
            }
            @if !job.state.is_over() {
                details.confirm {
                    summary { "Cancel…" }
                    p { "A cancelled job never has a total. This cannot be undone." }
                    (button("cancel", "Cancel the job"))
                }
            }
        }
    }
}
