//! Jobs as text and as JSON.

use farm::{JobState, JobView};
use serde_json::json;

use crate::progress::{clock, counts_per_second, percent, seconds_left, si};

/// One object on one line. Counts are decimal strings: they pass 2^53.
pub(super) fn json(job: &JobView) -> String {
    let done = job.state == JobState::Done;
    let mut object = json!({
        "job": job.id.0,
        "problem": job.plan.problem.name(),
        "n": job.plan.problem.n(),
        "method": job.plan.method.name(),
        "fingerprint": job.plan.fingerprint().to_string(),
        "priority": job.priority,
        "state": job.state.name(),
        "total": done.then(|| job.total.to_string()),
        "counted": job.total.to_string(),
        "tasks": job.plan.tasks,
        "tasks_done": job.tasks_done,
        "percent": percent(job),
        "workers": job.workers,
        "counts_per_second": counts_per_second(job),
        "seconds_left": seconds_left(job),
        "disputes": job.disputes,
    });
    if let Some((parameter, value)) = job.plan.method.parameter() {
        object[parameter] = value.into();
    }
    object.to_string()
}

/// A line for each job.
pub(super) fn table(jobs: &[JobView]) -> String {
    let mut lines = vec![format!(
        "{:>5}  {:9}  {:>8}  {:28}  {:>6}  {:>7}  {:>8}  {}",
        "JOB", "STATE", "PRIORITY", "PLAN", "DONE", "WORKERS", "DISPUTED", "TOTAL"
    )];
    lines.extend(jobs.iter().map(|job| {
        let total = match job.state {
            JobState::Done => job.total.to_string(),
            _ => "-".into(),
        };
        format!(
            "{:>5}  {:9}  {:>8}  {:28}  {:>5.1}%  {:>7}  {:>8}  {}",
            job.id.0,
            job.state.name(),
            job.priority,
            job.plan.to_string(),
            percent(job),
            job.workers,
            job.disputes,
            total
        )
    }));
    lines.join("\n")
}

/// A line for each thing worth knowing about one job.
pub(super) fn details(job: &JobView) -> String {
    let mut lines = vec![
        format!("job       {}", job.id),
        format!("plan      {}", job.plan),
        format!("state     {}", job.state),
        format!("priority  {}", job.priority),
        format!("done      {:.2}% ({} of {} tasks)", percent(job), job.tasks_done, job.plan.tasks),
        format!("workers   {}", job.workers),
    ];
    match job.state {
        JobState::Done => lines.push(format!("total     {}", job.total)),
        _ => lines.push(format!("counted   {}", job.total)),
    }
    if let Some(counts) = counts_per_second(job) {
        lines.push(format!("speed     {} counts/s", si(counts)));
    }
    if let Some(left) = seconds_left(job) {
        lines.push(format!("left      {}", clock(left)));
    }
    if job.disputes > 0 {
        lines.push(format!(
            "disputed  {} ranges were counted with different results; another worker must count \
             them again",
            job.disputes
        ));
    }
    lines.join("\n")
}
