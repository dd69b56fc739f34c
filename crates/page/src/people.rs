//! Who counts: the pages of all owners, of one owner and of one worker.
//!
//! What they have counted comes from the ledger, so that it is there although they are gone; how fast they count now, from
//! the farm.

use std::collections::HashMap;
use std::hash::Hash;
use std::time::Duration;

use farm::{Author, Credit, Hours, OwnerView, Party, Principal, Rate, Share};
use maud::{Markup, html};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};

use crate::parts::{Page, Part, fact, stats};
use crate::snapshot::{Credits, Snapshot};
use crate::text::{ago, grouped, hours, plural, rate, short, size, time};
use crate::workers::{Marked, doing, marked, share};

/// All owners of workers' credentials that have counted, or count now.
pub fn owners(snapshot: &Snapshot, credits: &Credits) -> Page {
    let known = credits.as_ref().map_or(&[][..], |credits| credits);
    let mut all: Vec<Credit> = known.to_vec();
    let machines = snapshot.machines();
    for machine in &machines {
        if !all.iter().any(|credit| credit.owner == machine.owner) {
            all.push(Credit { owner: machine.owner.clone(), ..Credit::default() });
        }
    }
    let sums = sums(&all);
    let now = |credit: &Credit| machines.iter().filter(|it| it.owner == credit.owner).count();
    let rates = rates(snapshot, |author| Some(author.principal.owner.as_str()));
    let rate_of = |credit: &Credit| rates.get(credit.owner.as_str()).copied().unwrap_or(0.0);
    let counting = all.iter().filter(|credit| now(credit) > 0).count();
    let top = html! {
        h1 { "Contributors" }
        (stats([
            ("Connected now", grouped(counting), format!("of {}", plural(all.len(), "owner"))),
            ("Placements", short(sums.placements), format!("in {}", plural(sums.tasks, "task"))),
            ("Thread time", time(Duration::from_micros(sums.busy_us)), "of one thread".into()),
            ("Counted twice alike", grouped(sums.agreed), format!("{} contradicted", sums.contradicted)),
        ]))
    };
    let listed = html! {
        (unread(credits))
        table.cards {
            caption { "Owners" }
            thead { (heads("Owner", true)) }
            tbody { @for credit in &all {
                tr {
                    th scope="row" { a href=(of_owner(&credit.owner)) { (credit.owner) }
                        span.sub { (plural(now(credit), "machine")) " now" } }
                    (cells(credit, Some(rate_of(credit)), sums.placements, snapshot))
                }
            } }
        }
    };
    page("Contributors", "owners/live", &top, &listed)
}

/// One owner: what was counted by which worker.
pub fn owner(snapshot: &Snapshot, owner: &str, credits: &Credits) -> Page {
    let known = credits.as_ref().map_or(&[][..], |credits| credits);
    let mut all: Vec<Credit> = known.to_vec();
    for worker in &snapshot.overview.workers {
        let author = &worker.view.author;
        let is_it = |it: &Credit| is_of(it, &author.principal, &author.worker);
        if author.principal.owner == owner && !all.iter().any(is_it) {
            let (machine, worker) = (author.principal.machine.clone(), author.worker.clone());
            all.push(Credit { owner: owner.into(), machine, worker, ..Credit::default() });
        }
    }
    let sums = sums(&all);
    let machines = snapshot.machines().iter().filter(|principal| principal.owner == owner).count();
    let rates = rates(snapshot, |Author { principal, worker, .. }| {
        (principal.owner == owner).then_some((principal.machine.as_str(), worker.as_str()))
    });
    let rate_of = |credit: &Credit| {
        rates.get(&(credit.machine.as_str(), credit.worker.as_str())).copied().unwrap_or(0.0)
    };
    let jobs = snapshot.overview.live.iter().filter(|job| job.spec.origin.owner == owner).count();
    let top = html! {
        h1 { (owner) span.sub { " an owner of credentials" } }
        (distrust(snapshot, &Party { owner: owner.into(), machine: None }))
        (stats([
            ("Placements/s", rate(rates.values().sum()),
                format!("{} now", plural(machines, "machine"))),
            ("Placements", short(sums.placements), format!("in {}", plural(sums.tasks, "task"))),
            ("Thread time", time(Duration::from_micros(sums.busy_us)), "of one thread".into()),
            ("Counted twice alike", grouped(sums.agreed),
                format!("{} contradicted; {} submitted", sums.contradicted, plural(jobs, "live job"))),
        ]))
    };
    let account = snapshot.overview.owners.iter().find(|account| account.owner == owner);
    let listed = html! {
        @if let Some(account) = account { (taken(account, &snapshot.overview.owners)) }
        (unread(credits))
        table.cards {
            caption { "Workers" }
            thead { (heads("Worker", true)) }
            tbody { @for credit in &all {
                @let principal = Principal { owner: owner.into(), machine: credit.machine.clone() };
                tr {
                    th scope="row" { a href=(of_worker(&principal, &credit.worker)) { (credit.worker) }
                        @if credit.machine != credit.worker { span.sub { "on " (credit.machine) } } }
                    (cells(credit, Some(rate_of(credit)), sums.placements, snapshot))
                }
            } }
        }
        @if known.len() == Credit::MOST { p.hint { "These have counted the most." } }
    };
    page(owner, &of_owner(owner).replacen('?', "/live?", 1), &top, &listed)
}

/// What the jobs of an owner have taken, and what they may take.
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
    let all = credits.as_ref().map_or(&[][..], |credits| credits);
    let sums = sums(all);
    let marked = marked(&snapshot.overview);
    let is_it = |it: &&Marked<'_>| {
        let author = &it.detail.view.author;
        author.principal == *principal && author.worker == name
    };
    let now: Vec<_> = marked.iter().filter(is_it).collect();
    let speed: Rate = now.iter().map(|it| it.detail.view.rate).sum();
    let seconds = sums.busy_us as f64 / 1e6;
    let mean = if seconds > 0.0 { sums.placements / seconds } else { 0.0 };
    let top = html! {
        h1 { (name) span.sub { " " a href=(of_owner(&principal.owner)) { (principal.owner) } " / " (principal.machine) } }
        (distrust(snapshot, &Party { owner: principal.owner.clone(), machine: Some(principal.machine.clone()) }))
        @for it in now.iter().filter(|it| !it.troubles.is_empty()) {
            p.notice role="status" { "To look at: " (it.troubles.join(", ")) "." }
        }
        (stats([
            ("Placements/s", rate(speed.placements_per_second),
                if now.is_empty() { "it is not connected".into() } else { "now".into() }),
            ("A thread", rate(mean), "placements/s, the mean of all that it has counted".into()),
            ("Thread time", time(Duration::from_micros(sums.busy_us)), "of one thread".into()),
            ("Counted twice alike", grouped(sums.agreed), format!("{} contradicted", sums.contradicted)),
        ]))
        @for it in now { (connected(it)) }
    };
    let listed = html! {
        h2 { "What it has counted" }
        (unread(credits))
        table.cards {
            caption { "Jobs" }
            thead { (heads("Job", false)) }
            tbody { @for credit in all {
                tr {
                    th scope="row" {
                        @if let Some(job) = credit.job {
                            a href=(format!("jobs/{job}")) { (job) }
                            @if let Some(job) = snapshot.job(job) { span.sub { (job.spec.plan.to_string()) } }
                        }
                    }
                    (cells(credit, None, sums.placements, snapshot))
                }
            } }
        }
        @if all.len() == Credit::MOST { p.hint { "Of these jobs it has counted the most." } }
    };
    page(name, &of_worker(principal, name).replacen('?', "/live?", 1), &top, &listed)
}

/// What a worker that is connected is, and does.
fn connected(Marked { detail, silent, .. }: &Marked<'_>) -> Markup {
    let farm::WorkerView { author, backend, threads, memory, .. } = &detail.view;
    html! {
        dl.facts {
            div { dt { "Counts" } dd { (doing(detail)) } }
            (fact("Kernel", &format!("{backend}, {}", plural(threads, "thread"))))
            (fact("Memory", &size(*memory)))
            (fact("Program", author.program()))
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

/// Said while nothing is known of the ledger.
fn unread(credits: &Credits) -> Markup {
    html! { @if credits.is_none() { p.hint { "What was counted is being read from the ledger, if it is a file." } } }
}

fn distrust(snapshot: &Snapshot, party: &Party) -> Markup {
    let covers = |it: &&Party| {
        it.owner == party.owner && (it.machine.is_none() || it.machine == party.machine)
    };
    html! {
        @for it in snapshot.overview.distrusted.iter().filter(covers) {
            p.refusal role="alert" {
                (it.to_string()) " is distrusted, because a count was proven wrong or somebody decided so."
            }
        }
    }
}

fn heads(first: &str, has_rates: bool) -> Markup {
    html! {
        tr {
            th scope="col" { (first) } th scope="col" { "Kernels" }
            @if has_rates { th.n scope="col" { "Placements/s" } }
            th.n scope="col" { "Placements" } th.c2 scope="col" { "Share" } th.n.c2 scope="col" { "Tasks" }
            th.n scope="col" { "Thread time" } th.n.c3 scope="col" { "Counted twice" }
            th.n.c3 scope="col" { "Contradicted" } th.n.c2 scope="col" { "Last" }
        }
    }
}

fn cells(credit: &Credit, now: Option<f64>, all: f64, snapshot: &Snapshot) -> Markup {
    html! {
        td data-label="Kernels" {
            @for kernel in credit.kernels.split(',').filter(|name| !name.is_empty()) { span.chip { (kernel) } " " }
        }
        @if let Some(now) = now { td.n data-label="Placements/s" { (rate(now)) } }
        td.n data-label="Placements" { (short(credit.placements)) }
        td.c2 data-label="Share" { (share(credit.placements, all)) }
        td.n.c2 data-label="Tasks" { (grouped(credit.tasks)) }
        td.n data-label="Thread time" { (time(Duration::from_micros(credit.busy_us))) }
        td.n.c3 data-label="Counted twice" { (grouped(credit.agreed)) }
        td.n.c3.bad[credit.contradicted > 0] data-label="Contradicted" { (grouped(credit.contradicted)) }
        td.n.c2 data-label="Last" {
            @if credit.last_ms > 0 { (ago(snapshot.unix_ms, credit.last_ms)) } @else { "–" }
        }
    }
}

fn is_of(credit: &Credit, principal: &Principal, worker: &str) -> bool {
    credit.owner == principal.owner
        && credit.machine == principal.machine
        && credit.worker == worker
}

/// Placements per second of the connected workers, by what `key` makes of them; without those of which it makes nothing.
fn rates<'a, K: Eq + Hash>(
    snapshot: &'a Snapshot,
    key: impl Fn(&'a Author) -> Option<K>,
) -> HashMap<K, f64> {
    let mut rates = HashMap::new();
    for worker in &snapshot.overview.workers {
        if let Some(key) = key(&worker.view.author) {
            *rates.entry(key).or_insert(0.0) += worker.view.rate.placements_per_second;
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

/// The address of an owner's page.
pub(crate) fn of_owner(owner: &str) -> String {
    format!("owner?owner={}", encoded(owner))
}

/// The address of a worker's page.
pub(crate) fn of_worker(Principal { owner, machine }: &Principal, worker: &str) -> String {
    let [owner, machine, worker] = [owner, machine, worker].map(encoded);
    format!("worker?owner={owner}&machine={machine}&worker={worker}")
}

fn encoded(name: &str) -> String {
    utf8_percent_encode(name, NON_ALPHANUMERIC).to_string()
}
