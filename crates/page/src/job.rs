//! The page of one job.

use std::time::Duration;

use farm::{AuditPolicy, Fact, JobState, JobView, LostWorkers};
use maud::{Markup, html};

use crate::chart::{chart, moved};
use crate::estimate::Estimate;
use crate::frame::Reader;
use crate::jobs::{audits, done, owner, state};
use crate::map::map;
use crate::parts::{Page, Part};
use crate::snapshot::{JobSight, Snapshot};
use crate::text::{grouped, short, size, time, utc};

/// The id of the part with which a job is changed.
const ACTIONS: &str = "actions";

/// One job. The part with which it is changed depends on the reader: see [`actions`].
pub fn job(sight: &JobSight, snapshot: &Snapshot) -> Page {
    let JobSight { view, map: plan, record, history } = sight;
    let estimates = record.as_ref().map_or(&[][..], |record| &record.estimates);
    let top = html! {
        h1 { "Job " (view.id) @if let Some(key) = &view.spec.origin.key { " " span.key { (key) } } }
        p.summary { (view.spec.plan.to_string()) " · " (state(view)) " · " (done(view)) }
        @if let Some(held) = &view.held {
            p.refusal role="alert" { "It is held: " (held) ". An audit has it counted again." }
        }
        @if let Some(disputed) = &view.disputed {
            p.refusal role="alert" { "It is disputed: " (disputed) "." }
        }
        (facts(view, estimates, snapshot))
    };
    let counted = html! {
        h2 { "Counted over time" }
        @match history {
            Some((span, loads)) => (chart(*span, loads)),
            None => p.empty { "Nothing of it was counted yet." },
        }
        @if estimates.len() > 1 {
            h2 { "Estimate of the total over time" }
            (moved(estimates))
        }
    };
    let plan = html! {
        h2 { "Plan" }
        p.hint { (grouped(view.spec.plan.tasks)) " tasks in the order of their ordinals, row by row. A cell says \
                  which they are, and who holds or has counted them." }
        @if record.as_ref().is_some_and(|record| !record.is_whole) {
            p.hint { "The ledger has so many rows of this job that only the first of them were read to say who counted \
                      what, and what was counted twice." }
        }
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

fn facts(job: &JobView, estimates: &[Estimate], snapshot: &Snapshot) -> Markup {
    let rate = snapshot.rates.get(&job.id).copied();
    html! {
        dl.facts {
            (fact("Tasks counted", &format!("{} of {}", grouped(job.tasks_done), grouped(job.tasks()))))
            @if let Some(total) = job.total { (fact("Total", &grouped(total))) }
            @if job.total != Some(job.counted) { (fact(&counted(job), &grouped(job.counted))) }
            @if let Some(estimate) = estimates.last().filter(|it| it.error > 0.0) {
                (fact("Estimate of the total", &estimated(estimate)))
            }
            @if let Some(symmetry) = symmetry(job) { (fact("Symmetry", &symmetry)) }
            (fact("Tasks per second", &rate.map_or("–".into(), short)))
            (fact("Time left", &job.seconds_left().map_or("–".into(), |left| time(Duration::from_secs_f64(left)))))
            (fact("Workers", &format!("{} of {} able, {} threads", job.workers, job.able_workers, job.threads)))
            @if job.thread_memory > 0 {
                (fact("Memory", &format!("at least {} a thread", size(job.thread_memory))))
            }
            (fact("Owner", owner(job)))
            (fact("Priority", &job.spec.priority.to_string()))
            (fact("Audits", &audit_fact(job)))
            (fact("Disputed ranges", &job.disputes.to_string()))
            (fact("Poisoned tasks", &poison_fact(job)))
            @if !job.lost.is_empty() { (fact("Lost workers", &lost_fact(job))) }
        }
    }
}

/// What the sum of the counts is called.
fn counted(job: &JobView) -> String {
    let is_covered = job.tasks_done == job.tasks();
    let symmetry = if job.spec.plan.problem.counts_orbits() { " before symmetry" } else { "" };
    format!("Sum{}{symmetry}", if is_covered { "" } else { " so far" })
}

fn fact(name: &str, value: &str) -> Markup {
    html! { div { dt { (name) } dd { (value) } } }
}

/// An estimate with its bar, to as many digits as it is worth. The bar is that of a fair sample, and a farm counts a plan
/// in order.
fn estimated(estimate: &Estimate) -> String {
    let Estimate { value, error, .. } = *estimate;
    let digits = (value / error).log10().ceil().clamp(0.0, 12.0) as usize + 1;
    format!("{value:.digits$e} ± {:.2}%, if a fair sample is counted", 100.0 * error / value)
}

/// What the symmetries of the board say of the total, and of the sum so far.
fn symmetry(job: &JobView) -> Option<String> {
    let is_symmetry = |fact: &Fact| !matches!(fact, Fact::Published { .. });
    let fact = known::facts(job.spec.plan.problem).into_iter().find(is_symmetry)?;
    let said = match (job.state, &fact) {
        _ if !job.spec.slice.is_all() => return None,
        (JobState::Done | JobState::Held, fact) if fact.allows(job.counted) => {
            "; the total fits".into()
        }
        (JobState::Done | JobState::Held, _) => "; the total does not fit".into(),
        (_, Fact::Multiple { of }) => {
            format!("; the sum so far leaves {}", job.counted % u128::from(*of))
        }
        _ => String::new(),
    };
    Some(format!("{fact}{said}"))
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
                    summary { "Priority…" }
                    form method="post" action=(format!("/jobs/{}/priority", job.id)) {
                        label {
                            "Jobs of higher priority are served first "
                            input type="number" name="priority" required value=(job.spec.priority);
                        }
                        button { "Change" }
                    }
                }
                details.confirm {
                    summary { "Cancel…" }
                    p { "A cancelled job never has a total. This cannot be undone." }
                    (button("cancel", "Cancel the job"))
                }
            }
        }
    }
}
