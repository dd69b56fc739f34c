//! Jobs as text and as JSON.

use std::io::IsTerminal;
use std::time::{Duration, UNIX_EPOCH};

use bytesize::ByteSize;
use farm::{AuditPolicy, JobSpec, JobState, JobView, Problem};
use serde_json::{Value, json};

use crate::progress::{bar, clock, si};
use crate::table::Table;

/// A job as a JSON object on one line, the same wherever a job is printed: docs/JSON.md. Counts are decimal strings, because
/// they may exceed 2^53. `others` are jobs of the same coordinator, if it may wait for them.
pub(super) fn json(job: &JobView, others: &[JobView]) -> String {
    object(job, others).to_string()
}

/// The squares of the given queens, for problems that have such.
pub(super) fn given(problem: &Problem) -> Option<String> {
    problem.given().map(ToString::to_string)
}

fn object(job: &JobView, others: &[JobView]) -> Value {
    let JobSpec { origin, plan, slice, priority } = &job.spec;
    let parameter = |name| plan.method.parameter().filter(|(of, _)| *of == name).map(|(_, it)| it);
    let is_part = !slice.is_all();
    json!({
        "job": job.id.0,
        "owner": origin.owner,
        "name": origin.key,
        "problem": plan.problem.name(),
        "n": plan.problem.n(),
        "given": given(&plan.problem),
        "method": plan.method.name(),
        "rows": parameter("rows"),
        "width": parameter("width"),
        "fingerprint": plan.fingerprint().to_string(),
        "shard": is_part.then(|| slice.index()),
        "shards": is_part.then(|| slice.of()),
        "shard_tasks": is_part.then(|| job.tasks()),
        "priority": priority,
        "state": job.state.name(),
        "waits_for": job.waits_for(others),
        "total": job.total.map(|total| total.to_string()),
        "counted": job.counted.to_string(),
        "tasks": plan.tasks,
        "tasks_done": job.tasks_done,
        "percent": job.percent(),
        "workers": job.workers,
        "able_workers": job.able_workers,
        "least_thread_memory_bytes": job.thread_memory,
        "tasks_per_second": known(job.rate.tasks_per_second),
        "placements_per_second": known(job.rate.placements_per_second),
        "seconds_left": job.seconds_left(),
        "disputes": job.disputes,
        "disputed": job.disputed,
        "audits_wanted": job.audits_wanted,
        "audits_agreed": job.audits_agreed,
        "audits_stranded": job.audits_stranded,
        "audit_across": job.audit.map(|audit| audit.across.name()),
        "audit_share": job.audit.map(|audit| f64::from(audit.share_ppm) / f64::from(AuditPolicy::ALL)),
        "suspended": job.suspended,
        "failed": job.failed,
        "failed_first": job.failed_first,
        "submitted_at_ms": job.times.submitted_at_ms,
        "begun_at_ms": job.times.begun_at_ms,
        "ended_at_ms": job.times.ended_at_ms,
        "processor_hours": job.hours.processor(),
        "gpu_hours": job.hours.gpu(),
    })
}

/// A rate for JSON. `None` if it is 0, which means that it is not known.
pub(super) fn known(rate: f64) -> Option<f64> {
    (rate > 0.0).then_some(rate)
}

/// The state of a job, and whether it is audited after its end.
pub(super) fn state(job: &JobView) -> String {
    match (job.state, job.audits_wanted) {
        (JobState::Done, 1..) => "done, audited".into(),
        (state, _) => state.to_string(),
    }
}

/// The reason why the job is suspended.
fn suspended(job: &JobView) -> Option<String> {
    let reason = job.suspended.as_ref()?;
    Some(format!("{reason}; `queens audit {} --all` has it counted again", job.id))
}

/// The progress of the audit.
fn audits(job: &JobView) -> Option<String> {
    let policy = job.audit?;
    let share = 100.0 * f64::from(policy.share_ppm) / f64::from(AuditPolicy::ALL);
    let waiting = match job.audits_wanted {
        0 => String::new(),
        wanted => format!(", {wanted} to be counted again by another machine or owner"),
    };
    Some(format!(
        "audit     {share}% of the ranges: {} counted twice alike{waiting}",
        job.audits_agreed
    ))
}

/// Whether [`JobView::waits_for`] must see the other jobs to say why nobody counts this one.
pub(super) fn may_wait_for_others(job: &JobView) -> bool {
    job.state == JobState::Running && job.workers == 0 && job.able_workers > 0
}

/// The failed tasks, which are no longer leased, and what to do about them.
fn failed_tasks(job: &JobView) -> Option<String> {
    let named = job.failed_first.iter().map(u64::to_string).collect::<Vec<_>>().join(", ");
    let more = if job.failed > job.failed_first.len() as u64 { ", …" } else { "" };
    let s = plural(job.failed, "s");
    (job.failed > 0 && !job.state.is_over()).then(|| {
        format!(
            "{} task{s} ({named}{more}) of which each was lost three times or more with its worker; look into \
             their logs and how they ended (status 137 or oom-kill: the system killed them for lack of \
             memory), give them less --memory, another build or --backend, then `queens resume {}`",
            job.failed, job.id
        )
    })
}

/// The ending of a plural, if the number is not 1.
pub(super) fn plural(number: u64, end: &str) -> &str {
    if number == 1 { "" } else { end }
}

/// The owner of the job. The job of merged ledgers has none.
fn owner(job: &JobView) -> &str {
    match job.spec.origin.owner.as_str() {
        "" => "unknown",
        owner => owner,
    }
}

fn size(bytes: u64) -> impl std::fmt::Display {
    ByteSize(bytes).display().iec()
}

/// The columns of [`table`] that a narrow terminal leaves out, the least important first.
pub(super) const SPARED: [&str; 12] = [
    "GPU-HOURS",
    "CPU-HOURS",
    "SUBMITTED",
    "WAITED",
    "OWNER",
    "TASKS/S",
    "PRIORITY",
    "TOOK",
    "DISPUTED",
    "WORKERS",
    "NAME",
    "PLACEMENTS/S",
];

/// The columns for ended jobs alone, and those for all others alone.
pub(super) const OF_ENDED: [&str; 2] = ["TOOK", "TOTAL"];
pub(super) const OF_LIVE: [&str; 4] = ["PRIORITY", "LEFT", "WORKERS", "DISPUTED"];

/// A number of something per second, or a dash if it is not known.
pub(super) fn rate(rate: f64) -> String {
    if rate == 0.0 { "-".into() } else { si(rate) }
}

/// Hours with two decimal places.
pub(super) fn hours(hours: f64) -> String {
    format!("{hours:.2}")
}

/// A table of jobs, with bars on a terminal.
pub(super) fn table<'a>(jobs: impl IntoIterator<Item = &'a JobView>) -> Table {
    let has_bars = std::io::stdout().is_terminal();
    let mut table = Table::new(&[
        ("JOB", true),
        ("STATE", false),
        ("OWNER", false),
        ("NAME", false),
        ("PRIORITY", true),
        ("PLAN", false),
        ("DONE", true),
        ("TASKS/S", true),
        ("PLACEMENTS/S", true),
        ("LEFT", true),
        ("SUBMITTED", false),
        ("WAITED", true),
        ("TOOK", true),
        ("CPU-HOURS", true),
        ("GPU-HOURS", true),
        ("WORKERS", true),
        ("DISPUTED", true),
        ("TOTAL", false),
    ]);
    for job in jobs {
        let dash = || "-".to_string();
        table.push(vec![
            job.id.to_string(),
            state(job),
            owner(job).into(),
            job.spec.origin.key.clone().unwrap_or_else(dash),
            job.spec.priority.to_string(),
            job.spec.plan.to_string(),
            match format!("{:.1}%", job.percent()) {
                percent if has_bars => format!("{} {percent:>6}", bar(job.percent() / 100.0, 10)),
                percent => percent,
            },
            rate(job.rate.tasks_per_second),
            rate(job.rate.placements_per_second),
            job.seconds_left().map_or_else(dash, clock),
            job.times.submitted_at_ms.map_or_else(dash, utc),
            waited(job).map_or_else(dash, clock),
            took(job).map_or_else(dash, brief),
            hours(job.hours.processor()),
            hours(job.hours.gpu()),
            job.workers.to_string(),
            job.disputes.to_string(),
            job.total.map_or_else(dash, |total| total.to_string()),
        ]);
    }
    table
}

/// A time in UTC, to the minute. Those before 1970 and after 9999 are the first and the last between.
pub(super) fn utc(unix_ms: i64) -> String {
    const LAST: u64 = 253_402_300_799_000;
    let text = UNIX_EPOCH + Duration::from_millis(u64::try_from(unix_ms).unwrap_or(0).min(LAST));
    let text = humantime::format_rfc3339_seconds(text).to_string();
    text.get(..16).unwrap_or(&text).replace('T', " ")
}

/// Seconds from the submission of a job to its first lease.
fn waited(job: &JobView) -> Option<f64> {
    Some((job.times.begun_at_ms? - job.times.submitted_at_ms?).max(0) as f64 / 1e3)
}

/// Seconds from the first lease of a job to its end.
fn took(job: &JobView) -> Option<f64> {
    job.times.counting().map(|took| took.as_secs_f64())
}

/// A time that may be less than a second.
fn brief(seconds: f64) -> String {
    if seconds < 10.0 { format!("{seconds:.1}s") } else { clock(seconds) }
}

/// The line that ends a job that was followed: how long it was counted and waited, and how fast.
pub(super) fn ended(job: &JobView) -> Option<String> {
    let speed = match job.rate.placements_per_second {
        0.0 => String::new(),
        rate => format!(", {} placements/s", si(rate)),
    };
    Some(format!("done in {}{speed}; waited {}", brief(took(job)?), brief(waited(job)?)))
}

/// Remarks below the table of jobs: what they wait for, failed tasks, why they are suspended. `all` are the jobs of the
/// coordinator.
pub(super) fn remarks(jobs: &[JobView], all: &[JobView]) -> Vec<String> {
    let of = |job: &JobView| {
        let remarks = [
            audited(job).map(|what| format!("is {what}")),
            job.waits_for(all).map(|what| format!("waits for {what}")),
            failed_tasks(job).map(|tasks| format!("leases no more of {tasks}")),
            suspended(job).map(|reason| format!("is suspended: {reason}")),
            disputed(job).map(|what| format!("is disputed: {what}")),
        ];
        let id = job.id;
        remarks.into_iter().flatten().map(move |remark| format!("job {id} {remark}"))
    };
    jobs.iter().flat_map(of).collect()
}

/// The number of ranges of a finished job that are being counted again, if there are any.
pub(super) fn audited(job: &JobView) -> Option<String> {
    let is_audited = job.state == JobState::Done && job.audits_wanted > 0;
    let (ranges, are) =
        (job.audits_wanted, if job.audits_wanted == 1 { "range is" } else { "ranges are" });
    is_audited.then(|| format!("done, {ranges} {are} being counted again"))
}

/// The first disputed range, and which owner is asked to settle it.
pub(super) fn disputed(job: &JobView) -> Option<String> {
    let what = job.disputed.as_ref()?;
    Some(match job.disputes {
        ..=1 => what.clone(),
        disputes => format!("{disputes} ranges; {what}"),
    })
}

/// The thread time of the job's counts.
fn thread_hours(job: &JobView) -> String {
    let processor = format!("{:.2} of processors", job.hours.processor());
    match job.hours.gpu_us {
        0 => processor,
        _ => format!("{processor}, {:.2} of graphics processors", job.hours.gpu()),
    }
}

/// One job as text, one property a line; `others` are jobs of the same coordinator, if it may wait for them.
pub(super) fn details(job: &JobView, others: &[JobView]) -> String {
    let mut lines = vec![
        format!("job       {}", job.id),
        format!("plan      {}", job.spec.plan),
        format!("state     {}", state(job)),
        format!("owner     {}", owner(job)),
        format!("priority  {}", job.spec.priority),
        format!("done      {:.2}% ({} of {} tasks)", job.percent(), job.tasks_done, job.tasks()),
        format!("workers   {}", job.workers),
    ];
    lines.extend(job.spec.origin.key.as_ref().map(|key| format!("name      {key}")));
    lines.extend(job.times.submitted_at_ms.map(|at_ms| format!("submitted {} UTC", utc(at_ms))));
    lines.extend(waited(job).map(|waited| format!("waited    {}", clock(waited))));
    lines.extend(job.times.ended_at_ms.map(|at_ms| format!("ended     {} UTC", utc(at_ms))));
    lines.extend(took(job).map(|took| format!("took      {}", brief(took))));
    lines.push(format!("hours     {}", thread_hours(job)));
    if job.thread_memory > 0 {
        lines.push(format!("memory    {} or more a thread", size(job.thread_memory)));
    }
    lines.extend(suspended(job).map(|reason| format!("suspended {reason}")));
    lines.extend(job.waits_for(others).map(|what| format!("waits     for {what}")));
    lines.extend(job.total.map(|total| format!("total     {total}")));
    let symmetry = if job.spec.plan.problem.counts_orbits() { " before symmetry" } else { "" };
    if job.total != Some(job.counted) {
        lines.push(format!("counted   {}{symmetry}", job.counted));
    }
    if job.rate.tasks_per_second > 0.0 {
        let (tasks, placements) = (job.rate.tasks_per_second, job.rate.placements_per_second);
        lines.push(format!("speed     {} placements/s, {} tasks/s", si(placements), si(tasks)));
    }
    if let Some(left) = job.seconds_left() {
        lines.push(format!("left      {}", clock(left)));
    }
    if !job.spec.slice.is_all() {
        lines.push(format!("part      {} of the plan: its sum is no total", job.spec.slice));
    }
    lines.extend(audits(job));
    lines.extend(disputed(job).map(|what| format!("disputed  {what}")));
    lines.extend(failed_tasks(job).map(|failed_tasks| format!("failed    {failed_tasks}")));
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use farm::{AuditScope, AuditView, JobId, JobSpec, Method, Origin, Plan, Problem};

    use super::*;

    fn spec(priority: i32) -> JobSpec {
        let plan = Plan { problem: Problem::Total { n: 8 }, method: Method::Halves, tasks: 100 };
        JobSpec { origin: Origin::default(), plan, slice: farm::Slice::ALL, priority }
    }

    fn job() -> JobView {
        JobView {
            id: JobId(1),
            spec: spec(0),
            state: JobState::Running,
            tasks_done: 0,
            counted: 0,
            total: None,
            thread_memory: 0,
            workers: 3,
            able_workers: 0,
            us_left: None,
            rate: farm::Rate::default(),
            threads: 0,
            disputes: 0,
            disputed: None,
            audit: None,
            suspended: None,
            audits_wanted: 0,
            audits_agreed: 0,
            audits_stranded: Some(0),
            failed: 0,
            failed_first: Vec::new(),
            times: farm::Times::default(),
            hours: farm::Hours::default(),
            is_over_limit: false,
        }
    }

    fn remarked(job: &JobView) -> String {
        remarks(std::slice::from_ref(job), &[]).concat()
    }

    #[test]
    fn a_job_that_is_worked_on_waits_for_nobody() {
        let mut job = job();
        assert!(!details(&job, &[]).contains("waits"), "workers hold ranges of it");

        job.workers = 0;
        assert!(details(&job, &[]).contains("waits     for a worker"));
        job.able_workers = 1;
        assert!(!details(&job, &[]).contains("waits"));
    }

    #[test]
    fn a_job_waits_for_the_first_of_those_that_are_served_before_it() {
        let at = |id, priority, workers| JobView {
            id: JobId(id),
            spec: spec(priority),
            workers,
            able_workers: 1,
            ..job()
        };
        let idle = at(5, 1, 0);
        let waits_for = |others: &[JobView]| idle.waits_for(others);
        assert_eq!(waits_for(&[at(4, 0, 1), at(6, 1, 1), at(3, 2, 0)]), None);
        let before = [at(4, 1, 1), at(9, 2, 1), at(1, 2, 0)];
        assert_eq!(waits_for(&before), Some("job 9, which is served first".into()));
        let done = JobView { state: JobState::Done, ..at(9, 2, 1) };
        assert_eq!(waits_for(&[done, at(4, 1, 1)]), Some("job 4, which is served first".into()));
        let jobs = [idle.clone(), at(4, 1, 1)];
        assert_eq!(remarks(&jobs, &jobs), ["job 5 waits for job 4, which is served first"]);
    }

    #[test]
    fn second_counts_that_no_worker_may_give_are_named_with_what_would_help() {
        let audit = |across| Some(AuditView { share_ppm: 1, by_search: false, across });
        let waiting = JobView { able_workers: 1, tasks_done: 100, audits_wanted: 7, ..job() };
        assert_eq!(waiting.waits_for(&[]), None, "somebody may count them");
        for state in [JobState::Running, JobState::Done] {
            let job = JobView { state, audits_stranded: Some(3), ..waiting.clone() };
            for (across, who) in [
                (AuditScope::Machines, "a worker on another machine to count 3 ranges again"),
                (AuditScope::Owners, "a worker of another owner to count 3 ranges again"),
            ] {
                let said = details(&JobView { audit: audit(across), ..job.clone() }, &[]);
                assert!(said.contains(who) && said.contains("queens audit 1 --withdraw"), "{said}");
            }
        }
        let done = JobView { state: JobState::Done, ..waiting };
        assert!(remarked(&done).contains("job 1 is done, 7 ranges are being counted again"));
    }

    #[test]
    fn failed_tasks_are_named_with_the_way_out() {
        let failed_first = vec![3, 14];
        let job = JobView { failed: 2, failed_first, ..job() };
        for text in [details(&job, &[]), remarked(&job)] {
            let is_reported =
                text.contains("2 tasks (3, 14)") && text.contains("`queens resume 1`");
            assert!(is_reported && text.contains("--backend"), "{text}");
        }
        assert!(remarked(&JobView { failed: 9, ..job }).contains("(3, 14, …)"));
    }
}
