//! The rules by which a worker leaves by itself.

use std::time::Duration;

use clap::Args;
use service::worker::LeaveRules;

use super::options::duration;

/// The variable with the end of this process's Slurm job, in seconds since 1970.
const SLURM_END: &str = "SLURM_JOB_END_TIME";

#[derive(Debug, Args)]
#[command(next_help_heading = "Draining")]
pub(super) struct LeaveArgs {
    /// Leave after so long without work, such as 5m
    ///
    /// It counts while there is a coordinator [default: never].
    #[arg(long, value_name = "DURATION", env = "QUEENS_EXIT_WHEN_IDLE",
          value_parser = duration)]
    exit_when_idle: Option<Duration>,
    /// Have left after so long, such as 2h
    ///
    /// What is not counted by then is handed back [default: in a Slurm job, by the time in
    /// SLURM_JOB_END_TIME; elsewhere, never].
    #[arg(long, value_name = "DURATION", env = "QUEENS_TIME_LIMIT",
          value_parser = duration)]
    time_limit: Option<Duration>,
    /// Leave after so long without a coordinator
    ///
    /// The exit code is 5 then [default: never].
    #[arg(long, value_name = "DURATION", env = "QUEENS_GIVE_UP_AFTER",
          value_parser = duration)]
    give_up_after: Option<Duration>,
}

impl LeaveArgs {
    pub(super) fn rules(&self) -> LeaveRules {
        let LeaveArgs { exit_when_idle, time_limit, give_up_after } = *self;
        let time_limit = time_limit.or_else(slurm_limit);
        if let Some(limit) = time_limit {
            let left = Duration::from_secs(limit.as_secs());
            tracing::info!(left = %humantime::format_duration(left), "this worker's time is limited");
        }
        LeaveRules { when_idle: exit_when_idle, time_limit, without_coordinator: give_up_after }
    }
}

/// The time that is left of the Slurm job of this process, if it is in one.
fn slurm_limit() -> Option<Duration> {
    let end = std::env::var(SLURM_END).ok()?;
    let Ok(end_s) = end.parse::<u64>() else {
        tracing::warn!(
            value = end,
            "{SLURM_END} is no number of seconds: no time limit is taken from it"
        );
        return None;
    };
    let now_ms = u64::try_from(ledger::unix_ms()).unwrap_or(0);
    Some(Duration::from_millis(end_s.saturating_mul(1_000).saturating_sub(now_ms)))
}
