//! The farm's first page: what it counts, how fast, and all jobs.

use std::time::Duration;

use farm::{Farm, JobId, JobState, JobView, Overview, Problem};
use maud::{Markup, html};

use crate::chart::chart;
use crate::frame::{self, Reader};
use crate::history::Past;
use crate::parts::{ON_A_PAGE, Page, Part, bar, pager, stats};
use crate::snapshot::Snapshot;
use crate::text::{end, grouped, nonzero, or_dash, percent, plural, rate, sentence, since, time};

/// The id of the part with which jobs are submitted.
const SUBMISSION: &str = "submission";

/// A page of the list of ended jobs, which continues the list before one job.
#[derive(Clone, Debug, PartialEq)]
pub struct EndedBefore {
    /// The number of that job. All jobs of the page have smaller numbers.
    pub before: JobId,
    /// The jobs of the page, the latest first.
    pub jobs: Vec<JobView>,
}

/// The farm's first page: what was counted lately, the page of the jobs that have not ended with
/// this number, and the latest jobs that have ended or, if `earlier` is given, those. The first
/// page is 0, and a number that is too large means the last page. The part with which jobs are
/// submitted depends on the reader: see [`submission`].
pub fn jobs(
    snapshot: &Snapshot,
    past: Option<&Past>,
    page: usize,
    earlier: Option<&EndedBefore>,
) -> Page {
    let Overview { live, ended, ended_in_all, workers, .. } = &snapshot.overview;
    let last = live.len().saturating_sub(1) / ON_A_PAGE;
    let page = page.min(last);
    let address = |page: usize, before: Option<JobId>| {
        let before = before.map(|job| format!("before={job}"));
        let page = (page > 0).then(|| format!("page={page}"));
        let query: Vec<String> = page.into_iter().chain(before).collect();
        if query.is_empty() { String::new() } else { format!("?{}", query.join("&")) }
    };
    let before = earlier.map(|earlier| earlier.before);
    let ended = earlier.map_or(ended, |earlier| &earlier.jobs);
    let oldest = ended.last().filter(|_| ended.len() == Farm::ENDED_SHOWN);
    let top = html! {
        h1 { "Farm" }
        @if workers.is_empty() {
            div.notice role="status" {
                p { strong { "No worker is connected" }
                    @if !live.is_empty() { ", and " (plural(live.len(), "job")) " cannot go on" }
                    "." }
                p { "On each machine that is to count, " code { "queens worker --join-file FILE" }
                    " starts one, with the join string that " code { "queens token create --role worker" }
                    " printed; beside the coordinator, " code { "queens worker" } " is enough." }
            }
        }
        div.hero {
            div.panel {
                h2 { (rate(snapshot.placements_per_second())) " placements/s" }
                (chart(past, snapshot.unix_ms, "now", "Too little was counted in the last six hours, or since the coordinator was started, for a chart."))
            }
            (numbers(snapshot))
        }
    };
    let unfinished = html! {
        h2 { "Jobs" }
        @if live.is_empty() {
            p.empty { "No job is waiting or running." }
        } @else {
            (unfinished(snapshot, page))
            (pager("jobs", page, last, |page| format!("./{}", address(page, before))))
        }
    };
    let ended = html! {
        @if *ended_in_all > 0 {
            h2 { "Ended " span.sub { (grouped(*ended_in_all)) ", the latest first" } }
            @if let Some(EndedBefore { before, .. }) = earlier {
                p.hint { "Those before job " (before) ". " a href=(format!("./{}", address(page, None))) { "Latest" } }
            }
            (ended_jobs(ended, snapshot))
            @if let Some(job) = oldest {
                p.pager { a href=(format!("./{}", address(page, Some(job.id)))) rel="next" { "Earlier ones" } }
            }
        }
        p.hint {
            "A job took the time from its first lease until all its tasks were counted, without pauses and audits. Programs read " a href="metrics" { "metrics" } "."
        }
    };
    let parts = vec![
        Part::new("summary", &top),
        Part::new("jobs", &unfinished),
        Part::new(SUBMISSION, &html! {}),
        Part::new("ended", &ended),
    ];
    let live = format!("live{}", address(page, before));
    Page { title: "Farm".into(), root: "", live, parts }
}

fn numbers(snapshot: &Snapshot) -> Markup {
    let Overview { live, workers, .. } = &snapshot.overview;
    let of = |state| live.iter().filter(|job| job.state == state).count() as u64;
    let waiting = live.iter().filter(|job| job.is_waiting()).count() as u64;
    let running = of(JobState::Running) - waiting;
    let next = live.iter().filter_map(|job| Some((job.seconds_left()?, job.id)));
    let next = next.min_by(|a, b| a.0.total_cmp(&b.0));
    let sum = |of: fn(&JobView) -> u64| live.iter().map(of).sum::<u64>();
    stats([
        (
            "Jobs that run",
            grouped(running),
            html! {
                (nonzero([
                    (waiting, "waiting"),
                    (of(JobState::Paused), "paused"),
                    (of(JobState::Suspended), "suspended"),
                ]))
            },
        ),
        match next {
            None => ("Next end in", "–".into(), html! { "not known" }),
            Some((left, job)) => (
                "Next end in",
                time(Duration::from_secs_f64(left)),
                html! { "job\u{a0}" (job) ", at " (end(snapshot.unix_ms, left)) },
            ),
        },
        (
            "Machines",
            grouped(snapshot.machines().len()),
            html! {
                @if !workers.is_empty() {
                    (plural(workers.len(), "worker")) ", " (plural(snapshot.threads(), "thread"))
                }
            },
        ),
        (
            "Counted twice",
            grouped(sum(|job| job.audits_agreed)),
            html! {
                (nonzero([
                    (sum(|job| job.audits_wanted), "waiting"),
                    (sum(|job| job.disputes as u64), "disputed"),
                ]))
            },
        ),
    ])
}

fn unfinished(snapshot: &Snapshot, page: usize) -> Markup {
    let mut jobs: Vec<&JobView> = snapshot.overview.live.iter().collect();
    jobs.sort_by_key(|job| job.rank());
    html! {
        table.cards {
            caption { "Jobs that have not ended" }
            thead { tr {
                th scope="col" { "Job" } th scope="col" { "State" } th scope="col" { "Done" }
                th.n scope="col" { "Placements/s" } th.n scope="col" { "Time left" }
                th.n.c2 scope="col" { "Workers" } th.c2 scope="col" { "Owner" } th.n.c3 scope="col" { "Priority" }
            } }
            tbody { @for job in jobs.into_iter().skip(page * ON_A_PAGE).take(ON_A_PAGE) { (row(job, snapshot)) } }
        }
    }
}

fn row(job: &JobView, snapshot: &Snapshot) -> Markup {
    let (left, remarks) = (job.seconds_left(), job.remarks());
    html! {
        tr.has-why[!remarks.is_empty()] {
            (name(job))
            td.st { (state(job)) }
            td.progress.span { (done(job)) }
            td.n data-label="Placements/s" { (rate(job.rate.placements_per_second)) }
            td.n data-label="Time left" {
                @match left {
                    Some(left) => {
                        (time(Duration::from_secs_f64(left)))
                        span.sub { (end(snapshot.unix_ms, left)) }
                    },
                    None => "–",
                }
            }
            td.n.c2 data-label="Workers" { (or_dash(job.workers as u64)) }
            td.c2 data-label="Owner" { (owner(job)) }
            td.n.c3 data-label="Priority" { (job.spec.priority) }
        }
        (why(&remarks))
    }
}

/// A row with what people should know about a job, if there is anything.
fn why(remarks: &[String]) -> Markup {
    html! {
        @if !remarks.is_empty() {
            tr.why { td colspan="8" { @for remark in remarks { p { (sentence(&format!("It {remark}."))) } } } }
        }
    }
}

/// A job's number, its name and what it counts, as the head of a row.
fn name(job: &JobView) -> Markup {
    html! {
        th scope="row" {
            a href=(format!("jobs/{}", job.id)) {
                (job.id)
                @if let Some(key) = &job.spec.origin.key { " " span.key { (key) } }
                span.sub { (job.spec.plan.to_string()) }
            }
        }
    }
}

fn ended_jobs(jobs: &[JobView], snapshot: &Snapshot) -> Markup {
    html! {
        table.cards {
            caption { "Jobs that have ended" }
            thead { tr {
                th scope="col" { "Job" } th scope="col" { "State" } th.n scope="col" { "Total" }
                th.n scope="col" { "Took" } th.n scope="col" { "Placements/s" } th.n scope="col" { "Ended" }
                th.n.c3 scope="col" { "Counted twice" } th.c2 scope="col" { "Owner" }
            } }
            tbody { @for job in jobs { (ended_row(job, snapshot)) } }
        }
    }
}

fn ended_row(job: &JobView, snapshot: &Snapshot) -> Markup {
    let remarks = job.remarks();
    html! {
        tr.has-why[!remarks.is_empty()] {
            (name(job))
            td.st { (state(job)) }
            td.n.span data-label="Total" { (total(job)) }
            td.n data-label="Took" { (job.times.counting().map_or("–".into(), time)) }
            td.n data-label="Placements/s" { (rate(job.rate.placements_per_second)) }
            td.n data-label="Ended" {
                @match job.times.ended_at_ms { Some(at) => (since(snapshot.unix_ms, at)), None => "–" }
            }
            td.n.c3 data-label="Counted twice" { (audits(job)) }
            td.c2 data-label="Owner" { (owner(job)) }
        }
        (why(&remarks))
    }
}

/// The total, and the sum before symmetry if that is another number. Of a job without a total, it
/// is the sum of its shard, or how far the job came.
pub(crate) fn total(job: &JobView) -> Markup {
    html! {
        @match job.total {
            Some(total) => {
                span.total { (grouped(total)) }
                @if total != job.counted { span.sub { (grouped(job.counted)) " before symmetry" } }
            },
            None if job.state == JobState::Done => {
                span.total { (grouped(job.counted)) }
                span.sub { "shard " (job.spec.shard.to_string()) }
            },
            None => { "–" span.sub { "at " (percent(job.tasks_done, job.tasks())) } },
        }
    }
}

/// The owner of a job, or "unknown": the job of a merged ledger has no owner.
pub(crate) fn owner(job: &JobView) -> &str {
    if job.spec.origin.owner.is_empty() { "unknown" } else { &job.spec.origin.owner }
}

/// The progress of a job, as numbers and as a bar.
pub(crate) fn done(job: &JobView) -> Markup {
    let (done, all) = (job.tasks_done, job.tasks());
    html! {
        div.line1 {
            span.done { (percent(done, all)) }
            span.quiet { (grouped(done)) " of " (grouped(all)) " tasks" }
        }
        (bar(done as f64, all as f64))
    }
}

/// The number of ranges of which a second count agreed and, if any range still waits for its second
/// count, the number of all of them.
pub(crate) fn audits(job: &JobView) -> String {
    match (job.audits_agreed, job.audits_wanted) {
        (0, 0) => "–".into(),
        (agreed, 0) => grouped(agreed),
        (agreed, wanted) => format!("{} of {}", grouped(agreed), grouped(agreed + wanted)),
    }
}

/// The state of a job, and whether it is audited after its end.
pub(crate) fn state(job: &JobView) -> Markup {
    let name = job.state_name();
    html! {
        span class=(format!("state {name}")) { (name) }
        @if job.audited().is_some() { " " span.state.waits { "audit" } }
    }
}

/// The text that was typed into the field of this name of a submission's form.
pub type Typed<'a> = &'a dyn Fn(&str) -> Option<&'a str>;

/// The part of [`jobs`] with which `reader` submits jobs. It is empty if they may not.
pub fn submission(reader: &Reader) -> Part {
    let form = html! {
        @if reader.submits { details { summary { "Submit a job" } (submit(&|_| None)) } }
    };
    Part::new(SUBMISSION, &form)
}

/// The page of the form that submits jobs. If a submission was refused, it says why, and keeps what
/// was typed.
pub fn submission_page(reader: &Reader, refusal: Option<&str>, typed: Typed<'_>) -> Markup {
    let body = html! {
        h1 { "Submit a job" }
        @if let Some(refusal) = refusal { p.refusal role="alert" { (sentence(refusal)) "." } }
        @if reader.submits { (submit(typed)) } @else { p { "Your credential only looks on." } }
        p { a href="./" { "Back to the farm" } }
    };
    frame::page("Submit a job", "", None, reader, &body)
}

fn submit(typed: Typed<'_>) -> Markup {
    // Only the names are used, and they do not depend on N.
    let names = Problem::all(8).map(|problem| problem.name()).filter(|name| *name != "completions");
    let methods = ["rows", "prefixes", "colours"];
    let is = |field, value| typed(field) == Some(value);
    let value = |field, usual| typed(field).unwrap_or(usual).to_string();
    html! {
        form.submit method="post" action="jobs" {
            label { "Problem " select name="problem" {
                @for name in names { option selected[is("problem", name)] { (name) } }
            } }
            label { "N " input type="number" name="n" min="0" max="64" required value=(value("n", "")); }
            label { "Given queens "
                input name="given" placeholder="as in a1,e2" value=(value("given", "")); }
            label { "Method " select name="method" {
                option value="" { "what suits N" }
                @for method in methods { option value=(method) selected[is("method", method)] { (method) } }
            } }
            label { "Priority " input type="number" name="priority" value=(value("priority", "0")); }
            label { "Counted twice, % "
                input type="number" name="audit" value=(value("audit", "0")) min="0" max="100" step="any"; }
            label { "Name " input name="key" maxlength="128" pattern="[!-~]+" placeholder="none" value=(value("key", "")); }
            button.main { "Submit" }
        }
    }
}
