//! `queens export` and `queens verify`: evidence of a count, for others to check.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use evidence::{Checked, Exported, RecountEffort, Recounted, Sample, confidence};
use farm::{Held, JobId, JobState, Known, Refusal, RestoredJob};
use ledger::{Evidence, LedgerFault, unix_ms};
use serde_json::json;

use super::args::CountingArgs;
use crate::failure::Failure;
use crate::output;
use crate::progress::clock;

#[derive(Debug, Args)]
pub(super) struct ExportArgs {
    /// The job's number
    job: u64,
    /// The file to write; it must not exist yet
    bundle: PathBuf,
    /// The ledger that has the job; its coordinator may go on meanwhile
    #[arg(long, value_name = "FILE", env = "QUEENS_LEDGER")]
    ledger: PathBuf,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
pub(super) struct VerifyArgs {
    /// The bundle, as `queens export` writes it
    bundle: PathBuf,
    /// How many ranges are counted again at most, drawn at random
    #[arg(long, value_name = "RANGES", default_value_t = 200, env = "QUEENS_SAMPLE")]
    sample: usize,
    /// Seconds after which no further range is begun
    #[arg(long, value_name = "SECONDS", default_value_t = 60, env = "QUEENS_SECONDS")]
    seconds: u64,
    /// Count every range again, however long it takes
    #[arg(long, conflicts_with_all = ["sample", "seconds"])]
    all: bool,
    /// Ranges of `halves` are counted by searching below their tasks, which takes a hundred times as
    /// long [default: by another counting loop than theirs]
    #[arg(long)]
    search: bool,
    /// Decides which ranges are drawn [default: a random seed]
    #[arg(long)]
    seed: Option<u64>,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    counting: CountingArgs,
}

pub(super) fn export(args: &ExportArgs) -> Result<(), Failure> {
    let job = JobId(args.job);
    let at_ledger = |fault: LedgerFault| fault.at(Some(&args.ledger));
    let evidence = Evidence::open(&args.ledger).map_err(at_ledger)?;
    let known = evidence.jobs().iter().find(|known| known.id == job);
    let known = known.ok_or(Failure::Job(Refusal::NoSuchJob(job)))?;
    if known.state == JobState::Done {
        check_done(known, &args.ledger)?;
    }
    let exported =
        evidence::export(known, unix_ms(), &args.bundle, |see| evidence.for_each(job, see));
    let Exported { header, name } = exported.map_err(|fault| match fault {
        ExportFault::Ledger(fault) => at_ledger(fault).into(),
        ExportFault::Output(error) => {
            Failure::Output { what: args.bundle.display().to_string(), reason: error.to_string() }
        }
    })?;
    if args.json {
        return output::print(json!({
            "bundle": args.bundle.display().to_string(),
            "name": name.to_string(),
            "merkle_root": header.merkle_root,
            "state": header.state,
            "ranges": header.ranges,
            "audits": header.audits,
            "disputes": header.disputes,
        }));
    }
    output::print(format!(
        "{}: {} ranges, {} second counts, {} disputed counts\nname      {name}",
        args.bundle.display(),
        header.ranges,
        header.audits,
        header.disputes
    ))
}

/// Checks the total of a job that a ledger calls done. An earlier version may have done so.
fn check_done(job: &RestoredJob, ledger: &Path) -> Result<(), Failure> {
    let reason = Known::of(&job.plan, job.slice).contradiction(job.total);
    reason.map_or(Ok(()), |reason| {
        let (what, held) = (job.plan.to_string(), Held { reason, worst: Vec::new() });
        Err(Failure::TotalHeld { what, held, ledger: Some(ledger.to_path_buf()) })
    })
}

/// Why a bundle was not written.
enum ExportFault {
    Ledger(LedgerFault),
    Output(io::Error),
}

impl From<LedgerFault> for ExportFault {
    fn from(fault: LedgerFault) -> ExportFault {
        ExportFault::Ledger(fault)
    }
}

impl From<io::Error> for ExportFault {
    fn from(error: io::Error) -> ExportFault {
        ExportFault::Output(error)
    }
}

pub(super) fn verify(args: &VerifyArgs) -> Result<(), Failure> {
    let refused = |reason: String| Failure::Bundle { path: args.bundle.clone(), reason };
    let unreadable = |error: std::io::Error| {
        Failure::Usage(format!(
            "cannot read the bundle {} ({error}); name a file that `queens export` has written",
            args.bundle.display()
        ))
    };
    std::fs::File::open(&args.bundle).map_err(unreadable)?;
    let seed = args.seed.unwrap_or_else(rand::random);
    let most = if args.all { usize::MAX } else { args.sample };
    let checked = evidence::check(&args.bundle, Sample { most, seed });
    let checked = checked.map_err(|error| refused(error.to_string()))?;
    let effort = RecountEffort {
        threads: args.counting.threads(),
        backend: args.counting.tested_backend()?,
        memory: args.counting.memory(),
        time: (!args.all).then(|| Duration::from_secs(args.seconds)),
        by_search: args.search,
    };
    let recounted = evidence::recount(checked.plan, &checked.chosen, effort);
    let recounted = recounted.map_err(|error| refused(error.to_string()))?;
    output::print(match args.json {
        true => verified_json(&checked, &recounted, seed),
        false => verified(&checked, &recounted, seed),
    })
}

fn verified(checked: &Checked, recounted: &Recounted, seed: u64) -> String {
    let Checked { header, name, plan, slice, state, total, confirmed, makers, kernels, .. } =
        checked;
    let what = match (state, slice.is_all()) {
        (JobState::Done, true) if plan.problem.counts_orbits() => {
            format!("total     {total}, before symmetry")
        }
        (JobState::Done, true) => format!("total     {total}"),
        (JobState::Done, false) => format!("part      {slice} of the plan: its sum is no total"),
        _ => format!("unfinished: it is {state}, and {total} are counted so far"),
    };
    let names = |names: &std::collections::BTreeSet<String>| {
        names.iter().map(String::as_str).collect::<Vec<_>>().join(", ")
    };
    let mut lines = vec![
        format!("bundle    {name}"),
        format!("plan      {plan}, {} tasks, counted here too", plan.tasks),
        what,
        format!(
            "ranges    {} by {} with {}; they cover what they should, without overlaps, and add up",
            header.ranges,
            match makers.len() {
                1 => "one machine".to_string(),
                many => format!("{many} machines"),
            },
            names(kernels)
        ),
        format!(
            "audits    {confirmed} of {} ranges counted alike by a second machine or owner",
            header.ranges
        ),
    ];
    if checked.unproven > 0 {
        lines.push(format!(
            "unproven  {} ranges are said to be counted twice, but the bundle has no second count of them",
            checked.unproven
        ));
    }
    if header.trust > 0 {
        lines.push(format!(
            "trust     that farm changed {} times whom it believes; what only distrusted machines had \
             counted was counted again",
            header.trust
        ));
    }
    lines.extend(checked.facts.iter().map(|fact| format!("known     {fact}")));
    lines.push(format!(
        "recount   {} ranges, {} tasks, {} of one thread, seed {seed}",
        recounted.ranges,
        recounted.tasks,
        clock(recounted.busy.as_secs_f64())
    ));
    lines.push(confidence(header.ranges, recounted.ranges as u64));
    lines.join("\n")
}

fn verified_json(checked: &Checked, recounted: &Recounted, seed: u64) -> String {
    let Checked { header, name, plan, slice, state, total, confirmed, makers, .. } = checked;
    let is_total = *state == JobState::Done && slice.is_all();
    json!({
        "bundle": name.to_string(),
        "problem": plan.problem.name(),
        "n": plan.problem.n(),
        "fingerprint": header.fingerprint,
        "state": header.state,
        "total": is_total.then(|| total.to_string()),
        "counted": total.to_string(),
        "ranges": header.ranges,
        "makers": makers.len(),
        "confirmed": confirmed,
        "unproven": checked.unproven,
        "known": checked.facts.iter().map(ToString::to_string).collect::<Vec<_>>(),
        "recounted_ranges": recounted.ranges,
        "recounted_tasks": recounted.tasks,
        "recount_seconds": recounted.busy.as_secs_f64(),
        "seed": seed.to_string(),
        "confidence": confidence(header.ranges, recounted.ranges as u64),
    })
    .to_string()
}
