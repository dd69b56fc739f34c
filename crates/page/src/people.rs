//! The pages of those who count: all owners, one owner, and one worker.
//!
//! What they have counted comes from the ledger, so that it is there after they have left. How fast they count now comes from
//! the farm.

use std::collections::HashMap;
use std::hash::Hash;
use std::time::Duration;

use farm::{Credit, Hours, OwnerView, Party, Principal, Provenance, Rate, Share, WorkerView};
use maud::{Markup, html};

use crate::address::{of_owner, of_worker};
use crate::parts::{Page, Part, fact, share, stats};
use crate::snapshot::{Credits, Snapshot};
use crate::text::{ago, grouped, hours, plural, rate, short, size, time};
use crate::workers::{Marked, doing, marked};

/// All owners of workers' credentials that have counted, or count now.
pub fn owners(snapshot: &Snapshot, credits: &Credits) -> Page {
    let mut all = known(credits).to_vec();
    let machines = snapshot.machines();
    for machine in &machines {
        if !all.iter().any(|credit| credit.owner == machine.owner) {
            all.push(Credit { owner: machine.owner.clone(), ..Credit::default() });
        }
    }
    let sums = sums(&all);
    let now = |credit: &Credit| machines.iter().filter(|it| it.owner == credit.owner).count();
    let rates = rates(snapshot, |provenance| Some(provenance.principal.owner.as_str()));
    let counting = all.iter().filter(|credit| now(credit) > 0).count();
    let top = html! {
        h1 { "Contributors" }
        (stats([
            ("Connected now", grouped(counting), format!("of {}", plural(all.len(), "owner"))),
            placements(&sums), thread_time(&sums), twice(&sums, ""),
        ]))
    };
    let row = |credit: &Credit| {
        let head = html! {
            a href=(of_owner(&credit.owner)) { (credit.owner) }
            span.sub { (plural(now(credit), "machine")) " now" }
        };
        (head, Some(rates.get(credit.owner.as_str()).copied().unwrap_or(0.0)))
    };
    page("Contributors", "owners/live", &top, &table("Owner", snapshot, credits, &all, row))
}

/// One owner: what was counted by which worker.
pub fn owner(snapshot: &Snapshot, owner: &str, credits: &Credits) -> Page {
    let mut all = known(credits).to_vec();
    for worker in &snapshot.overview.workers {
        let Provenance { principal: Principal { owner: of, machine }, worker, .. } =
            &worker.provenance;
        let is_it = |it: &Credit| it.machine == *machine && it.worker == *worker;
        if of == owner && !all.iter().any(is_it) {
            let (owner, machine, worker) = (of.clone(), machine.clone(), worker.clone());
            all.push(Credit { owner, machine, worker, ..Credit::default() });
        }
    }
    let sums = sums(&all);
    let machines = snapshot.machines().iter().filter(|principal| principal.owner == owner).count();
    let rates = rates(snapshot, |Provenance { principal, worker, .. }| {
        (principal.owner == owner).then_some((principal.machine.as_str(), worker.as_str()))
    });
    let jobs = snapshot.overview.live.iter().filter(|job| job.spec.origin.owner == owner).count();
    let submitted = format!("; {} submitted", plural(jobs, "live job"));
    let top = html! {
        h1 { (owner) span.sub { " an owner of credentials" } }
        (distrust(snapshot, &Party { owner: owner.into(), machine: None }))
        (stats([
            ("Placements/s", rate(rates.values().sum()), format!("{} now", plural(machines, "machine"))),
            placements(&sums), thread_time(&sums), twice(&sums, &submitted),
        ]))
    };
    let row = |credit: &Credit| {
        let Credit { machine, worker, .. } = credit;
        let principal = Principal { owner: owner.into(), machine: machine.clone() };
        let head = html! {
            a href=(of_worker(&principal, worker)) { (worker) }
            @if machine != worker { span.sub { "on " (machine) } }
        };
        (head, Some(rates.get(&(machine.as_str(), worker.as_str())).copied().unwrap_or(0.0)))
    };
    let account = snapshot.overview.owners.iter().find(|account| account.owner == owner);
    let listed = html! {
        @if let Some(account) = account { (taken(account, &snapshot.overview.owners)) }
        (table("Worker", snapshot, credits, &all, row))
    };
    page(owner, &of_owner(owner).replacen('?', "/live?", 1), &top, &listed)
}

/// The hours that the jobs of an owner have taken, and may take.
fn taken(account: &OwnerView, all: &[OwnerView]) -> Markup {
    let Share { weight, limit_us } = account.share;
    let limit =
        limit_us.map_or("none".into(), |us| format!("{:.2} hours", us as f64 / Hours::US as f64));
    let leased =
        account.share_of(all).map_or("–".into(), |share| format!("{:.0}%", 100.0 * share));
    html! {
        h2 { "Its jobs" }
        dl.facts {
            (fact("Processor-hours", &hours(account.hours.processor())))
            (fact("GPU-hours", &hours(account.hours.gpu())))
            (fact("Limit of both", &limit))
            (fact("Weight", &weight.to_string()))
            (fact("Leased now", &leased))
            (fact("Live jobs", &account.live_jobs.to_string()))
        }
    }
}

/// One worker: how it does, and what it has counted of which job.
pub fn worker(snapshot: &Snapshot, principal: &Principal, name: &str, credits: &Credits) -> Page {
    let all = known(credits);
    let sums = sums(all);
    let marked = marked(&snapshot.overview);
    let is_it = |it: &&Marked<'_>| {
        let provenance = &it.detail.provenance;
        provenance.principal == *principal && provenance.worker == name
    };
    let now: Vec<_> = marked.iter().filter(is_it).collect();
    let speed: Rate = now.iter().map(|it| it.detail.rate).sum();
    let seconds = sums.busy_us as f64 / 1e6;
    let mean = if seconds > 0.0 { sums.placements / seconds } else { 0.0 };
    let connected_now = if now.is_empty() { "it is not connected" } else { "now" };
    let party = Party { owner: principal.owner.clone(), machine: Some(principal.machine.clone()) };
    let top = html! {
        h1 { (name) span.sub { " " a href=(of_owner(&principal.owner)) { (principal.owner) } " / " (principal.machine) } }
        (distrust(snapshot, &party))
        @for it in now.iter().filter(|it| !it.troubles.is_empty()) {
            p.notice role="status" { "To look at: " (it.troubles.join(", ")) "." }
        }
        (stats([
            ("Placements/s", rate(speed.placements_per_second), connected_now.into()),
            ("A thread", rate(mean), "placements/s, the mean of all that it has counted".into()),
            thread_time(&sums), twice(&sums, ""),
        ]))
        @for it in now { (connected(it)) }
    };
    let row = |credit: &Credit| {
        let head = html! {
            @if let Some(job) = credit.job {
                a href=(format!("jobs/{job}")) { (job) }
                @if let Some(job) = snapshot.job(job) { span.sub { (job.spec.plan.to_string()) } }
            }
        };
        (head, None)
    };
    let listed = html! {
        h2 { "What it has counted" }
        (table("Job", snapshot, credits, all, row))
    };
    page(name, &of_worker(principal, name).replacen('?', "/live?", 1), &top, &listed)
}

/// The state of a connected worker.
fn connected(Marked { detail, silent, .. }: &Marked<'_>) -> Markup {
    let WorkerView { provenance, backend, threads, memory, .. } = detail;
    html! {
        dl.facts {
            div { dt { "Counts" } dd { (doing(detail)) } }
            (fact("Kernel", &format!("{backend}, {}", plural(threads, "thread"))))
            (fact("Memory", &size(*memory)))
            (fact("Program", provenance.program()))
            (fact("Last report", &format!("{} ago", time(*silent))))
            (fact("Reported since it came", &plural(detail.counted, "task")))
            (fact("Deadlines missed", &detail.missed.to_string()))
        }
    }
}

fn page(title: &str, live: &str, top: &Markup, listed: &Markup) -> Page {
    let parts = vec![Part::new("summary", top), Part::new("credits", listed)];
    Page { title: title.into(), root: "", live: live.into(), parts }
}

fn known(credits: &Credits) -> &[Credit] {
    credits.as_ref().map_or(&[], |credits| credits)
}

fn placements(sums: &Credit) -> (&'static str, String, String) {
    ("Placements", short(sums.placements), format!("in {}", plural(sums.tasks, "task")))
}

fn thread_time(sums: &Credit) -> (&'static str, String, String) {
    ("Thread time", time(Duration::from_micros(sums.busy_us)), "of one thread".into())
}

fn twice(sums: &Credit, more: &str) -> (&'static str, String, String) {
    let contradicted = format!("{} contradicted{more}", sums.contradicted);
    ("Counted twice alike", grouped(sums.agreed), contradicted)
}

fn distrust(snapshot: &Snapshot, party: &Party) -> Markup {
    html! {
        @for it in snapshot.overview.distrusted.iter().filter(|it| it.overlaps(party)) {
            p.refusal role="alert" {
                (it.to_string()) " is distrusted, because a count was proven wrong or somebody decided so."
            }
        }
    }
}

/// A table of what was counted. `row` gives the head of a row, and the placements per second of now if the table has them.
fn table(
    first: &str,
    snapshot: &Snapshot,
    credits: &Credits,
    all: &[Credit],
    row: impl Fn(&Credit) -> (Markup, Option<f64>),
) -> Markup {
    let rows: Vec<_> = all.iter().map(|credit| (row(credit), credit)).collect();
    let has_rates = rows.iter().any(|((_, now), _)| now.is_some());
    let sum = sums(all).placements;
    html! {
        @if credits.is_none() {
            p.hint { "What was counted is being read from the ledger, if it is a file." }
        }
        table.cards {
            caption { (first) "s" }
            thead { tr {
                th scope="col" { (first) } th scope="col" { "Kernels" }
                @if has_rates { th.n scope="col" { "Placements/s" } }
                th.n scope="col" { "Placements" } th.c2 scope="col" { "Share" } th.n.c2 scope="col" { "Tasks" }
                th.n scope="col" { "Thread time" } th.n.c3 scope="col" { "Counted twice" }
                th.n.c3 scope="col" { "Contradicted" } th.n.c2 scope="col" { "Last" }
            } }
            tbody { @for ((head, now), credit) in rows { tr {
                th scope="row" { (head) }
                td data-label="Kernels" {
                    @for kernel in credit.kernels.split(',').filter(|name| !name.is_empty()) { span.chip { (kernel) } " " }
                }
                @if let Some(now) = now { td.n data-label="Placements/s" { (rate(now)) } }
                td.n data-label="Placements" { (short(credit.placements)) }
                td.c2 data-label="Share" { (share(credit.placements, sum)) }
                td.n.c2 data-label="Tasks" { (grouped(credit.tasks)) }
                td.n data-label="Thread time" { (time(Duration::from_micros(credit.busy_us))) }
                td.n.c3 data-label="Counted twice" { (grouped(credit.agreed)) }
                td.n.c3.bad[credit.contradicted > 0] data-label="Contradicted" { (grouped(credit.contradicted)) }
                td.n.c2 data-label="Last" {
                    @if credit.last_ms > 0 { (ago(snapshot.unix_ms, credit.last_ms)) } @else { "–" }
                }
            } } }
        }
        @if known(credits).len() == Credit::MOST { p.hint { "Those with the most placements are listed." } }
    }
}

/// Placements per second of the connected workers, by what `key` makes of them; without those of which it makes nothing.
fn rates<'a, K: Eq + Hash>(
    snapshot: &'a Snapshot,
    key: impl Fn(&'a Provenance) -> Option<K>,
) -> HashMap<K, f64> {
    let mut rates = HashMap::new();
    for worker in &snapshot.overview.workers {
        if let Some(key) = key(&worker.provenance) {
            *rates.entry(key).or_insert(0.0) += worker.rate.placements_per_second;
        }
    }
    rates
}

fn sums(credits: &[Credit]) -> Credit {
    credits.iter().fold(Credit::default(), |mut sum, it| {
        sum.tasks += it.tasks;
        sum.placements += it.placements;
        sum.busy_us += it.busy_us;
        sum.agreed += it.agreed;
        sum.contradicted += it.contradicted;
        sum
    })
}
