//! Jobs as text and as JSON.

#![cfg_attr(not(test), warn(clippy::arithmetic_side_effects))]

use std::io::{IsTerminal, stdout};
use std::time::{Duration, UNIX_EPOCH};

use farm::{AuditPolicy, JobState, JobView};

use crate::output;
use crate::progress::{bar, clock, si};
use crate::table::{Column, Table, dash};
use crate::terminal::Style;

/// A rate for JSON. `None` if it is 0, which means that it is not known.
pub(super) fn known(rate: f64) -> Option<f64> {
    (rate > 0.0).then_some(rate)
}

/// The state of a job, and whether it is audited after its end.
pub(super) fn state(job: &JobView) -> String {
    let audited = if job.audited().is_some() { ", under audit" } else { "" };
    format!("{}{audited}", job.state_name())
}

/// The state in the colour of what it asks of the reader: nothing, patience, or a look.
fn coloured_state(job: &JobView) -> String {
    let style = match job.state {
        _ if job.suspended.is_some() || job.disputes > 0 => Style::Red,
        JobState::Cancelled => Style::Red,
        _ if job.audited().is_some() || job.waits_for.is_some() => Style::Yellow,
        JobState::Running | JobState::Done => Style::Green,
        _ => Style::Yellow,
    };
    output::painted(style, &state(job))
}

fn audits(job: &JobView) -> Option<String> {
    let policy = job.audit?;
    let share = 100.0 * f64::from(policy.share_ppm) / f64::from(AuditPolicy::ALL);
    let waiting = match job.audits_wanted {
        0 => String::new(),
        _ if job.state == JobState::Cancelled => String::new(),
        wanted => format!(", {wanted} to be counted again by another machine or owner"),
    };
    Some(format!("{share}% of the ranges: {} counted twice alike{waiting}", job.audits_agreed))
}

/// The ending of a plural, if the number is not 1.
pub(super) fn plural(number: u64, end: &str) -> &str {
    if number == 1 { "" } else { end }
}

/// The name of an owner, or "unknown": the job of merged ledgers has no owner.
fn owner(name: &str) -> &str {
    if name.is_empty() { "unknown" } else { name }
}

/// Those of [`COLUMNS`] that a narrow terminal leaves out, the least important first.
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
pub(super) const ONLY_OF_ENDED: [&str; 2] = ["TOOK", "TOTAL"];
pub(super) const ONLY_OF_LIVE: [&str; 5] = ["PRIORITY", "DONE", "LEFT", "WORKERS", "DISPUTED"];

/// A number of something per second, or a dash if it is not known.
pub(super) fn rate(rate: f64) -> String {
    if rate == 0.0 { "-".into() } else { si(rate) }
}

fn hours(hours: f64) -> String {
    format!("{hours:.2}")
}

const COLUMNS: [Column<JobView>; 18] = [
    ("JOB", true, |job| job.id.to_string()),
    ("STATE", false, coloured_state),
    ("OWNER", false, |job| owner(&job.spec.origin.owner).into()),
    ("NAME", false, |job| job.spec.origin.key.clone().unwrap_or_else(dash)),
    ("PRIORITY", true, |job| job.spec.priority.to_string()),
    ("PLAN", false, |job| job.spec.plan.to_string()),
    ("DONE", true, done),
    ("TASKS/S", true, |job| rate(job.rate.tasks_per_second)),
    ("PLACEMENTS/S", true, |job| rate(job.rate.placements_per_second)),
    ("LEFT", true, |job| job.seconds_left().map_or_else(dash, clock)),
    ("SUBMITTED", false, |job| job.times.submitted_at_ms.map_or_else(dash, utc)),
    ("WAITED", true, |job| waited(job).map_or_else(dash, clock)),
    ("TOOK", true, |job| took(job).map_or_else(dash, brief)),
    ("CPU-HOURS", true, |job| hours(job.hours.processor())),
    ("GPU-HOURS", true, |job| hours(job.hours.gpu())),
    ("WORKERS", true, |job| job.workers.to_string()),
    ("DISPUTED", true, |job| job.disputes.to_string()),
    ("TOTAL", false, |job| job.total.map_or_else(dash, |total| total.to_string())),
];

/// How much of a job is done, with a bar on a terminal.
///
/// Of a job that is all counted once, it is how many ranges of its audit are counted twice.
fn done(job: &JobView) -> String {
    if job.percent() >= 100.0 && job.audits_wanted > 0 && job.state != JobState::Cancelled {
        let all = job.audits_agreed.saturating_add(job.audits_wanted);
        return format!("audit {}/{all}", job.audits_agreed);
    }
    let percent = format!("{:.1}%", job.percent());
    match stdout().is_terminal() {
        true => format!("{} {percent:>6}", bar(job.percent() / 100.0, 10)),
        false => percent,
    }
}

/// The bar before the share in the details of a job; empty if nobody sees it.
fn details_bar(job: &JobView) -> String {
    const CELLS: usize = 20;
    match stdout().is_terminal() {
        true => format!("{}  ", output::painted(Style::Green, &bar(job.percent() / 100.0, CELLS))),
        false => String::new(),
    }
}

pub(super) fn table(jobs: &[&JobView], without: &[&str]) -> Table {
    let mut columns = COLUMNS.to_vec();
    columns.retain(|(name, ..)| !without.contains(name));
    Table::new(jobs.iter().copied(), &columns)
}

/// A time in UTC, to the minute. A time before 1970 or after the year 9999 is shown as unknown.
pub(super) fn utc(unix_ms: i64) -> String {
    const LAST: u64 = 253_402_300_799_000;
    let Some(unix_ms) = u64::try_from(unix_ms).ok().filter(|&unix_ms| unix_ms <= LAST) else {
        return "an unknown time".into();
    };
    let at = UNIX_EPOCH.checked_add(Duration::from_millis(unix_ms)).expect("it has four digits");
    let text = humantime::format_rfc3339_seconds(at).to_string();
    format!("{} UTC", text.get(..16).unwrap_or(&text).replace('T', " "))
}

/// Seconds from the submission of a job to its first lease.
fn waited(job: &JobView) -> Option<f64> {
    let (begun, submitted) = (job.times.begun_at_ms?, job.times.submitted_at_ms?);
    Some(begun.saturating_sub(submitted).max(0) as f64 / 1e3)
}

/// Seconds for which a job was counted, without pauses and audits.
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

pub(super) fn remarks(jobs: &[JobView]) -> Vec<String> {
    let of = |job: &JobView| {
        let id = job.id;
        job.remarks().into_iter().map(move |remark| format!("job {id} {remark}"))
    };
    jobs.iter().flat_map(of).collect()
}

/// One job as text, one property a line.
pub(super) fn details(job: &JobView) -> String {
    let JobView { id, spec, times, rate, .. } = job;
    let symmetry = if spec.plan.problem.counts_orbits() { " before symmetry" } else { "" };
    let time = utc;
    let speed =
        |tasks| format!("{} placements/s, {} tasks/s", si(rate.placements_per_second), si(tasks));
    let properties = [
        ("job", Some(id.to_string())),
        ("plan", Some(spec.plan.to_string())),
        ("state", Some(coloured_state(job))),
        ("owner", Some(owner(&spec.origin.owner).into())),
        ("priority", Some(spec.priority.to_string())),
        (
            "done",
            Some(format!(
                "{}{:.2}% ({} of {} tasks)",
                details_bar(job),
                job.percent(),
                job.tasks_done,
                job.tasks()
            )),
        ),
        ("workers", Some(job.workers.to_string())),
        ("name", spec.origin.key.clone()),
        ("submitted", times.submitted_at_ms.map(time)),
        ("waited", waited(job).map(clock)),
        ("ended", times.ended_at_ms.map(time)),
        ("took", took(job).map(brief)),
        ("hours", Some(format!("{} of processors", hours(job.hours.processor())))),
        ("gpu hours", (job.hours.gpu_us > 0).then(|| hours(job.hours.gpu()))),
        ("total", job.total.map(|total| total.to_string())),
        ("counted", (job.total != Some(job.counted)).then(|| format!("{}{symmetry}", job.counted))),
        ("speed", known(rate.tasks_per_second).map(speed)),
        ("left", job.seconds_left().map(clock)),
        (
            "shard",
            (!spec.shard.is_all())
                .then(|| format!("{} of the plan: its sum is no total", spec.shard)),
        ),
        ("audit", audits(job)),
    ];
    let there = properties.into_iter().filter_map(|(name, value)| Some((name, value?)));
    let notes = job.remarks().into_iter().map(|remark| ("note", format!("it {remark}")));
    let lines = there.chain(notes).map(|(name, value)| format!("{name:<9} {value}"));
    lines.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use board::{Method, Problem};
    use farm::{AuditPolicy, AuditScope, Hours, JobId, JobSpec, Origin, Plan, Rate, Shard, Times};
    use serde_json::{Value, json};

    use super::*;

    /// A job with all that a job may have.
    fn job() -> JobView {
        let (problem, method) = (Problem::Total { n: 12 }, Method::Prefixes { rows: 3 });
        let plan = Plan { problem, method, tasks: 3 };
        let (origin, shard) = (Origin::of("lab"), Shard::new(1, 2).expect("it is a part"));
        JobView {
            id: JobId(1),
            spec: JobSpec { origin, plan, shard, priority: 1 },
            state: JobState::Done,
            tasks_done: 4,
            counted: 5,
            total: Some(6),
            workers: 6,
            able_workers: 7,
            us_left: Some(8),
            rate: Rate { tasks_per_second: 9.5, placements_per_second: 0.5 },
            threads: 3,
            disputes: 10,
            disputed: Some("two owners disagree".into()),
            audit: Some(AuditPolicy {
                share_ppm: 1,
                seed: 0,
                by_reference: true,
                across: AuditScope::Machines,
            }),
            suspended: Some("the total is odd".into()),
            audits_wanted: 11,
            audits_agreed: 12,
            audits_stranded: Some(13),
            failed: 14,
            failed_first: vec![1],
            times: Times {
                submitted_at_ms: Some(1),
                begun_at_ms: Some(24),
                counted_at_ms: Some(26),
                paused_at_ms: Some(28),
                paused_ms: 27,
                ended_at_ms: Some(25),
            },
            hours: Hours { processor_us: 26, gpu_us: 27 },
            waits_for: Some("a worker: none is connected".into()),
            awaits_turn: true,
        }
    }

    /// The number, and the text of a number, in place of a value of the same kind.
    fn in_place_of(value: &Value, number: &Value) -> Option<Value> {
        match value {
            Value::Number(_) => Some(number.clone()),
            Value::String(text) if text.parse::<f64>().is_ok() => Some(number.to_string().into()),
            Value::Array(values) => {
                Some(values.iter().filter_map(|value| in_place_of(value, number)).collect())
            }
            _ => None,
        }
    }

    /// A coordinator may say any number in any field. Each is tried in each field, and in all
    /// fields that may have it at once.
    #[test]
    fn a_job_with_any_numbers_can_be_shown() {
        let whole = serde_json::to_value(job()).expect("it is JSON");
        let numbers = [
            json!(i64::MIN),
            json!(-1),
            json!(0),
            json!(i64::MAX),
            json!(u64::MAX),
            json!(1e300),
            json!(-1e300),
        ];
        for state in JobState::ALL {
            for number in &numbers {
                let mut all = whole.clone();
                all["state"] = serde_json::to_value(state).expect("it is text");
                let fields: Vec<String> =
                    whole.as_object().expect("it has fields").keys().cloned().collect();
                let mut shown = 0;
                for field in fields {
                    let Some(other) = in_place_of(&whole[&field], number) else { continue };
                    let before = all[&field].take();
                    all[&field] = other;
                    let Ok(job) = serde_json::from_value::<JobView>(all.clone()) else {
                        all[&field] = before;
                        continue;
                    };
                    shown += 1;
                    assert!(
                        !details(&job).is_empty()
                            && ended(&job).is_none_or(|text| !text.is_empty())
                    );
                    assert!(
                        table(&[&job], &[]).lines_within(200, &[], &mut Vec::new()).0.len() > 1
                    );
                    remarks(std::slice::from_ref(&job));
                    crate::progress::Progress::new(true, true).show(&job);
                }
                assert!(shown > 0, "{number}");
            }
        }
    }

    #[test]
    fn a_time_that_no_clock_can_say_is_shown_as_unknown() {
        for unix_ms in [i64::MIN, -1, 253_402_300_799_001, i64::MAX] {
            assert_eq!(utc(unix_ms), "an unknown time");
        }
        assert_eq!(utc(0), "1970-01-01 00:00 UTC");
    }
}
