//! Follows jobs to their ends: `queens watch`, and `queens submit --wait`.

use std::cell::RefCell;
use std::ffi::OsString;
use std::io::{self, IsTerminal, stdout};
use std::pin::pin;
use std::process::{Command, Stdio};
use std::time::Duration;

use farm::{JobId, JobState, JobView, Plan};
use tokio::time::Instant;

use super::client::Client;
use super::jobs::{SILENCE, for_each};
use super::quit_key;
use super::show;
use super::signal::asked_to_stop;
use crate::failure::Failure;
use crate::progress::{Progress, ProgressArgs};
use crate::{advice, output, progress, stderr};

/// Follows jobs to their ends, one after the other, over any number of lost connections. Prints the
/// total of one job, or the number and the total of each of several. With --json, an object is
/// printed at the end of each, or with `each_change` at every change. The command `on_end` is run
/// at the end of each.
pub(super) async fn follow(
    client: &mut Client,
    jobs: Vec<(JobId, Plan)>,
    json: bool,
    each_change: bool,
    on_end: Option<&[OsString]>,
    progress: ProgressArgs,
) -> Result<(), Failure> {
    output::end_with_reader();
    let is_one = jobs.len() == 1;
    let mut still: Vec<JobId> = jobs.iter().map(|(job, _)| *job).collect();
    let has_bar = !progress.quiet && !json;
    // After a submission nothing typed is read, so that it is left to the next program of a script.
    let (_mode, quit_typed) = quit_key::typed(each_change && has_bar && stdout().is_terminal());
    let mut quit_typed = pin!(quit_typed);
    for_each(jobs, async |(job, plan)| {
        // Who watches sees all the time that it waits for its turn.
        let tells_turn = !each_change && !progress.quiet;
        let mut progress = Progress::new(has_bar, true);
        let (mut disputed, mut waits) = (None, None);
        let remark = RefCell::new(None);
        let see = |job: &JobView| {
            progress.show(job);
            // The number of waiting ranges changes all the time, and is not compared.
            let what = job.waits_for.as_ref();
            let why = what.map(|_| {
                (job.awaits_turn, job.able_workers == 0, job.audits_stranded > Some(0))
            });
            if why != waits {
                waits = why;
                *remark.borrow_mut() = what.map(|what| Remark::new(job, what));
            }
            if job.disputed != disputed {
                disputed.clone_from(&job.disputed);
                if let Some(what) = job.dispute() {
                    tracing::warn!("job {} is disputed: {}", job.id, advice::completed(&what));
                }
            }
            if json && each_change { output::print(output::json(job)) } else { Ok(()) }
        };
        let end = tokio::select! {
            end = client.watch(job, plan, see) => end?,
            () = async { tokio::select!(() = &mut quit_typed => {}, () = asked_to_stop() => {}) } => {
                return Err(Failure::Interrupted(going_on(&still)));
            }
            () = tell(&remark, tells_turn) => unreachable!("it tells for ever"),
        };
        progress.finish();
        still.retain(|id| *id != job);
        if let Some(what) = end.audited() {
            tracing::warn!("job {job} is {}", advice::completed(&what));
        }
        let told = tell_end(&end, json.then_some(!each_change), is_one, has_bar);
        if let Some(command) = on_end {
            run_at_end(command, &end).await;
        }
        told
    })
    .await
}

/// Prints the total of a job that is over or suspended, or fails if it has none. With `json`, it
/// is an object, and is only printed if that says so.
fn tell_end(end: &JobView, json: Option<bool>, is_one: bool, has_bar: bool) -> Result<(), Failure> {
    let job = end.id;
    if json == Some(true) {
        output::print(output::json(end))?;
    }
    if let Some(reason) = &end.suspended {
        return Err(Failure::Suspended(format!(
            "job {job} is suspended and has no total: {reason}; `queens audit {job} --all` has it counted again by other \
             workers, and `queens cancel {job}` gives the job up"
        )));
    }
    let total = end.total.ok_or_else(|| {
        Failure::Incomplete(match end.state {
            JobState::Done => format!("job {job} counts a shard: its sum is no total"),
            state => format!(
                "job {job} ended as {state}, without a total; `queens submit` counts it anew"
            ),
        })
    })?;
    match (json, is_one) {
        (Some(_), _) => {}
        (None, true) => output::print(total)?,
        (None, false) => output::print(format_args!("{job} {total}"))?,
    }
    if let Some(line) = show::ended(end).filter(|_| has_bar) {
        stderr::print(format_args!("{line}\n"));
    }
    Ok(())
}

/// Runs the command that was asked for at the end of a job. What it prints goes to standard error,
/// because standard output has the total alone. Its failure is said, and changes nothing.
async fn run_at_end(command: &[OsString], end: &JobView) {
    let Some((program, arguments)) = command.split_first() else { return };
    let mut child = Command::new(program);
    child.args(arguments).stdin(Stdio::null()).stdout(std::io::stderr());
    child.env("QUEENS_JOB_ID", end.id.to_string());
    child.env("QUEENS_JOB_STATE", end.state.name());
    child.env("QUEENS_JOB_TOTAL", end.total.map_or(String::new(), |total| total.to_string()));
    let ended = tokio::task::spawn_blocking(move || child.status()).await;
    let fault = match ended.unwrap_or_else(|fault| Err(io::Error::other(fault))) {
        Ok(status) if status.success() => return,
        Ok(status) => format!("failed: {status}"),
        Err(error) => format!("cannot be run: {error}"),
    };
    let (job, program) = (end.id, program.to_string_lossy());
    let text = farm::visible(&format!("{program}, the command at the end of job {job}, {fault}"));
    stderr::print(format_args!("{text}\n"));
}

/// What a job waits for, to be told if it still does after a moment.
struct Remark {
    due: Instant,
    /// Whether the job waits only for its turn.
    is_turn: bool,
    text: String,
}

impl Remark {
    fn new(job: &JobView, what: &str) -> Remark {
        let (id, is_turn) = (job.id, job.awaits_turn);
        let way_out = match is_turn {
            true => format!(
                "; a higher priority has it counted before: `queens priority {id} P`, or `queens submit --priority P`"
            ),
            false => String::new(),
        };
        let text = format!("job {id} waits for {what}{way_out}\n");
        Remark { due: Instant::now() + SILENCE, is_turn, text }
    }
}

/// Tells each remark when its time has come, unless it is taken back before: most reasons to wait
/// are gone in a moment. Turns come and go all the time, and are told once, if at all.
async fn tell(remark: &RefCell<Option<Remark>>, mut tells_turn: bool) {
    const LOOK: Duration = Duration::from_millis(100);
    loop {
        tokio::time::sleep(LOOK).await;
        let due = remark.borrow_mut().take_if(|remark| remark.due <= Instant::now());
        if let Some(Remark { is_turn, text, .. }) = due.filter(|it| !it.is_turn || tells_turn) {
            tells_turn &= !is_turn;
            progress::erase();
            stderr::print(text);
        }
    }
}

/// Says that these jobs go on when nobody follows them any more.
fn going_on(jobs: &[JobId]) -> String {
    let names: Vec<String> = jobs.iter().map(ToString::to_string).collect();
    let again = format!("`queens watch {}`", names.join(" "));
    match jobs {
        [job] => format!("job {job} goes on; {again} shows it again"),
        _ => format!("jobs {} go on; {again} shows them again", names.join(", ")),
    }
}
