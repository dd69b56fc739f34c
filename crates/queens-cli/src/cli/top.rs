//! `queens watch` without a job: the whole farm on a terminal, updated every second.

#![cfg_attr(not(test), warn(clippy::arithmetic_side_effects))]

use std::fmt::Write as _;
use std::io::IsTerminal;
use std::time::Duration;

use console::{Term, truncate_str};
use farm::{JobView, WorkerView};
use service::api::Workers;

use super::client::{Client, CoordinatorArgs};
use super::quit_key;
use super::show;
use super::signal::asked_to_stop;
use super::trust;
use crate::advice;
use crate::failure::{Failure, usage};
use crate::progress::{is_dumb, si};
use crate::table::Table;
use crate::terminal::size;

const PAUSE: Duration = Duration::from_secs(1);

/// Shows the farm until the process is asked to stop. Standard output must be a terminal.
pub(super) async fn run(coordinator: &CoordinatorArgs) -> Result<(), Failure> {
    if !std::io::stdout().is_terminal() || is_dumb() {
        return usage(
            "all of the farm is shown only on a terminal that can draw again: name jobs to follow, or print them once with `queens jobs`",
        );
    }
    let mut client = Client::connect(coordinator).await?;
    let terminal = Term::stdout();
    let (mode, quit_typed) = quit_key::typed(true);
    let key = if mode.is_some() { "q" } else { "Ctrl-C" };
    let shown = async {
        let (mut drawn, mut before, mut widths) = (0, size(&terminal), Default::default());
        loop {
            let size = size(&terminal);
            let jobs = client.list(false, size.0.into()).await?;
            let Workers { workers, .. } = client.get("/workers").await?;
            if size != before {
                let _ = terminal.clear_screen();
                (drawn, before, widths) = (0, size, Default::default());
            }
            let text = screen(&jobs, &workers, size, key, &mut widths);
            // Errors are ignored: if the terminal is closed, a signal follows.
            let _ = terminal.move_cursor_up(drawn);
            let _ = terminal.clear_to_end_of_screen();
            let _ = terminal.write_str(&text);
            drawn = text.lines().count();
            tokio::time::sleep(PAUSE).await;
        }
    };
    tokio::select! {
        failed = shown => failed,
        () = quit_typed => Ok(()),
        () = asked_to_stop() => Ok(()),
    }
}

/// The text that fits the terminal: first the jobs that have not ended, then the workers. The
/// columns of both are as wide as they were before, or wider.
fn screen(
    (jobs, are_more): &(Vec<JobView>, bool),
    workers: &[WorkerView],
    (lines, columns): (u16, u16),
    key: &str,
    [of_jobs, of_workers]: &mut [Vec<usize>; 2],
) -> String {
    let columns: usize = columns.into();
    let mut all = Vec::new();
    let threads: u64 = workers.iter().map(|worker| u64::from(worker.threads)).sum();
    let rate: f64 = workers.iter().map(|worker| worker.rate.placements_per_second).sum();
    let rate = if rate > 0.0 { format!(", {} placements/s", si(rate)) } else { String::new() };
    all.push(format!(
        "jobs not ended: {}{}; workers: {}, threads: {threads}{rate}; {key} ends this",
        jobs.len(),
        if *are_more { " and more" } else { "" },
        workers.len(),
    ));
    all.push(String::new());
    // Reasons and workers have half of the lines at least.
    let most = usize::from(lines / 2).max(1);
    let listed: Vec<&JobView> = jobs.iter().take(most).collect();
    match &listed[..] {
        [] => all.push("no job; `queens submit N` adds one".into()),
        _ => {
            let table = show::table(&listed, &show::ONLY_OF_ENDED);
            all.extend(table.lines_within(columns, &show::SPARED, of_jobs).0);
        }
    }
    if jobs.len() > most {
        all.push(format!("and {} more: `queens jobs`", jobs.len().saturating_sub(most)));
    }
    all.extend(show::remarks(&jobs[..listed.len()]));
    all.push(String::new());
    match workers {
        [] => all.push("no worker; `queens worker` starts one".into()),
        _ => all.extend(
            Table::new(workers, &trust::COLUMNS)
                .lines_within(columns, &trust::SPARED, of_workers)
                .0,
        ),
    }
    // The last line stays free, so that the terminal does not scroll.
    let mut text = String::new();
    for line in all.iter().take(lines.saturating_sub(1).into()) {
        let _ = writeln!(text, "{}", truncate_str(&advice::completed(line), columns, ""));
    }
    text
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_screen_is_no_larger_than_the_terminal() {
        let worker = |number: u32| {
            let worker = json!({
                "worker": format!("worker-{number}"), "owner": "lab", "machine": "node", "build": "",
                "backend": "avx2", "threads": 4, "tasks": 0, "tasks_per_second": 0.0,
                "placements_per_second": 0.0, "counted": 0, "missed": 0, "draining": false,
            });
            serde_json::from_value(worker).expect("it is a worker")
        };
        let workers: Vec<WorkerView> = (0..100).map(worker).collect();
        let text = screen(&(Vec::new(), true), &workers, (24, 40), "q", &mut Default::default());
        assert_eq!(text.lines().count(), 23);
        assert!(text.lines().all(|line| line.chars().count() <= 40), "{text}");
        assert!(text.contains("jobs not ended: 0 and more"), "{text}");
        assert!(text.contains("worker-0"), "{text}");
    }
}
