//! The metrics that a coordinator serves to Prometheus: the state of the farm at the time of the
//! request, and counters since the coordinator began.
//!
//! ```text
//!   GET /metrics ──► the farm, between two events ──┐
//!                    Meters of the service ─────────┼──► Prometheus' text format
//!                    this process, the ledger's disk┘
//! ```
//!
//! A metric is here because an alert, the dashboard or an autoscaler reads it, or because somebody
//! accounts for the hours of jobs and owners with it. The labels have no more values than there are
//! kernels, verdicts, reasons, and owners and jobs up to a limit, so that the number of series
//! grows neither with the workers nor with the queue nor with time. `docs/METRICS.md` lists them.

use std::fmt::{self, Debug, Write as _};
use std::path::Path;
use std::time::Duration;

use executor::BUILD;
use farm::{Farm, Hours, JobState, JobView, Verdict};
use ledger::{file_bytes, folder_of};
use prometheus_client::encoding::text::{encode, encode_registry};
use prometheus_client::encoding::{EncodeMetric, MetricEncoder};
use prometheus_client::metrics::counter::{ConstCounter, Counter};
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::{ConstGauge, Gauge};
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::metrics::info::Info;
use prometheus_client::metrics::{MetricType, TypedMetric};
use prometheus_client::registry::Registry;
use sysinfo::{ProcessRefreshKind, ProcessesToUpdate, System, get_current_pid};

use super::FarmHandle;
use crate::error::CoordinatorGone;
use crate::os::free_space;

/// The most owners that have series of their own.
const OWNERS: usize = 1_000;
/// The most jobs that have series of their own before their end.
const BEGUN: usize = 50;
/// The most jobs that have series of their own after their end.
const ENDED: usize = 10;

/// All metrics in Prometheus' text format, version 0.0.4. It asks the system about this process and
/// the disk of the ledger.
pub(super) async fn exposition(farm: &FarmHandle) -> Result<String, CoordinatorGone> {
    let [event_queue, ledger_queue] = farm.queues()?;
    let mut metrics = farm.look(of_farm).await?;
    gauge(&mut metrics, "event_queue_length", "Events that wait for the farm", event_queue as u64);
    let help = "Requests that wait for the ledger";
    gauge(&mut metrics, "ledger_queue_requests", help, ledger_queue as u64);
    of_service(&mut metrics, &farm.meters);
    let ledger = farm.ledger_path.clone();
    // This may block, because a disk may be slow.
    let text = tokio::task::spawn_blocking(move || {
        ledger.inspect(|ledger| of_disk(&mut metrics, ledger));
        let mut text = String::new();
        let written = encode_registry(&mut text, &metrics);
        written.and_then(|()| encode(&mut text, &of_process())).expect("text takes all of it");
        plain_text(&text)
    });
    text.await.map_err(|_| CoordinatorGone)
}

/// OpenMetrics, which the library writes, in Prometheus' own text format. There the name of a
/// counter ends in `_total` in its head, too, an info is a gauge, and there are neither units nor
/// an end.
fn plain_text(openmetrics: &str) -> String {
    let mut text = String::with_capacity(openmetrics.len());
    let mut help = "";
    for line in openmetrics.lines() {
        let mut words = line.splitn(4, ' ');
        let _ = match (words.next(), words.next(), words.next(), words.next()) {
            (Some("#"), Some("HELP"), _, said) => {
                help = said.unwrap_or_default();
                Ok(())
            }
            (Some("#"), Some("TYPE"), Some(name), Some(kind)) => {
                let (suffix, kind) = match kind {
                    "counter" => ("_total", kind),
                    "info" => ("_info", "gauge"),
                    kind => ("", kind),
                };
                writeln!(text, "# HELP {name}{suffix} {help}\n# TYPE {name}{suffix} {kind}")
            }
            (Some("#"), ..) => Ok(()),
            _ => writeln!(text, "{line}"),
        };
    }
    text
}

/// Metrics of one name that differ by their labels, in order.
#[derive(Debug)]
struct Series<M, const N: usize>(Vec<([(&'static str, String); N], M)>);

impl<M: EncodeMetric + TypedMetric, const N: usize> EncodeMetric for Series<M, N> {
    fn encode(&self, mut encoder: MetricEncoder<'_>) -> fmt::Result {
        let Series(metrics) = self;
        metrics.iter().try_for_each(|(labels, it)| it.encode(encoder.encode_family(labels)?))
    }

    fn metric_type(&self) -> MetricType {
        M::TYPE
    }
}

fn gauge(metrics: &mut Registry, name: &str, help: &str, value: u64) {
    metrics.register(name, help, ConstGauge::new(value));
}

/// Registers thread time by processors and by GPUs, each for one value of a label.
fn hours(
    metrics: &mut Registry,
    name: &str,
    help: &str,
    all: impl Iterator<Item = ((&'static str, String), Hours)>,
) {
    let series = all.flat_map(|(label, Hours { processor_us, gpu_us })| {
        [("processor", processor_us), ("gpu", gpu_us)].map(|(by, us)| {
            ([label.clone(), ("by", by.into())], ConstCounter::new(us as f64 / 1e6))
        })
    });
    metrics.register(name, help, Series(series.collect()));
}

fn id(job: &JobView) -> (&'static str, String) {
    ("job_id", job.id.to_string())
}

/// A metric of a job: its name, its help and its value.
type OfJob = (&'static str, &'static str, fn(&JobView) -> u64);

/// Metrics that a job keeps after its end.
const LASTING: [OfJob; 2] = [
    ("job_tasks", "Tasks of the shard of its plan that a job counts", JobView::tasks),
    ("job_tasks_accepted", "Tasks of a job whose counts are durable", |job| job.tasks_done),
];

/// Metrics that a job has until its end, because alerts fire on them.
const PASSING: [OfJob; 3] = [
    (
        "job_tasks_failed",
        "Tasks of a job that are not leased any more, because workers were lost with them",
        |job| job.failed,
    ),
    ("job_disputes", "Ranges of a job whose counts contradict each other", |job| {
        job.disputes as u64
    }),
    ("job_audits_wanted", "Ranges of a job that wait for their second count", |job| {
        job.audits_wanted
    }),
];

/// The state of the farm between two events.
fn of_farm(farm: &Farm) -> Registry {
    let mut metrics = Registry::with_prefix("queens");
    of_jobs(&mut metrics, farm);
    of_work(&mut metrics, farm);
    of_workers(&mut metrics, farm);
    metrics
}

fn of_jobs(metrics: &mut Registry, farm: &Farm) {
    let states = JobState::ALL.map(|state| {
        ([("state", state.name().into())], ConstGauge::new(farm.jobs_in(state) as u64))
    });
    let help = "Jobs by their state, those that have ended included";
    metrics.register("jobs", help, Series(states.into()));

    let begun = begun(farm.jobs(.., |state| !state.is_over()));
    let ended: Vec<JobView> = farm.jobs(.., JobState::is_over).rev().take(ENDED).collect();
    let all = || begun.iter().chain(&ended);
    let states = all().flat_map(|job| {
        JobState::ALL.map(|state| {
            let labels = [id(job), ("state", state.name().into())];
            (labels, ConstGauge::new(u64::from(state == job.state)))
        })
    });
    let help = "1 for the state that a job has, 0 for the others";
    metrics.register("job_state", help, Series(states.collect()));
    for (name, help, value) in LASTING {
        let series = all().map(|job| ([id(job)], ConstGauge::new(value(job))));
        metrics.register(name, help, Series(series.collect()));
    }
    for (name, help, value) in PASSING {
        let series = begun.iter().map(|job| ([id(job)], ConstGauge::new(value(job))));
        metrics.register(name, help, Series(series.collect()));
    }
    let rates =
        begun.iter().map(|job| ([id(job)], ConstGauge::new(job.rate.placements_per_second)));
    let help = "Placements that the workers of a job count in a second, before symmetry";
    metrics.register("job_placements_per_second", help, Series(rates.collect()));
    let left =
        begun.iter().filter_map(|job| Some(([id(job)], ConstGauge::new(job.seconds_left()?))));
    let help = "Time until a job ends if its workers go on; absent while it is unknown";
    metrics.register("job_remaining_seconds", help, Series(left.collect()));
    let help = "Thread time of a job's counts, by processors or by graphics processors";
    hours(metrics, "job_busy_seconds", help, all().map(|job| (id(job), job.hours)));

    let owners = farm.owners().into_iter().take(OWNERS);
    let owners = owners.map(|owner| (("owner", owner.owner), owner.hours));
    let help = "Thread time of the counts of an owner's jobs, by processors or by graphics processors; removed jobs included";
    hours(metrics, "owner_busy_seconds", help, owners);
}

/// Those of `jobs` that have begun, [`BEGUN`] at most.
fn begun(jobs: impl Iterator<Item = JobView>) -> Vec<JobView> {
    let has_begun = |job: &JobView| job.times.begun_at_ms.is_some() || job.needs_person();
    let mut begun: Vec<JobView> = jobs.filter(has_begun).collect();
    begun.sort_by_key(JobView::rank);
    begun.truncate(BEGUN);
    begun
}

fn of_work(metrics: &mut Registry, farm: &Farm) {
    let stats = farm.stats();
    let reports = Verdict::ALL.map(|verdict| {
        ([("verdict", verdict.name().into())], ConstCounter::new(stats.reports(verdict)))
    });
    let help = "Reports that were answered, by their verdict";
    metrics.register("reports", help, Series(reports.into()));
    let mut counter = |name: &str, help: &str, value| {
        metrics.register(name, help, ConstCounter::new(value));
    };
    let help = "Tasks whose counts became durable, those that were taken back later included";
    counter("tasks_accepted", help, stats.tasks_accepted);
    counter("leases_expired", "Leases whose time ran out", stats.leases_expired);
    let help = "Machines and owners of which a count was proven wrong";
    counter("parties_proven_wrong", help, stats.proven_wrong);
    let help =
        "Workers whose connection ended although they had not announced that they would leave";
    counter("workers_lost", help, stats.workers_lost);
    let help = "Placements in the counts that became durable, before symmetry; those that were taken back later included";
    metrics.register("placements_accepted", help, ConstCounter::new(stats.placements_accepted));
    let help = "Thread time that accepted counts took, as far as the farm believes what their workers reported";
    metrics.register("busy_seconds", help, ConstCounter::new(stats.busy_us as f64 / 1e6));
}

fn of_workers(metrics: &mut Registry, farm: &Farm) {
    gauge(metrics, "workers", "Connected workers", farm.workers() as u64);
    let threads = farm.threads_by_kernel().into_iter().map(|(kernel, threads)| {
        let name = Some(kernel.as_str()).filter(|name| !name.is_empty()).unwrap_or("other");
        ([("backend", name.into())], ConstGauge::new(threads))
    });
    let help = "Counting threads of connected workers; `other` stands for backends that this version does not know";
    metrics.register("worker_threads", help, Series(threads.collect()));
    let help = "Threads that the farm could keep busy for the length of a lease; a task is one thread until its cost is known";
    gauge(metrics, "leasable_threads", help, farm.leasable_threads());
    let help = "Machines and owners that are distrusted";
    gauge(metrics, "parties_distrusted", help, farm.distrusted().count() as u64);
}

fn of_service(metrics: &mut Registry, meters: &Meters) {
    let Meters { commit_seconds, dismissals, copied_at, wrong_credentials } = meters.clone();
    let help = "Time that a transaction of the ledger took, until it was durable";
    metrics.register("ledger_commit_seconds", help, commit_seconds);
    let help = "Sessions that the coordinator ended, by the reason";
    metrics.register("workers_dismissed", help, dismissals);
    if copied_at.get() > 0 {
        let help =
            "When `queens backup` last had a whole copy of the ledger, Unix time; absent before";
        metrics.register("ledger_copied_time_seconds", help, copied_at);
    }
    let help = "Requests and logins that showed an unknown or invalid credential";
    metrics.register("wrong_credentials", help, wrong_credentials);
    let build = Info::new([("version", BUILD)]);
    metrics.register("build", "The version of the program; always 1", build);
}

fn of_disk(metrics: &mut Registry, ledger: &Path) {
    if let Ok(bytes) = file_bytes(ledger) {
        gauge(metrics, "ledger_bytes", "Size of the ledger and its journal", bytes);
    }
    if let Ok(free) = free_space(folder_of(ledger)) {
        let help = "Space that the coordinator may still use on the ledger's file system";
        gauge(metrics, "ledger_disk_free_bytes", help, free);
    }
}

/// What the system reports of this process, under the names that all programs use.
fn of_process() -> Registry {
    let mut metrics = Registry::default();
    let (Ok(pid), Ok(mut system)) = (get_current_pid(), System::new()) else { return metrics };
    let wanted = ProcessRefreshKind::nothing().with_cpu().with_memory();
    system.refresh_processes_specifics(ProcessesToUpdate::Some(&[pid]), false, wanted);
    let Some(process) = system.process(pid) else { return metrics };
    let cpu_seconds = ConstCounter::new(process.accumulated_cpu_time() as f64 / 1e3);
    metrics.register("process_cpu_seconds", "Processor time of this process", cpu_seconds);
    let files = |number: Option<usize>| number.map(|number| number as u64);
    for (name, help, value) in [
        ("process_resident_memory_bytes", "Memory in use", Some(process.memory())),
        (
            "process_start_time_seconds",
            "When it was started, Unix time",
            Some(process.start_time()),
        ),
        ("process_open_fds", "Open files and connections", files(process.open_files())),
        (
            "process_max_fds",
            "The most files and connections that it may have open",
            files(process.open_files_limit()),
        ),
    ] {
        if let Some(value) = value {
            gauge(&mut metrics, name, help, value);
        }
    }
    metrics
}

/// Why a worker may be dismissed, as `docs/METRICS.md` explains.
const REASONS: [&str; 7] =
    ["replaced", "distrusted", "unproven", "invalid", "silent", "slow", "expired"];

/// Counters of the service. Clones count together.
#[derive(Clone, Debug)]
pub(super) struct Meters {
    commit_seconds: Histogram,
    dismissals: Family<[(&'static str, &'static str); 1], Counter>,
    /// When the last copy of the ledger was sent whole, in seconds since 1970; 0 before the first.
    pub(super) copied_at: Gauge,
    /// Requests and logins that showed an unknown or invalid credential.
    pub(super) wrong_credentials: Counter,
}

impl Meters {
    pub(super) fn new() -> Meters {
        let meters = Meters {
            // From a fast disk to one that stops the farm: 1 ms to 33 s.
            commit_seconds: Histogram::new(exponential_buckets(0.001, 2.0, 16)),
            dismissals: Family::default(),
            copied_at: Gauge::default(),
            wrong_credentials: Counter::default(),
        };
        // Each counter must exist with the value 0. Prometheus sees no growth in a counter that
        // begins with 1.
        for reason in REASONS {
            drop(meters.dismissals.get_or_create(&[("reason", reason)]));
        }
        meters
    }

    /// The ledger has made a transaction durable in this time.
    pub(super) fn committed(&self, took: Duration) {
        self.commit_seconds.observe(took.as_secs_f64());
    }

    /// A worker was dismissed for one of [`REASONS`].
    pub(super) fn dismissed(&self, reason: &'static str) {
        debug_assert!(REASONS.contains(&reason), "{reason}");
        self.dismissals.get_or_create(&[("reason", reason)]).inc();
    }
}

#[cfg(test)]
mod tests {
    use farm::{Change, JobId, Request, Times};

    use super::*;
    use crate::tests::{hello, ledger, submit};

    /// The numbers of the jobs that have a series of this name.
    fn jobs(text: &str, name: &str) -> Vec<u64> {
        let label = format!("queens_{name}{{job_id=\"");
        let rests = text.lines().filter_map(|line| line.strip_prefix(&label));
        let number = |rest: &str| rest.split('"').next().and_then(|number| number.parse().ok());
        let mut jobs: Vec<u64> = rests.filter_map(number).collect();
        jobs.dedup();
        jobs
    }

    #[tokio::test]
    async fn jobs_have_series_once_they_have_begun_and_the_last_ones_after_their_end() {
        // Given a thousand jobs in the queue
        let (farm, handle) = crate::tests::farm(ledger());
        tokio::spawn(farm.run());
        submit(&handle, 1_000).await;
        let text = exposition(&handle).await.expect("it runs");
        assert!(text.contains("\nqueens_jobs{state=\"running\"} 1000\n"), "{text}");
        assert!(jobs(&text, "job_tasks").is_empty(), "{text}");

        // When a worker takes the first of them, and twenty others are cancelled
        let messages = handle.join("w".into(), false, hello("w")).await.expect("it runs");
        for job in 101..=120 {
            let ask = Request::Change(JobId(job), Change::Cancel);
            handle.ask("ann", ask).await.expect("it runs").expect("it is granted");
        }

        // Then the first one and ten of those that have ended have series.
        let text = exposition(&handle).await.expect("it runs");
        let ended: Vec<u64> = (111..=120).rev().collect();
        for lasting in ["job_state", "job_tasks", "job_tasks_accepted", "job_busy_seconds_total"] {
            assert_eq!(jobs(&text, lasting), [&[1][..], &ended].concat(), "{lasting}");
        }
        for passing in ["job_tasks_failed", "job_disputes", "job_audits_wanted"] {
            assert_eq!(jobs(&text, passing), [1], "{passing}");
        }
        assert!(text.contains("\nqueens_job_state{job_id=\"120\",state=\"cancelled\"} 1\n"));
        assert!(text.len() < 60_000, "{}", text.len());
        drop(messages);
    }

    #[tokio::test]
    async fn of_many_jobs_that_have_begun_those_that_need_a_person_have_series_first() {
        let (farm, handle) = crate::tests::farm(ledger());
        tokio::spawn(farm.run());
        submit(&handle, 1).await;
        let queued = handle.job(JobId(1)).await.expect("it runs").expect("there is one");
        let all = (1..=1_000).map(|number| {
            let mut job = JobView { id: JobId(number), ..queued.clone() };
            job.times = Times { begun_at_ms: (number > 100).then_some(0), ..job.times };
            match number {
                400 => job.workers = 1,
                500 => job.failed = 1,
                600 => job.disputes = 1,
                700 => job.state = JobState::Suspended,
                _ => (),
            }
            job
        });
        let numbers: Vec<u64> = begun(all).iter().map(|job| job.id.0).collect();
        assert_eq!(numbers[..6], [500, 600, 700, 400, 101, 102]);
        assert_eq!(numbers.len(), BEGUN);
    }
}
