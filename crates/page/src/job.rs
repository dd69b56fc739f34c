//! The page of one job.

#![cfg_attr(not(test), warn(clippy::arithmetic_side_effects))]

use std::time::Duration;

use farm::{AuditPolicy, Fact, JobId, JobState, JobView};
use maud::{Markup, html};

use crate::address::of_owner;
use crate::chart::chart;
use crate::frame::{self, Reader};
use crate::jobs::{audits, done, owner, state};
use crate::map::map;
use crate::parts::{Page, Part, fact, stats};
use crate::problem::{meaning, picture};
use crate::snapshot::{JobDetail, Snapshot};
use crate::text::{
    ago, end, grouped, moment, nonzero, of_threads, or_dash, plural, rate, sentence, time,
};

/// The id of the part with which a job is changed.
const ACTIONS: &str = "actions";
/// The id of the part that says how to check a job.
const EVIDENCE: &str = "evidence";

/// One job. The parts with which it is changed and checked depend on the reader: see [`actions`]
/// and [`evidence`].
pub fn job(detail: &JobDetail, snapshot: &Snapshot) -> Page {
    let JobDetail { view, map: plan, record, history, placement } = detail;
    let title = title(view);
    let top = html! {
        h1 data-title=(title) {
            "Job " (view.id)
            span.sub {
                @if let Some(key) = &view.spec.origin.key { " " span.key { (key) } " ·" }
                " " (view.spec.plan.to_string())
            }
            " " (state(view))
        }
        p.hint { (meaning(view)) }
        @for remark in view.remarks() {
            p.refusal role="alert" { (sentence(&format!("It {remark}."))) }
        }
        @if let Some(total) = view.total { (result(view, total)) }
        div.progress { (done(view)) }
        (numbers(view, snapshot))
        (facts(view, snapshot))
    };
    let counted = html! {
        h2 { "Speed" }
        @let end = if view.state.is_over() { "its end" } else { "now" };
        (chart(history.as_ref(), snapshot.unix_ms, end, "Too little of it was counted since the coordinator was started, or in too short a time."))
    };
    let map = html! {
        p.hint { (grouped(view.spec.plan.tasks)) " tasks in the order of their ordinals, row by row." }
        @if record.as_ref().is_some_and(|record| !record.is_whole) {
            p.hint { "The ledger has so many rows of this job that only the first of them were read to say who counted \
                      what, and what was counted twice." }
        }
        (map(plan, record.as_deref()))
    };
    let plan = html! {
        @if let Some(columns) = placement && !columns.is_empty() { (picture(&view.spec.plan.problem, columns)) }
        @if view.state.is_over() {
            details { summary { "Map of the plan" } (map) }
        } @else {
            h2 { "Plan" }
            (map)
        }
    };
    let log = html! {
        @if let Some(record) = record && !record.log.is_empty() {
            h2 { "Log" }
            ol.log { @for entry in &record.log { li { (moment(snapshot.unix_ms, entry.at_ms)) " " (entry.text) } } }
        }
    };
    let parts = vec![
        Part::new("facts", &top),
        Part::new(ACTIONS, &html! {}),
        Part::new("map", &plan),
        Part::new("history", &counted),
        Part::new(EVIDENCE, &html! {}),
        Part::new("log", &log),
    ];
    let live = format!("jobs/{}/live", view.id);
    Page { title, root: "../", live, parts }
}

/// What a browser's tab says: how far the job is, or its state.
fn title(job: &JobView) -> String {
    let how = match job.state_name() {
        "running" => format!("{:.0}%", job.percent().floor()),
        state => state.into(),
    };
    format!("{how} · Job {}", job.id)
}

/// The part of [`job`] by which `reader` checks the job. It is empty if the job is not done.
pub fn evidence(job: &JobView, reader: &Reader) -> Part {
    let id = job.id;
    let html = html! {
        @if job.state == JobState::Done {
            h2 { "Check it yourself" }
            p.hint { "The evidence says who counted what. " code { "queens verify" } " counts a random sample of it again." }
            p { a.button href=(format!("{id}/bundle")) { "Download the evidence" } }
            p.hint { "A terminal can fetch it, too:" }
            pre {
                "queens export " (id) " job-" (id) ".bundle.gz " (reader.coordinator) "\n\
                 queens verify job-" (id) ".bundle.gz"
            }
        }
    };
    Part::new(EVIDENCE, &html)
}

/// The total, large, and the reasons to trust it.
fn result(job: &JobView, total: u128) -> Markup {
    let facts = Fact::of(job.spec.plan.problem).into_iter();
    let facts = facts.filter(|fact| job.spec.shard.is_all() && fact.allows(job.counted));
    html! {
        div.result {
            div.value { (grouped(total)) }
            p {
                @if total != job.counted { (grouped(job.counted)) " before symmetry. " }
                @for fact in facts {
                    @match fact {
                        Fact::Published { source, .. } => { "As published (" (source) "). " },
                        Fact::Orbits { .. } | Fact::Multiple { .. } => "It fits the symmetries of the board. ",
                    }
                }
                @if job.audits_agreed > 0 {
                    (plural(job.audits_agreed, "range")) " counted twice, all alike."
                }
            }
        }
    }
}

fn numbers(job: &JobView, snapshot: &Snapshot) -> Markup {
    let speed = (
        "Placements/s",
        rate(job.rate.placements_per_second),
        html! { @if job.rate.tasks_per_second > 0.0 { (rate(job.rate.tasks_per_second)) " tasks/s" } },
    );
    let (submitted, begun) = (job.times.submitted_at_ms, job.times.begun_at_ms);
    let waited = submitted.zip(begun).map_or(0, |(submitted, begun)| {
        u64::try_from(begun.saturating_sub(submitted)).unwrap_or(0)
    });
    let waited = html! {
        @if waited > 0 { "after it had waited " (time(Duration::from_millis(waited))) }
    };
    let took = match job.times.counting() {
        Some(took) => ("Took", time(took), waited),
        None if job.state.is_over() => ("Took", "–".into(), html! { "nothing of it was counted" }),
        None => match job.seconds_left() {
            Some(left) => (
                "Time left",
                time(Duration::from_secs_f64(left)),
                html! { "it ends at " (end(snapshot.unix_ms, left)) },
            ),
            None => ("Time left", "–".into(), html! { "not known" }),
        },
    };
    let when = match job.times.ended_at_ms {
        Some(at) => ("Ended", ago(snapshot.unix_ms, at), moment(snapshot.unix_ms, at)),
        None => {
            let threads = if job.threads == 1 { "thread used" } else { "threads used" };
            let able = nonzero([(job.able_workers as u64, "able"), (job.threads.into(), threads)]);
            ("Workers", or_dash(job.workers as u64), html! { (able) })
        }
    };
    let twice = ("Counted twice", audits(job), html! { (audit(job)) });
    stats([speed, took, when, twice])
}

fn audit(job: &JobView) -> String {
    job.audit.map_or("no range was chosen".into(), |policy| {
        let percent = 100.0 * f64::from(policy.share_ppm) / f64::from(AuditPolicy::ALL);
        format!("{percent}% of the ranges, across {}", policy.across.name())
    })
}

fn facts(job: &JobView, snapshot: &Snapshot) -> Markup {
    let is_orbits = job.spec.plan.problem.counts_orbits();
    let sum = if is_orbits { "Sum before symmetry" } else { "Sum of the counts" };
    html! {
        dl.facts {
            @if job.total.is_none() { (fact(sum, grouped(job.counted))) }
            @let page = format!("../{}", of_owner(&job.spec.origin.owner));
            div { dt { "Owner" } dd { a href=(page) { (owner(job)) } } }
            (fact("Processor time", of_threads(job.hours.processor_us)))
            @if job.hours.gpu_us > 0 { (fact("GPU time", of_threads(job.hours.gpu_us))) }
            (fact("Priority", job.spec.priority))
            @if let Some(at) = job.times.submitted_at_ms { (fact("Submitted", moment(snapshot.unix_ms, at))) }
        }
    }
}

/// The part of [`job`] with which `reader` changes the job. It is empty if they may not.
pub fn actions(job: &JobView, reader: &Reader) -> Part {
    Part::new(ACTIONS, &html! { @if reader.may_change(job) { (buttons(job)) } })
}

fn buttons(job: &JobView) -> Markup {
    let button = |action: &str, text: &str| {
        html! {
            form method="post" action=(format!("{}/{action}", job.id)) {
                button class=(action) { (text) }
            }
        }
    };
    html! {
        div.actions role="group" aria-label="What you can do with this job" {
            @if job.state == JobState::Running { (button("pause", "Pause")) }
            @if job.state == JobState::Paused { (button("resume", "Resume")) }
            @if job.state == JobState::Running && job.failed > 0 {
                (button("resume", "Try the failed tasks again"))
            }
            @let is_audited = job.state != JobState::Cancelled && job.audits_wanted > 0;
            @if is_audited { (button("withdraw", "Withdraw the audit")) }
            @if is_audited || !job.state.is_over() {
                details.confirm {
                    summary { "Priority…" }
                    (priority_form(&format!("{}/priority", job.id), &job.spec.priority.to_string()))
                }
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

fn priority_form(action: &str, value: &str) -> Markup {
    html! {
        form method="post" action=(action) {
            label {
                "Jobs of higher priority are served first "
                input type="number" name="priority" required value=(value);
            }
            button { "Change" }
        }
    }
}

/// The page on which a change of a job's priority was refused: it says why, and keeps what was
/// typed.
pub fn refused_priority(reader: &Reader, job: JobId, refusal: &str, typed: &str) -> Markup {
    let body = html! {
        h1 { "Priority of job " (job) }
        p.refusal role="alert" { (sentence(refusal)) "." }
        (priority_form("priority", typed))
        p { a href=(format!("../{job}")) { "Back to the job" } }
    };
    frame::page("Priority", "../../", None, reader, &body)
}
