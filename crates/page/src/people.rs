//! The pages about who counts: all owners, one owner, and one worker.
//!
//! What they have counted comes from the ledger, so that it is still shown after they have left.
//! How fast they count now comes from the farm.

use std::collections::HashMap;
use std::time::Duration;

use farm::{Credit, OwnerView, Principal, Provenance, Rate, WorkerView};
use maud::{Markup, html};

use crate::address::{of_owner, of_worker};
use crate::parts::{ON_A_PAGE, Page, Part, Stat, fact, pager, share, stats};
use crate::snapshot::{Credits, Snapshot};
use crate::text::{grouped, nonzero, of_threads, or_dash, plural, rate, short, since, time};
use crate::workers::{Marked, distrust, doing, marked};

/// What somebody has counted, and how many placements per second they count now. `None` if the page
/// does not show that.
type Contribution = (Credit, Option<f64>);

/// All owners of workers' credentials that have counted, or count now: the page of their list with
/// this number. Here and in the functions below, the first page is 0, and a number that is too
/// large means the last page.
pub fn owners(snapshot: &Snapshot, credits: &Credits, page: usize) -> Page {
    let all = with_connected(snapshot, credits, |Provenance { principal, .. }| {
        Some(Credit { owner: principal.owner.clone(), ..Credit::default() })
    });
    let sums = sums(&all);
    let machines = snapshot.machines();
    let now = |credit: &Credit| machines.iter().filter(|it| it.owner == credit.owner).count();
    let counting = all.iter().filter(|(credit, _)| now(credit) > 0).count();
    let top = html! {
        h1 { "Owners" }
        (stats([
            ("Connected now", grouped(counting), html! { "of " (plural(all.len(), "owner")) }),
            placements(&sums), thread_time(&sums), twice(&sums),
        ]))
    };
    let head = |credit: &Credit| {
        html! {
            a href=(of_owner(&credit.owner)) {
                (credit.owner)
                @if now(credit) > 0 { span.sub { (plural(now(credit), "machine")) " now" } }
            }
        }
    };
    let list = List { first: "Owner", address: "owners".into(), page };
    let listed = table(&list, snapshot, credits, &all, head);
    list.page("Owners", &top, &listed)
}

/// One owner: what was counted by which worker.
pub fn owner(snapshot: &Snapshot, owner: &str, credits: &Credits, page: usize) -> Page {
    let all = with_connected(snapshot, credits, |Provenance { principal, worker, .. }| {
        (principal.owner == owner).then(|| {
            let Principal { owner, machine } = principal.clone();
            Credit { owner, machine, worker: worker.clone(), ..Credit::default() }
        })
    });
    let sums = sums(&all);
    let machines = snapshot.machines().iter().filter(|principal| principal.owner == owner).count();
    let distrusted = snapshot.overview.distrusted.iter();
    let speed: f64 = all.iter().filter_map(|(_, now)| *now).sum();
    let top = html! {
        h1 { (owner) span.sub { " an owner" } }
        (distrust(distrusted.filter(|it| it.owner == owner)))
        (stats([
            ("Placements/s", rate(speed), html! { @if machines > 0 { (plural(machines, "machine")) " now" } }),
            placements(&sums), thread_time(&sums), twice(&sums),
        ]))
    };
    let head = |Credit { machine, worker, .. }: &Credit| {
        let principal = Principal { owner: owner.into(), machine: machine.clone() };
        html! {
            a href=(of_worker(&principal, worker)) {
                (worker)
                @if machine != worker { span.sub { "on " (machine) } }
            }
        }
    };
    let list = List { first: "Worker", address: of_owner(owner), page };
    let account = snapshot.overview.owners.iter().find(|account| account.owner == owner);
    let listed = html! {
        @if let Some(account) = account { (taken(account, &snapshot.overview.owners)) }
        (table(&list, snapshot, credits, &all, head))
    };
    list.page(owner, &top, &listed)
}

/// The contributions in the ledger, with the present speeds of the connected workers. `of` returns
/// the contribution to which a worker's speed is added, or `None` if the worker is not shown.
fn with_connected(
    snapshot: &Snapshot,
    credits: &Credits,
    of: impl Fn(&Provenance) -> Option<Credit>,
) -> Vec<Contribution> {
    let mut all: Vec<Contribution> =
        known(credits).iter().map(|it| (it.clone(), Some(0.0))).collect();
    let names = |it: &Credit| (it.owner.clone(), it.machine.clone(), it.worker.clone());
    let mut places: HashMap<_, usize> =
        all.iter().enumerate().map(|(at, (it, _))| (names(it), at)).collect();
    for worker in &snapshot.overview.workers {
        let Some(new) = of(&worker.provenance) else { continue };
        let at = *places.entry(names(&new)).or_insert(all.len());
        if at == all.len() {
            all.push((new, Some(0.0)));
        }
        all[at].1 = all[at].1.map(|now| now + worker.rate.placements_per_second);
    }
    all
}

/// The hours that the jobs of an owner have taken, and their share of what is leased now.
fn taken(account: &OwnerView, all: &[OwnerView]) -> Markup {
    let leased =
        account.share_of(all).map_or("–".into(), |share| format!("{:.0}%", 100.0 * share));
    html! {
        h2 { "Its jobs" }
        dl.facts {
            (fact("Processor time", of_threads(account.hours.processor_us)))
            @if account.hours.gpu_us > 0 { (fact("GPU time", of_threads(account.hours.gpu_us))) }
            (fact("Leased now", leased))
            @if account.live_jobs > 0 { (fact("Live jobs", account.live_jobs)) }
        }
    }
}

/// One worker: how it does, and what it has counted of which job.
pub fn worker(
    snapshot: &Snapshot,
    principal: &Principal,
    name: &str,
    credits: &Credits,
    page: usize,
) -> Page {
    let all: Vec<Contribution> = known(credits).iter().map(|it| (it.clone(), None)).collect();
    let sums = sums(&all);
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
    let top = html! {
        h1 { (name) span.sub { " " a href=(of_owner(&principal.owner)) { (principal.owner) } " / " (principal.machine) } }
        (distrust(snapshot.overview.distrusted.iter().filter(|it| it.includes(principal))))
        @for it in now.iter().filter(|it| !it.troubles.is_empty()) {
            p.notice role="status" { "To look at: " (it.troubles.join(", ")) "." }
        }
        (stats([
            ("Placements/s", rate(speed.placements_per_second), html! { (connected_now) }),
            ("A thread", rate(mean), html! { "placements/s, the mean of all that it has counted" }),
            thread_time(&sums), twice(&sums),
        ]))
        @for it in now { (connected(it)) }
    };
    let head = |credit: &Credit| {
        html! {
            @if let Some(job) = credit.job {
                a href=(format!("jobs/{job}")) {
                    (job)
                    @if let Some(job) = snapshot.job(job) { span.sub { (job.spec.plan.to_string()) } }
                }
            } @else {
                "Removed jobs"
            }
        }
    };
    let list = List { first: "Job", address: of_worker(principal, name), page };
    let listed = html! {
        h2 { "What it has counted" }
        (table(&list, snapshot, credits, &all, head))
    };
    list.page(name, &top, &listed)
}

/// The state of a connected worker.
fn connected(Marked { detail, silent, .. }: &Marked<'_>) -> Markup {
    let WorkerView { provenance, backend, threads, .. } = detail;
    html! {
        dl.facts {
            div { dt { "Counts" } dd { (doing(detail)) } }
            (fact("Kernel", format!("{backend}, {}", plural(threads, "thread"))))
            (fact("Program", provenance.program()))
            (fact("Last report", format!("{} ago", time(*silent))))
            (fact("Reported since it came", plural(detail.counted, "task")))
            @if detail.missed > 0 { (fact("Deadlines missed", detail.missed)) }
        }
    }
}

/// A list of what was counted, of which one page is shown.
struct List {
    /// What a row is of, as the head of the first column.
    first: &'static str,
    /// The address of its first page.
    address: String,
    /// The number of the page that is shown, from 0 on.
    page: usize,
}

impl List {
    /// The page of the farm that shows it below `top`.
    fn page(&self, title: &str, top: &Markup, listed: &Markup) -> Page {
        let parts = vec![Part::new("summary", top), Part::new("credits", listed)];
        Page { title: title.into(), root: "", live: self.address("/live", self.page), parts }
    }

    /// The address of a page, with `end` behind its path.
    fn address(&self, end: &str, page: usize) -> String {
        match self.address.split_once('?') {
            Some((path, query)) => format!("{path}{end}?{query}&page={page}"),
            None => format!("{}{end}?page={page}", self.address),
        }
    }
}

fn known(credits: &Credits) -> &[Credit] {
    credits.as_ref().map_or(&[], |credits| credits)
}

fn placements(sums: &Credit) -> Stat {
    ("Placements", short(sums.placements), html! { "in " (plural(sums.tasks, "task")) })
}

fn thread_time(sums: &Credit) -> Stat {
    ("Thread time", of_threads(sums.busy_us), html! { "of one thread" })
}

fn twice(sums: &Credit) -> Stat {
    let contradicted = nonzero([(sums.contradicted, "contradicted")]);
    ("Counted twice alike", grouped(sums.agreed), html! { (contradicted) })
}

/// A table of what was counted. `head` gives the head of a row.
fn table(
    list: &List,
    snapshot: &Snapshot,
    credits: &Credits,
    all: &[Contribution],
    head: impl Fn(&Credit) -> Markup,
) -> Markup {
    let has_rates = all.iter().any(|(_, now)| now.is_some());
    let sum = sums(all).placements;
    let last = all.len().saturating_sub(1) / ON_A_PAGE;
    let page = list.page.min(last);
    html! {
        @if credits.is_none() {
            p.hint { "What was counted is being read from the ledger, if it is a file." }
        }
        table.cards {
            caption { (list.first) "s" }
            thead { tr {
                th scope="col" { (list.first) } th scope="col" { "Kernels" }
                @if has_rates { th.n scope="col" { "Placements/s" } }
                th.n scope="col" { "Placements" } th.c2 scope="col" { "Share" } th.n.c2 scope="col" { "Tasks" }
                th.n scope="col" { "Thread time" } th.n.c3 scope="col" { "Counted twice" }
                th.n.c3 scope="col" { "Contradicted" } th.n.c2 scope="col" { "Last" }
            } }
            tbody { @for (credit, now) in all.iter().skip(page * ON_A_PAGE).take(ON_A_PAGE) { tr {
                th scope="row" { (head(credit)) }
                td data-label="Kernels" {
                    @for kernel in credit.kernels.split(',').filter(|name| !name.is_empty()) { span.chip { (kernel) } " " }
                }
                @if let Some(now) = *now { td.n data-label="Placements/s" { (rate(now)) } }
                td.n data-label="Placements" { (short(credit.placements)) }
                td.c2 data-label="Share" { (share(credit.placements, sum)) }
                td.n.c2 data-label="Tasks" { (grouped(credit.tasks)) }
                td.n data-label="Thread time" { (time(Duration::from_micros(credit.busy_us))) }
                td.n.c3 data-label="Counted twice" { (or_dash(credit.agreed)) }
                td.n.c3.bad[credit.contradicted > 0] data-label="Contradicted" { (or_dash(credit.contradicted)) }
                td.n.c2 data-label="Last" {
                    @if credit.last_ms > 0 { (since(snapshot.unix_ms, credit.last_ms)) } @else { "–" }
                }
            } } }
        }
        (pager("contributions", page, last, |page| list.address("", page)))
        @if known(credits).len() == Credit::MOST {
            p.hint { "Those " (grouped(Credit::MOST as u64)) " with the most placements are listed and summed." }
        }
    }
}

fn sums(all: &[Contribution]) -> Credit {
    all.iter().fold(Credit::default(), |mut sum, (it, _)| {
        sum.placements += it.placements;
        // A ledger may say any numbers.
        sum.tasks = sum.tasks.saturating_add(it.tasks);
        sum.busy_us = sum.busy_us.saturating_add(it.busy_us);
        sum.agreed = sum.agreed.saturating_add(it.agreed);
        sum.contradicted = sum.contradicted.saturating_add(it.contradicted);
        sum
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use farm::Overview;

    use super::*;

    #[test]
    fn many_owners_come_in_pages_of_which_each_leads_to_the_next() {
        let credit = |at| Credit { owner: format!("owner {at}"), ..Credit::default() };
        let credits = Some(Arc::new((0..250).map(credit).collect()));
        let snapshot = Snapshot { overview: Overview::default(), unix_ms: 0 };
        for (page, rows, first, next) in [
            (0, 100, "owner 0<", Some("owners?page=1")),
            (1, 100, "owner 100<", Some("owners?page=2")),
            (usize::MAX, 50, "owner 200<", None),
        ] {
            let page = owners(&snapshot, &credits, page);
            let html: String = page.parts_with(&[]).map(|part| part.html.as_str()).collect();
            assert_eq!(html.matches("<th scope=\"row\">").count(), rows);
            assert!(html.contains(first) && html.contains("of 250 owners"), "{html}");
            let link = html.split("<a href=\"").find(|link| link.contains("rel=\"next\""));
            assert_eq!(link.and_then(|link| link.split('"').next()), next);
        }
        let page = owner(&snapshot, "a b", &None, 3);
        assert_eq!(page.live, "owner/live?owner=a+b&page=3");
    }
}
