//! `queens worker`.

use std::time::Duration;

use board::MethodChoice;
use clap::Args;
use count::Variant;
use tokio::sync::watch;

use super::arguments::LARGE_FARMS;
use super::client::CoordinatorArgs;
use super::options::{CountingArgs, duration, in_units, name, positive_duration};
use super::signal::asked_to_stop;
use super::tools::PROGRAM;
use crate::failure::Failure;
use crate::os;
use executor::provenance;
use farm::{AgentConfig, Hello};
use service::ServiceError;
use service::worker::{LeaveRules, machine, start_executor, work};

#[derive(Debug, Args)]
pub(super) struct WorkerArgs {
    #[command(flatten)]
    counting: CountingArgs,
    /// What this process is called [default: by the host]
    ///
    /// It stands in lists and in the evidence, and decides nothing. By default it is the host's
    /// name and a random part, and in a Slurm job the number of the job and the name of the node,
    /// as in slurm-123-n4.
    #[arg(long, value_name = "NAME", env = "QUEENS_WORKER_NAME", value_parser = name)]
    name: Option<String>,
    /// Which machine it runs on [default: by the system]
    ///
    /// Workers of one machine have the same: counts of one machine do not confirm each other. By
    /// default it is named by the number that Linux draws at each start, which the containers of a
    /// host share; without one, no machine but a named one confirms its counts.
    #[arg(long, value_name = "NAME", env = "QUEENS_MACHINE", value_parser = name)]
    machine: Option<String>,
    /// Give way to other programs: 0 to 19 [default: 19]
    ///
    /// It is added to the nice value of the threads that count. With 19 they take what other
    /// programs leave, so that a computer on which somebody works stays usable. In a job of a
    /// batch system, whose processors are its own, and in the container image the default is 0.
    /// Windows has no such value.
    #[arg(long, value_name = "N", env = "QUEENS_NICE", value_parser = clap::value_parser!(u8).range(0..=19))]
    nice: Option<u8>,
    /// The most tasks to be leased at a time; a range that is counted again may have more
    #[arg(hide_short_help = true, long, value_name = "TASKS", default_value_t = 262_144, env = "QUEENS_CREDIT",
          help_heading = LARGE_FARMS,
          value_parser = clap::value_parser!(u64).range(1..=1 << 24))]
    credit: u64,
    /// How long finished parts of a range are gathered before they are reported; in milliseconds,
    /// or with a unit as in 5s
    #[arg(hide_short_help = true, long, value_name = "MS", default_value = "1s", env = "QUEENS_REPORT_MS",
          help_heading = LARGE_FARMS,
          value_parser = in_units(1, 0..=3_600_000))]
    report_ms: u64,
    /// How long to wait for an acknowledgement before a report is sent again, each further time
    /// twice as long, up to four minutes; in milliseconds, or with a unit as in 5s
    #[arg(hide_short_help = true, long, value_name = "MS", default_value = "30s", env = "QUEENS_RESEND_MS",
          help_heading = LARGE_FARMS,
          value_parser = in_units(1, 1..=3_600_000))]
    resend_ms: u64,
    /// Leave after this time without work, such as 5m
    ///
    /// Only time with a coordinator is included [default: never].
    #[arg(long, value_name = "DURATION", env = "QUEENS_EXIT_WHEN_IDLE", help_heading = "Draining",
          value_parser = positive_duration)]
    exit_when_idle: Option<Duration>,
    /// Have left when this time is over, such as 2h
    ///
    /// What is not counted by then is handed back [default: in a Slurm job, by the time in
    /// SLURM_JOB_END_TIME; elsewhere, never].
    #[arg(long, value_name = "DURATION", env = "QUEENS_TIME_LIMIT", help_heading = "Draining",
          value_parser = duration)]
    time_limit: Option<Duration>,
    /// Leave after this time without a coordinator
    ///
    /// The exit code is 5 then [default: never].
    #[arg(long, value_name = "DURATION", env = "QUEENS_GIVE_UP_AFTER", help_heading = "Draining",
          value_parser = positive_duration)]
    give_up_after: Option<Duration>,
    #[command(flatten)]
    coordinator: CoordinatorArgs,
}

/// Signals within this time after the first one count as the same request, because batch systems
/// and shells send a signal both to the process group and to each process.
const SAME_SIGNAL: Duration = Duration::from_millis(500);

/// The greatest nice value: any other program goes first.
const MOST_POLITE: u8 = 19;

/// Whether a batch system has started this process: Slurm, PBS, LSF, Grid Engine, HyperQueue or
/// HTCondor.
fn is_batch_job() -> bool {
    let names =
        ["SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID", "SGE_TASK_ID", "HQ_JOB_ID", "_CONDOR_SLOT"];
    names.iter().any(|name| std::env::var_os(name).is_some())
}

/// The name of a worker in a Slurm job: by the job and the node.
fn slurm_name() -> Option<String> {
    let variable = |name| std::env::var(name).ok();
    let job = variable("SLURM_JOB_ID")?;
    let node = variable("SLURMD_NODENAME").unwrap_or_else(executor::host_name);
    name(&format!("slurm-{job}-{node}")).ok()
}

pub(super) async fn run(args: WorkerArgs) -> Result<(), Failure> {
    os::raise_file_limit();
    let mut endpoint = args.coordinator.endpoint()?;
    // A file that cannot be used is an error at once; a coordinator, or the file with its address,
    // may come later.
    match endpoint.check() {
        Ok(()) | Err(ServiceError::Unreachable { .. }) => {}
        Err(error) => return Err(error.into()),
    }
    let asked = asked_to_stop();
    let threads = args.counting.threads.number();
    let backend = args.counting.tested_backend(MethodChoice::all())?;
    // Boards of any size may be submitted, so graphics processors are always used.
    let devices = args.counting.tested_devices(u32::MAX)?;
    for device in devices.iter() {
        tracing::info!(%device, driver = device.version, "this device counts");
    }
    let kind = if devices.is_empty() { backend.name() } else { Variant::DEVICE };
    let build = provenance(PROGRAM, &devices);
    let nice = args.nice.unwrap_or(if is_batch_job() { 0 } else { MOST_POLITE });
    let start = || start_executor(threads, backend, devices);
    let (executor, parts) = os::with_low_priority(nice, start);
    let instance: u64 = rand::random();
    let name = args.name.or_else(slurm_name);
    let name = name.unwrap_or_else(|| format!("{}-{:04x}", executor::host_name(), instance >> 48));
    let machine = args.machine.unwrap_or_else(machine);
    tracing::info!(name, machine, threads, %backend, coordinator = endpoint.url(), "worker starts");
    let config = AgentConfig {
        hello: Hello {
            worker: name,
            machine,
            build,
            backend: kind.into(),
            instance,
            threads: u32::try_from(threads.get()).unwrap_or(u32::MAX),
            credit: args.credit,
            holding: Vec::new(),
            methods: Vec::new(),
        },
        report_ms: args.report_ms,
        resend_ms: args.resend_ms,
    };
    let time_limit = args.time_limit.or_else(slurm_limit);
    if let Some(limit) = time_limit {
        let left = Duration::from_secs(limit.as_secs());
        tracing::info!(left = %humantime::format_duration(left), "this worker's time is limited");
    }
    let rules = LeaveRules {
        when_idle: args.exit_when_idle,
        time_limit,
        without_coordinator: args.give_up_after,
    };
    let (stop, stopping) = watch::channel(false);
    tokio::spawn(async move {
        asked.await;
        stop.send_replace(true);
        tokio::time::sleep(SAME_SIGNAL).await;
        // A second request ends the process at once.
        asked_to_stop().await;
        std::process::exit(130);
    });
    work(config, rules, executor, parts, &mut endpoint, stopping).await?;
    tracing::info!("the worker leaves");
    Ok(())
}

/// The time that is left of the Slurm job of this process, if it is in one.
fn slurm_limit() -> Option<Duration> {
    /// Slurm writes these for a job without an end, and for one whose end is not known.
    const NONE: [u64; 3] = [0, 0xffff_fffe, 0xffff_ffff];
    let end = std::env::var("SLURM_JOB_END_TIME").ok()?;
    let Ok(end_s) = end.parse::<u64>() else {
        tracing::warn!(
            end,
            "SLURM_JOB_END_TIME is no number of seconds: the worker has no time limit"
        );
        return None;
    };
    if NONE.contains(&end_s) {
        return None;
    }
    let now_ms = u64::try_from(ledger::unix_ms()).unwrap_or(0);
    Some(Duration::from_millis(end_s.saturating_mul(1_000).saturating_sub(now_ms)))
}
