//! The page that a farm shows to everybody: what it counts, and what it has counted.
//!
//! It names no job, no worker and no machine, and only such owners as are passed to it.

use std::time::Duration;

use farm::{Farm, JobState, JobView, Overview};
use maud::{Markup, html};

use crate::frame;
use crate::jobs::{done, state, total};
use crate::parts::{ON_A_PAGE, share, stats};
use crate::problem::meaning;
use crate::snapshot::{Credits, Snapshot};
use crate::text::{end, grouped, moment, or_dash, rate, short, time};

/// The page for everybody. Of the owners in `credits`, it names those that are in `named`.
pub fn public(snapshot: &Snapshot, credits: &Credits, named: &[String]) -> Markup {
    let Overview { live, ended, ended_in_all, workers, .. } = &snapshot.overview;
    let mut live: Vec<&JobView> = live.iter().collect();
    live.sort_by_key(|job| job.rank());
    let finished: Vec<&JobView> = ended.iter().filter(|job| job.state == JobState::Done).collect();
    let body = html! {
        h1 { "What this farm counts" }
        (stats([
            ("Placements/s", rate(snapshot.placements_per_second()), html! {}),
            ("Workers", or_dash(workers.len() as u64), html! {}),
            ("Threads", or_dash(snapshot.threads()), html! {}),
        ]))
        @if !live.is_empty() { h2 { "Now" } }
        @for job in live.iter().take(ON_A_PAGE) { (unfinished(job, snapshot)) }
        @if live.len() > ON_A_PAGE { p.hint { "And " (grouped(live.len() - ON_A_PAGE)) " more." } }
        @if !finished.is_empty() { h2 { "Counted" } (totals(&finished, snapshot)) }
        @if *ended_in_all > Farm::ENDED_SHOWN { p.hint { "Only the latest are listed." } }
        @if live.is_empty() && finished.is_empty() { p.empty { "Nothing yet." } }
        (owners(credits, named))
    };
    let header = html! { div.who { noscript { "times are UTC" } a href="login" { "Log in" } } };
    frame::document("What this farm counts", "", None, &header, &body)
}

fn unfinished(job: &JobView, snapshot: &Snapshot) -> Markup {
    html! {
        div.panel {
            p { strong { (job.spec.plan.problem.to_string()) } " " (state(job)) }
            p.hint { (meaning(job)) }
            (done(job))
            @if let Some(left) = job.seconds_left() {
                p.small {
                    (time(Duration::from_secs_f64(left))) " left, until " (end(snapshot.unix_ms, left))
                }
            }
        }
    }
}

fn totals(finished: &[&JobView], snapshot: &Snapshot) -> Markup {
    html! {
        table.cards {
            caption { "What was counted" }
            thead { tr {
                th scope="col" { "Problem" } th.n scope="col" { "Total" } th.n scope="col" { "Took" }
                th.n.c2 scope="col" { "Ended" }
            } }
            tbody { @for job in finished { tr {
                th scope="row" { (job.spec.plan.problem.to_string()) span.sub { (meaning(job)) } }
                td.n.span data-label="Total" { (total(job)) }
                td.n data-label="Took" { (job.times.counting().map_or("–".into(), time)) }
                td.n.c2 data-label="Ended" {
                    @match job.times.ended_at_ms { Some(at) => (moment(snapshot.unix_ms, at)), None => "–" }
                }
            } } }
        }
    }
}

/// The owners that agreed to be named, with their shares in all that was counted.
fn owners(credits: &Credits, named: &[String]) -> Markup {
    let all = credits.as_ref().map_or(&[][..], |credits| credits.as_slice());
    let sum = all.iter().map(|credit| credit.placements).sum();
    let shown: Vec<_> = all.iter().filter(|credit| named.contains(&credit.owner)).collect();
    html! {
        @if !shown.is_empty() {
            h2 { "By" }
            table.cards {
                caption { "Owners of workers that agreed to be named" }
                thead { tr {
                    th scope="col" { "Owner" } th.n scope="col" { "Placements" } th scope="col" { "Share" }
                } }
                tbody { @for credit in shown { tr {
                    th scope="row" { (credit.owner) }
                    td.n data-label="Placements" { (short(credit.placements)) }
                    td data-label="Share" { (share(credit.placements, sum)) }
                } } }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use farm::Credit;

    use super::*;

    #[test]
    fn only_owners_that_agreed_are_named_with_their_share_of_all() {
        let credit = |owner: &str, placements| Credit {
            owner: owner.into(),
            machine: "private machine".into(),
            worker: "private worker".into(),
            placements,
            ..Credit::default()
        };
        let credits = vec![credit("ann", 1e6), credit("bob", 3e6), credit("annabel", 4e6)];
        let snapshot = Snapshot { overview: Overview::default(), unix_ms: 0 };
        let page = |named: &[&str]| {
            let named: Vec<String> = named.iter().map(|name| name.to_string()).collect();
            public(&snapshot, &Some(Arc::new(credits.clone())), &named).into_string()
        };
        let some = page(&["ann", "carl"]);
        assert!(some.contains(">ann<") && some.contains("12.5%"), "{some}");
        for private in ["bob", "annabel", "carl", "private"] {
            assert!(!some.contains(private), "{private}: {some}");
        }
        assert!(!page(&[]).contains("agreed"), "nobody agreed");
    }
}
