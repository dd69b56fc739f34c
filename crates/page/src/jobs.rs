//! The page of all jobs.

use std::time::Duration;

use farm::{Farm, JobId, JobState, JobView, Problem, Survey};
use maud::{Markup, html};

use crate::frame::Reader;
use crate::parts::{Page, Part};
use crate::snapshot::Snapshot;
use crate::text::{grouped, percent, short, size, time};

/// The id of the part with which jobs are submitted.
const SUBMISSION: &str = "submission";

/// Jobs that have ended, all of them before one.
#[derive(Clone, Debug, PartialEq)]
pub struct EndedBefore {
    /// The job before which they are.
    pub before: JobId,
    /// The latest of them, the latest first.
    pub jobs: Vec<JobView>,
}

/// All jobs that have not ended, and the latest that have, or others that have. The part with which
/// jobs are submitted depends on the reader: see [`submission`].
pub fn jobs(snapshot: &Snapshot, earlier: Option<&EndedBefore>) -> Page {
    let Survey { live, ended, ended_in_all, workers, .. } = &snapshot.survey;
    let ended = earlier.map_or(ended, |earlier| &earlier.jobs);
    let oldest = ended.last().filter(|_| ended.len() == Farm::ENDED_SHOWN);
    let threads: u64 = workers.iter().map(|worker| u64::from(worker.view.threads)).sum();
    let rate: f64 = snapshot.rates.values().sum();
    let top = html! {
        h1 { "Jobs" }
        p.summary {
            strong { (grouped(live.len())) } " not ended · "
            strong { (grouped(workers.len())) } " workers with "
            strong { (grouped(threads)) } " threads · "
            strong { (short(rate)) } " tasks/s"
        }
    };
    let unfinished = html! {
        @if live.is_empty() {
            p.empty { "No job is waiting or running." }
        } @else {
            (table("Jobs that have not ended", live.iter(), snapshot))
        }
    };
    let ended = html! {
        @if *ended_in_all > 0 {
            details open[earlier.is_some()] {
                summary { (grouped(*ended_in_all)) " ended" }
                @if let Some(EndedBefore { before, .. }) = earlier {
                    p.hint { "Those before job " (before) ". " a href="/" { "Latest" } }
                }
                (table("Jobs that have ended", ended.iter(), snapshot))
                @if let Some(job) = oldest {
                    p { a href=(format!("/?before={}", job.id)) { "Earlier ones" } }
                }
            }
        }
    };
    let parts = vec![
        Part::new("summary", &top),
        Part::new("jobs", &unfinished),
        Part::new(SUBMISSION, &html! {}),
        Part::new("ended", &ended),
    ];
    let live = earlier.map_or("/live".into(), |earlier| format!("/live?before={}", earlier.before));
    Page { title: "Jobs".into(), live, parts }
}

fn table<'a>(
    caption: &str,
    jobs: impl Iterator<Item = &'a JobView>,
    snapshot: &Snapshot,
) -> Markup {
    html! {
        table.cards {
            caption.quiet { (caption) }
            thead { tr {
                th scope="col" { "Job" } th scope="col" { "Counts" } th scope="col" { "Owner" }
                th.n scope="col" { "Priority" } th scope="col" { "State" } th scope="col" { "Done" }
                th.n scope="col" { "Tasks/s" } th.n scope="col" { "Time left" }
                th.n scope="col" { "Workers" } th.n scope="col" { "Audits" }
                th.n scope="col" { "Disputed" } th.n scope="col" { "Poisoned" }
            } }
            tbody { @for job in jobs { (row(job, snapshot)) } }
        }
    }
}

fn row(job: &JobView, snapshot: &Snapshot) -> Markup {
    let rate = snapshot.rates.get(&job.id);
    html! {
        tr {
            th scope="row" {
                a href=(format!("/jobs/{}", job.id)) { (job.id) }
                @if let Some(key) = &job.spec.origin.key { " " span.key { (key) } }
            }
            td data-label="Counts" { (job.spec.plan.to_string()) }
            td data-label="Owner" { (owner(job)) }
            td.n data-label="Priority" { (job.spec.priority) }
            td data-label="State" { (state(job)) }
            td data-label="Done" { (done(job)) }
            td.n data-label="Tasks/s" { @match rate { Some(&rate) => { (short(rate)) }, None => { "–" } } }
            td.n data-label="Time left" {
                @match job.seconds_left() { Some(left) => { (time(Duration::from_secs_f64(left))) }, None => { "–" } }
            }
            td.n data-label="Workers" { (job.workers) }
            td.n data-label="Audits" { (audits(job)) }
            td.n.bad[job.disputes > 0] data-label="Disputed" { (job.disputes) }
            td.n.bad[job.poisoned > 0] data-label="Poisoned" { (grouped(job.poisoned)) }
        }
    }
}

/// Who submitted a job. Nobody has submitted the job of ledgers that were merged.
pub(crate) fn owner(job: &JobView) -> &str {
    if job.spec.origin.owner.is_empty() { "unknown" } else { &job.spec.origin.owner }
}

/// How much of a job is counted, as a bar and as a number.
pub(crate) fn done(job: &JobView) -> Markup {
    let (done, all) = (job.tasks_done, job.tasks());
    html! {
        span.done {
            progress max=(all.max(1)) value=(done) aria-hidden="true" {}
            " " span { (percent(done, all)) }
        }
    }
}

/// Ranges that were counted twice alike, and how many still wait for that.
pub(crate) fn audits(job: &JobView) -> String {
    match (job.audits_agreed, job.audits_wanted) {
        (0, 0) => "–".into(),
        (agreed, 0) => grouped(agreed),
        (agreed, wanted) => format!("{} of {}", grouped(agreed), grouped(agreed + wanted)),
    }
}

/// The state of a job, and what it waits for if that can be told.
pub(crate) fn state(job: &JobView) -> Markup {
    let name = job.state.name();
    html! {
        span class=(format!("state {name}")) { (name) }
        @if let Some(wait) = waits(job) { " " small { (wait) } }
    }
}

fn waits(job: &JobView) -> Option<String> {
    let idle = job.state == JobState::Running && job.workers == 0;
    match (job.able_workers, job.thread_memory) {
        _ if job.audits_stranded > Some(0) => Some(
            "waits for a worker of another machine or owner to count again, and none is connected"
                .into(),
        ),
        _ if job.state == JobState::Done && job.audits_wanted > 0 => {
            let s = if job.audits_wanted == 1 { "" } else { "s" };
            Some(format!("{} range{s} to be counted again", grouped(job.audits_wanted)))
        }
        _ if !idle => None,
        (0, 0) => Some("waits for a worker".into()),
        (0, needed) => Some(format!("waits for a worker with {} of memory", size(needed))),
        _ if job.tasks_done == job.tasks() && job.disputes > 0 => {
            Some("waits for another machine or owner to count again".into())
        }
        _ => None,
    }
}

/// The part of [`jobs`] with which `reader` submits jobs, if they may.
pub fn submission(reader: &Reader) -> Part {
    Part::new(SUBMISSION, &html! { @if reader.submits { (submit()) } })
}

fn submit() -> Markup {
    // Any N will do: it is the names that are wanted.
    let names = Problem::all(8).map(|problem| problem.name()).filter(|name| *name != "completions");
    html! {
        details {
            summary { "Submit a job" }
            form.submit method="post" action="/jobs" {
                label { "Problem " select name="problem" {
                    @for name in names { option { (name) } }
                } }
                label { "N " input type="number" name="n" min="1" max="64" required; }
                label { "Method " select name="method" {
                    option value="" { "what suits N" } option { "rows" } option { "ring" } option { "halves" }
                } }
                label { "Priority " input type="number" name="priority" value="0"; }
                label { "Audits, % of the ranges " input type="number" name="audit" value="0" min="0" max="100" step="any"; }
                label { "Name " input name="key" maxlength="128" pattern="[!-~]+" placeholder="none"; }
                button { "Submit" }
            }
        }
    }
}
