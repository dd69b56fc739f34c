//! The page of the workers.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use farm::{JobId, Overview, Party, Principal, WorkerView};
use maud::{Markup, html};

use crate::address::{of_owner, of_worker};
use crate::parts::{Page, Part, share, stats};
use crate::snapshot::Snapshot;
use crate::text::{grouped, plural, rate, time};

/// Workers on one page.
const ON_A_PAGE: usize = 100;
/// A worker that holds work and has reported nothing for so long is silent. Leases last ten seconds.
const SILENT: Duration = Duration::from_secs(60);
/// A worker is slow if its threads count less than this part of what is usual for its backend and job.
const SLOW: f64 = 0.5;

/// The order of a list of workers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Order {
    /// Those that need somebody to look first.
    #[default]
    Trouble,
    /// By name.
    Name,
    /// By owner and machine.
    Owner,
    /// The most threads first.
    Threads,
    /// The fastest first.
    Rate,
    /// The longest silent first.
    Heard,
}

impl Order {
    /// All of them, with their words in addresses.
    const ALL: [(Order, &str); 6] = [
        (Order::Trouble, "trouble"),
        (Order::Name, "name"),
        (Order::Owner, "owner"),
        (Order::Threads, "threads"),
        (Order::Rate, "rate"),
        (Order::Heard, "heard"),
    ];

    /// The word for it in addresses.
    pub fn word(self) -> &'static str {
        Order::ALL[self as usize].1
    }

    /// The order of that word.
    pub fn named(word: &str) -> Option<Order> {
        Order::ALL.into_iter().find_map(|(order, its)| (its == word).then_some(order))
    }
}

/// Which workers are shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct WorkersView {
    /// Their order.
    pub order: Order,
    /// Which page of them, from 0 on.
    pub page: usize,
}

impl WorkersView {
    /// The view that is shown for this one: of a page beyond the last, the last.
    pub fn within(self, snapshot: &Snapshot) -> WorkersView {
        WorkersView { page: self.page.min(pages(&snapshot.overview) - 1), ..self }
    }
}

/// How many pages there are, 1 at least.
fn pages(overview: &Overview) -> usize {
    overview.workers.len().div_ceil(ON_A_PAGE).max(1)
}

/// A worker, and what is remarkable about it.
pub(crate) struct Marked<'a> {
    pub(crate) detail: &'a WorkerView,
    /// How long ago it was heard of.
    pub(crate) silent: Duration,
    /// The gravest first.
    pub(crate) troubles: Vec<&'static str>,
}

/// All connected workers, as `view` asks for them.
pub fn workers(snapshot: &Snapshot, view: WorkersView) -> Page {
    let Overview { workers, distrusted, .. } = &snapshot.overview;
    let mut marked = marked(&snapshot.overview);
    sort(&mut marked, view.order);
    let (pages, page) = (pages(&snapshot.overview), view.within(snapshot).page);
    let shown = marked.iter().skip(page * ON_A_PAGE).take(ON_A_PAGE);
    let troubled = marked.iter().filter(|worker| !worker.troubles.is_empty()).count();
    let all = snapshot.placements_per_second();
    let mut owners: Vec<&str> =
        snapshot.machines().iter().map(|principal| principal.owner.as_str()).collect();
    owners.dedup();
    let top = html! {
        h1 { "Workers" }
        (stats([
            ("Placements/s", rate(all), plural(snapshot.threads(), "thread")),
            ("Workers", grouped(workers.len()), "connected".into()),
            ("Machines", grouped(snapshot.machines().len()), format!("of {}", plural(owners.len(), "owner"))),
            ("To look at", grouped(troubled), "they come first, unless a column is chosen".into()),
        ]))
        (distrusted_parties(distrusted))
    };
    let listed = html! {
        @if workers.is_empty() {
            p.empty { "No worker is connected. " code { "queens worker" } " starts one." }
        } @else {
            (table(shown, view, all))
            (pager(view.order, page, pages))
        }
    };
    let parts = vec![Part::new("summary", &top), Part::new("workers", &listed)];
    let live = format!("workers/live?order={}&page={page}", view.order.word());
    Page { title: "Workers".into(), root: "", live, parts }
}

fn distrusted_parties(distrusted: &[Party]) -> Markup {
    html! {
        @if !distrusted.is_empty() {
            p.refusal role="alert" {
                "Distrusted, because a count was proven wrong or somebody decided so: "
                @for (at, party) in distrusted.iter().take(10).enumerate() {
                    @if at > 0 { ", " } (party.to_string())
                }
                @if distrusted.len() > 10 { ", …" }
            }
        }
    }
}

pub(crate) fn marked(overview: &Overview) -> Vec<Marked<'_>> {
    let usual = usual_rates(&overview.workers);
    let mark = |detail| mark(detail, overview, &usual);
    overview.workers.iter().map(mark).collect()
}

/// Workers with the same backend on the same job can be compared.
fn class(detail: &WorkerView) -> Option<(&str, JobId)> {
    Some((detail.backend.as_str(), detail.leased.first()?.0))
}

/// Tasks per second of one thread.
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

fn sort(workers: &mut [Marked<'_>], order: Order) {
    let name = |worker: &Marked<'_>| worker.detail.provenance.worker.clone();
    match order {
        Order::Trouble => {
            workers.sort_by_cached_key(|worker| (Reverse(worker.troubles.len()), name(worker)))
        }
        Order::Name => workers.sort_by_cached_key(name),
        Order::Owner => workers.sort_by_cached_key(|worker| {
            let principal = &worker.detail.provenance.principal;
            (principal.owner.clone(), principal.machine.clone(), name(worker))
        }),
        Order::Threads => {
            workers.sort_by_cached_key(|worker| (Reverse(worker.detail.threads), name(worker)))
        }
        Order::Rate => {
            let rate = |worker: &Marked<'_>| worker.detail.rate.placements_per_second;
            workers.sort_by(|a, b| rate(b).total_cmp(&rate(a)));
        }
        Order::Heard => workers.sort_by_key(|worker| Reverse(worker.silent)),
    }
}

fn table<'a>(workers: impl Iterator<Item = &'a Marked<'a>>, view: WorkersView, all: f64) -> Markup {
    let head = |text: &str, order: Order, class: &str| {
        let is_order = view.order == order;
        html! {
            th scope="col" class=(class) aria-sort=[is_order.then_some("other")] {
                a href=(address(order, 0)) { (text) @if is_order { span aria-hidden="true" { " ▾" } } }
            }
        }
    };
    html! {
        table.cards {
            caption { "Connected workers" }
            thead { tr {
                (head("Worker", Order::Name, "")) (head("Owner", Order::Owner, "c2"))
                th scope="col" { "Kernel" } (head("Threads", Order::Threads, "n c2"))
                (head("Placements/s", Order::Rate, "n")) th.c2 scope="col" { "Share" }
                th.c3 scope="col" { "Counts" } (head("Last report", Order::Heard, "n c3"))
                (head("To look at", Order::Trouble, ""))
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
                a href=(of_worker(&provenance.principal, &provenance.worker)) { (provenance.worker) }
                @if *machine != provenance.worker { span.sub { "on " (machine) } }
            }
            td.c2 data-label="Owner" { a href=(of_owner(owner)) { (owner) } }
            td data-label="Kernel" { span.chip { (backend) } }
            td.n.c2 data-label="Threads" { (threads) }
            td.n data-label="Placements/s" { (rate(speed.placements_per_second)) }
            td.c2 data-label="Share" { (share(speed.placements_per_second, all)) }
            td.c3 data-label="Counts" { (doing(detail)) }
            td.n.c3 data-label="Last report" { (time(*silent)) " ago" }
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

fn address(order: Order, page: usize) -> String {
    format!("workers?order={}&page={page}", order.word())
}

fn pager(order: Order, page: usize, pages: usize) -> Markup {
    html! {
        @if pages > 1 {
            nav.pager aria-label="Pages of workers" {
                @if page > 0 { a href=(address(order, page - 1)) rel="prev" { "Previous" } }
                span { "Page " (page + 1) " of " (pages) }
                @if page + 1 < pages { a href=(address(order, page + 1)) rel="next" { "Next" } }
            }
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
            memory: 1 << 30,
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
        Overview {
            at: Millis(5 * MINUTES),
            live: Vec::new(),
            ended: Vec::new(),
            ended_in_all: 0,
            workers,
            distrusted: Vec::new(),
            owners: Vec::new(),
        }
    }

    fn troubles(overview: &Overview) -> Vec<(String, Vec<&'static str>)> {
        let mut marked = marked(overview);
        sort(&mut marked, Order::Trouble);
        let name = |worker: &Marked<'_>| worker.detail.provenance.worker.clone();
        marked.iter().map(|worker| (name(worker), worker.troubles.clone())).collect()
    }

    #[test]
    fn a_worker_is_slow_if_it_counts_half_as_fast_as_others_of_its_class() {
        let mut workers: Vec<WorkerView> = [("a", 100.0), ("b", 90.0), ("c", 44.0), ("d", 110.0)]
            .map(|(name, rate)| worker(name, rate))
            .into();
        assert_eq!(troubles(&overview(workers.clone()))[0], ("c".into(), vec!["slow"]));

        // It has half the threads, so that its threads are as fast.
        workers[2].threads = 1;
        assert!(
            troubles(&overview(workers.clone())).iter().all(|(_, troubles)| troubles.is_empty())
        );

        workers[2].threads = 2;
        workers[2].backend = "portable".into();
        let overview = overview(workers);
        assert!(
            troubles(&overview).iter().all(|(_, troubles)| troubles.is_empty()),
            "another class"
        );
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
        let workers =
            (0..10_000_u32).map(|at| worker(&format!("worker-{at:05}"), at.into())).collect();
        let snapshot = Snapshot { overview: overview(workers), unix_ms: 0 };
        let page = |order, page| {
            let html = &workers_of(&snapshot, WorkersView { order, page });
            let rows = html.matches("<th scope=\"row\">").count();
            let first = html.split("<th scope=\"row\">").nth(1).expect("it has a row");
            (rows, first.split(['<', '>']).nth(2).expect("it has a name").to_string())
        };
        assert_eq!(page(Order::Name, 0), (100, "worker-00000".into()));
        assert_eq!(page(Order::Rate, 0), (100, "worker-09999".into()));
        assert_eq!(page(Order::Name, 99), (100, "worker-09900".into()));
        assert_eq!(page(Order::Name, usize::MAX), (100, "worker-09900".into()), "the last one");
    }

    fn workers_of(snapshot: &Snapshot, view: WorkersView) -> String {
        workers(snapshot, view).parts_with(&[]).map(|part| part.html.as_str()).collect()
    }
}
