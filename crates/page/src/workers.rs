//! The page of the workers.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use farm::{JobId, Overview, Party, Principal, WorkerView};
use maud::{Markup, html};

use crate::address::{of_owner, of_worker};
use crate::parts::{ON_A_PAGE, Page, Part, pager, share, stats};
use crate::snapshot::Snapshot;
use crate::text::{grouped, long_ago, plural, rate};

/// A worker that holds work and has sent nothing for this time is silent. A lease is meant to last
/// ten seconds by default.
const SILENT: Duration = Duration::from_secs(60);
/// A worker is slow if one of its threads counts fewer tasks per second than this share of what is
/// usual for its backend and job.
const SLOW: f64 = 0.5;

/// A worker, and what is remarkable about it.
pub(crate) struct Marked<'a> {
    pub(crate) detail: &'a WorkerView,
    /// How long ago it sent something.
    pub(crate) silent: Duration,
    /// Why somebody should look at it, the gravest reason first.
    pub(crate) troubles: Vec<&'static str>,
}

/// The page of the connected workers with this number; the first page is 0. A number that is too
/// large means the last page. Workers that somebody should look at come first.
pub fn workers(snapshot: &Snapshot, page: usize) -> Page {
    let Overview { workers, distrusted, .. } = &snapshot.overview;
    let (marked, last) = (marked(&snapshot.overview), workers.len().saturating_sub(1) / ON_A_PAGE);
    let page = page.min(last);
    let shown = marked.iter().skip(page * ON_A_PAGE).take(ON_A_PAGE);
    let troubled = marked.iter().filter(|worker| !worker.troubles.is_empty()).count();
    let all = snapshot.placements_per_second();
    let mut owners: Vec<&str> =
        snapshot.machines().iter().map(|principal| principal.owner.as_str()).collect();
    owners.dedup();
    let top = html! {
        h1 { "Workers" }
        (stats([
            ("Placements/s", rate(all), html! { @if !workers.is_empty() { (plural(snapshot.threads(), "thread")) } }),
            ("Workers", grouped(workers.len()), html! { "connected" }),
            ("Machines", grouped(snapshot.machines().len()), html! {
                @if !owners.is_empty() { "of " (plural(owners.len(), "owner")) }
            }),
            ("To look at", grouped(troubled), html! { @if troubled > 0 { "they come first" } }),
        ]))
        (distrust(distrusted.iter()))
    };
    let listed = html! {
        @if workers.is_empty() {
            p.empty { "No worker is connected. " code { "queens worker" } " starts one." }
        } @else {
            (table(shown, all))
            (pager("workers", page, last, |page| format!("workers?page={page}")))
        }
    };
    let parts = vec![Part::new("summary", &top), Part::new("workers", &listed)];
    let live = format!("workers/live?page={page}");
    Page { title: "Workers".into(), root: "", live, parts }
}

/// Names the distrusted parties, at most ten of them, and says how many more there are.
pub(crate) fn distrust<'a>(mut parties: impl Iterator<Item = &'a Party>) -> Markup {
    html! {
        @for party in parties.by_ref().take(10) {
            p.refusal role="alert" {
                (party.to_string()) " is distrusted, because a count was proven wrong or somebody decided so."
            }
        }
        @let more = parties.count();
        @if more > 0 { p.refusal { "So are " (more) " more: " code { "queens workers" } " lists them." } }
    }
}

/// All workers: those with the most troubles first, and in the order of their names if they have
/// equally many.
pub(crate) fn marked(overview: &Overview) -> Vec<Marked<'_>> {
    let usual = usual_rates(&overview.workers);
    let mark = |detail| mark(detail, overview, &usual);
    let mut marked: Vec<_> = overview.workers.iter().map(mark).collect();
    marked.sort_by_key(|it| (Reverse(it.troubles.len()), &it.detail.provenance.worker));
    marked
}

/// The class of a worker: its backend, and the job of its first lease. The speeds of workers of one
/// class can be compared.
fn class(detail: &WorkerView) -> Option<(&str, JobId)> {
    Some((detail.backend.as_str(), detail.leased.first()?.0))
}

/// Tasks per second of one of its threads; `None` if no speed is known.
fn rate_per_thread(detail: &WorkerView) -> Option<f64> {
    let rate = Some(detail.rate.tasks_per_second).filter(|&rate| rate > 0.0);
    Some(rate? / f64::from(detail.threads.max(1)))
}

/// The median rate of a thread in each class of at least three workers.
fn usual_rates(workers: &[WorkerView]) -> HashMap<(&str, JobId), f64> {
    let mut rates: BTreeMap<(&str, JobId), Vec<f64>> = BTreeMap::new();
    for detail in workers {
        if let (Some(class), Some(rate)) = (class(detail), rate_per_thread(detail)) {
            rates.entry(class).or_default().push(rate);
        }
    }
    let median = |mut rates: Vec<f64>| {
        rates.sort_by(f64::total_cmp);
        (rates.len() >= 3).then(|| rates[rates.len() / 2])
    };
    rates.into_iter().filter_map(|(class, rates)| Some((class, median(rates)?))).collect()
}

fn mark<'a>(
    detail: &'a WorkerView,
    overview: &Overview,
    usual: &HashMap<(&str, JobId), f64>,
) -> Marked<'a> {
    let silent = Duration::from_millis(overview.at.0.saturating_sub(detail.heard_at.0));
    let usual = class(detail).and_then(|class| usual.get(&class));
    let is_slow =
        usual.zip(rate_per_thread(detail)).is_some_and(|(usual, rate)| rate < SLOW * usual);
    let troubles = [
        (
            overview.distrusted.iter().any(|party| party.includes(&detail.provenance.principal)),
            "distrusted",
        ),
        (detail.missed > 0, "missed deadlines"),
        (!detail.leased.is_empty() && silent > SILENT, "silent"),
        (is_slow, "slow"),
    ];
    let troubles = troubles.into_iter().filter_map(|(is_so, what)| is_so.then_some(what)).collect();
    Marked { detail, silent, troubles }
}

fn table<'a>(workers: impl Iterator<Item = &'a Marked<'a>>, all: f64) -> Markup {
    html! {
        table.cards {
            caption { "Connected workers" }
            thead { tr {
                th scope="col" { "Worker" } th.c2 scope="col" { "Owner" } th scope="col" { "Kernel" }
                th.n.c2 scope="col" { "Threads" } th.n scope="col" { "Placements/s" } th.c2 scope="col" { "Share" }
                th.c3 scope="col" { "Counts" } th.n.c3 scope="col" { "Last report" } th scope="col" { "To look at" }
            } }
            tbody { @for worker in workers { (row(worker, all)) } }
        }
    }
}

fn row(worker: &Marked<'_>, all: f64) -> Markup {
    let Marked { detail, silent, troubles } = worker;
    let WorkerView { provenance, backend, threads, rate: speed, .. } = detail;
    let Principal { owner, machine } = &provenance.principal;
    html! {
        tr.troubled[!troubles.is_empty()] {
            th scope="row" {
                a href=(of_worker(&provenance.principal, &provenance.worker)) {
                    (provenance.worker)
                    @if *machine != provenance.worker { span.sub { "on " (machine) } }
                }
            }
            td.c2 data-label="Owner" { a href=(of_owner(owner)) { (owner) } }
            td data-label="Kernel" { span.chip { (backend) } }
            td.n.c2 data-label="Threads" { (threads) }
            td.n data-label="Placements/s" { (rate(speed.placements_per_second)) }
            td.c2 data-label="Share" { (share(speed.placements_per_second, all)) }
            td.c3 data-label="Counts" { (doing(detail)) }
            td.n.c3 data-label="Last report" { (long_ago(*silent)) }
            td data-label="To look at" { (troubles.join(", ")) }
        }
    }
}

pub(crate) fn doing(detail: &WorkerView) -> Markup {
    html! {
        @match detail.leased.as_slice() {
            [] if detail.draining => { "leaves" },
            [] => { "nothing" },
            leased => {
                @for (at, (job, tasks)) in leased.iter().enumerate() {
                    @if at > 0 { ", " }
                    (grouped(*tasks)) " of " a href=(format!("jobs/{job}")) { "job " (job) }
                }
                @if detail.draining { ", then leaves" }
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use farm::{Millis, Provenance, Rate};

    use super::*;

    const MINUTES: u64 = 60_000;

    /// A worker that was heard of a minute before `at`, and counts so many tasks per second.
    fn worker(name: &str, rate: f64) -> WorkerView {
        let principal = Principal { owner: "rack7".into(), machine: format!("machine of {name}") };
        let provenance = Provenance { principal, worker: name.into(), build: "1.0".into() };
        WorkerView {
            provenance,
            backend: "avx2".into(),
            threads: 2,
            tasks: 5,
            rate: Rate { tasks_per_second: rate, placements_per_second: rate },
            leased: vec![(JobId(1), 5)],
            counted: 7,
            heard_at: Millis(4 * MINUTES),
            missed: 0,
            draining: false,
        }
    }

    fn overview(workers: Vec<WorkerView>) -> Overview {
        Overview { at: Millis(5 * MINUTES), workers, ..Overview::default() }
    }

    fn troubles(overview: &Overview) -> Vec<(String, Vec<&'static str>)> {
        let marked = marked(overview);
        let name = |worker: &Marked<'_>| worker.detail.provenance.worker.clone();
        marked.iter().map(|worker| (name(worker), worker.troubles.clone())).collect()
    }

    #[test]
    fn a_worker_is_slow_if_it_counts_half_as_fast_as_others_of_its_class() {
        let mut workers: Vec<WorkerView> = [("a", 100.0), ("b", 90.0), ("c", 44.0), ("d", 110.0)]
            .map(|(name, rate)| worker(name, rate))
            .into();
        let marked = |workers: &[WorkerView]| -> Vec<_> {
            let all = troubles(&overview(workers.to_vec())).into_iter();
            all.filter(|(_, troubles)| !troubles.is_empty()).collect()
        };
        assert_eq!(marked(&workers), [("c".into(), vec!["slow"])]);

        workers[2].threads = 1;
        assert_eq!(marked(&workers), [], "with half the threads, its threads are as fast");

        workers[2].threads = 2;
        workers[2].backend = "portable".into();
        assert_eq!(marked(&workers), [], "another class");
    }

    #[test]
    fn a_worker_that_holds_work_and_says_nothing_stands_out() {
        let mut silent = worker("silent", 0.0);
        silent.heard_at = Millis(4 * MINUTES - 1);
        let (leased, heard_at) = (Vec::new(), silent.heard_at);
        let idle = WorkerView { leased, heard_at, ..worker("idle", 0.0) };
        let overview = overview(vec![idle, worker("busy", 0.0), silent]);
        let found = troubles(&overview);
        let expected = [("silent", vec!["silent"]), ("busy", vec![]), ("idle", vec![])];
        assert_eq!(found, expected.map(|(name, troubles)| (name.to_string(), troubles)));
    }

    #[test]
    fn ten_thousand_workers_come_in_pages() {
        let workers = (0..10_000).map(|at| worker(&format!("worker-{at:05}"), 1.0)).collect();
        let snapshot = Snapshot { overview: overview(workers), unix_ms: 0 };
        let page = |page| {
            let page = super::workers(&snapshot, page);
            let html: String = page.parts_with(&[]).map(|part| part.html.as_str()).collect();
            let rows = html.matches("<th scope=\"row\">").count();
            let first = html.split("<th scope=\"row\">").nth(1).expect("it has a row");
            (rows, first.split(['<', '>']).nth(2).expect("it has a name").to_string())
        };
        assert_eq!(page(0), (100, "worker-00000".into()));
        assert_eq!(page(99), (100, "worker-09900".into()));
        assert_eq!(page(usize::MAX), (100, "worker-09900".into()), "the last one");
    }
}
