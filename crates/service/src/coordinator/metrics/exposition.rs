//! The text that Prometheus reads.

use std::fmt::{self, Write as _};
use std::path::Path;

use executor::BUILD;
use farm::{Hours, JobView, Verdict};
use prometheus_client::collector::Collector;
use prometheus_client::encoding::text::{encode, encode_registry};
use prometheus_client::encoding::{
    DescriptorEncoder, EncodeGaugeValue, EncodeLabelSet, EncodeMetric, MetricEncoder,
};
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::{MetricType, TypedMetric};
use prometheus_client::registry::{Registry, Unit};

use super::disk::Disk;
use super::process::Process;
use super::{Figures, Meters};

/// All metrics as OpenMetrics text. It asks the system about this process and the disk of the ledger at `ledger`.
pub(in crate::coordinator) fn exposition(
    figures: Figures,
    meters: Meters,
    ledger: Option<&Path>,
) -> String {
    let disk = ledger.map(Disk::of).unwrap_or_default();
    let mut registry = Registry::with_prefix("queens");
    registry.register_collector(Box::new(Metrics { figures, meters, disk }));
    // Its names are those of all programs that Prometheus reads.
    let mut plain = Registry::default();
    plain.register_collector(Box::new(Process::now()));
    let mut text = String::new();
    let written = encode_registry(&mut text, &registry).and_then(|()| encode(&mut text, &plain));
    written.expect("text takes all that is written to it");
    text
}

/// The same metrics in Prometheus's own text format, version 0.0.4: there the name of a counter ends in `_total` in its
/// head, too, what is an info is a gauge, and there are neither units nor an end.
pub(in crate::coordinator) fn plain_text(openmetrics: &str) -> String {
    let mut text = String::with_capacity(openmetrics.len());
    let mut help = "";
    for line in openmetrics.lines() {
        let mut words = line.splitn(4, ' ');
        match (words.next(), words.next(), words.next(), words.next()) {
            (Some("#"), Some("HELP"), ..) => help = line,
            (Some("#"), Some("TYPE"), Some(name), Some(kind)) => {
                let (suffix, kind) = match kind {
                    "counter" => ("_total", kind),
                    "info" => ("_info", "gauge"),
                    kind => ("", kind),
                };
                let said = help.splitn(4, ' ').nth(3).unwrap_or_default();
                let _ =
                    writeln!(text, "# HELP {name}{suffix} {said}\n# TYPE {name}{suffix} {kind}");
            }
            (Some("#"), ..) => {}
            _ => {
                text.push_str(line);
                text.push('\n');
            }
        }
    }
    text
}

/// A metric of a job: its name, its help and its value.
type OfJob = (&'static str, &'static str, fn(&JobView) -> u64);

#[derive(Debug)]
struct Metrics {
    figures: Figures,
    meters: Meters,
    disk: Disk,
}

impl Collector for Metrics {
    fn encode(&self, encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let mut page = Page(encoder);
        self.jobs(&mut page)?;
        self.owners(&mut page)?;
        self.work(&mut page)?;
        self.workers(&mut page)?;
        self.ledger(&mut page)?;
        self.service(&mut page)
    }
}

impl Metrics {
    fn jobs(&self, page: &mut Page<'_>) -> fmt::Result {
        let states =
            self.figures.states.iter().map(|&(state, jobs)| ([("state", state.name())], jobs));
        page.gauges("jobs", "Jobs by their state, those that have ended included", None, states)?;

        let mut infos = page.begin(
            "job",
            "What a job that has not ended counts, and for whom; always 1",
            None,
            MetricType::Info,
        )?;
        for job in &self.figures.jobs {
            let labels = [
                ("job_id", job.id.to_string()),
                ("problem", job.spec.plan.problem.to_string()),
                ("method", job.spec.plan.method.to_string()),
                ("part", job.spec.slice.to_string()),
                ("owner", job.spec.origin.owner.clone()),
            ];
            infos.encode_info(&labels)?;
        }
        let mut states = page.begin(
            "job_state",
            "1 for the state that a job has, 0 for the others",
            None,
            MetricType::Gauge,
        )?;
        for job in &self.figures.jobs {
            for (state, _) in self.figures.states.iter().filter(|(state, _)| !state.is_over()) {
                let labels = [("job_id", job.id.to_string()), ("state", state.name().to_string())];
                states.encode_family(&labels)?.encode_gauge(&u64::from(*state == job.state))?;
            }
        }
        let whole: [OfJob; 8] = [
            ("job_tasks", "Tasks of the part of its plan that a job counts", JobView::tasks),
            ("job_tasks_accepted", "Tasks of a job whose counts are durable", |job| job.tasks_done),
            (
                "job_tasks_poisoned",
                "Tasks of a job that are not leased any more, because workers were lost with them",
                |job| job.poisoned,
            ),
            ("job_disputes", "Ranges of a job whose counts contradict each other", |job| {
                job.disputes as u64
            }),
            ("job_audits_wanted", "Ranges of a job that wait for their second count", |job| {
                job.audits_wanted
            }),
            ("job_audits_agreed", "Ranges of a job that two parties have counted alike", |job| {
                job.audits_agreed
            }),
            ("job_workers", "Workers that hold tasks of a job", |job| job.workers as u64),
            (
                "job_able_workers",
                "Connected workers that have the memory for a job; 0 while it does not run",
                |job| job.able_workers as u64,
            ),
        ];
        for (name, help, value) in whole {
            let values =
                self.figures.jobs.iter().map(|job| ([("job_id", job.id.to_string())], value(job)));
            page.gauges(name, help, None, values)?;
        }
        let left = self
            .figures
            .jobs
            .iter()
            .filter_map(|job| Some(([("job_id", job.id.to_string())], job.seconds_left()?)));
        let help = "Time until a job ends if its workers go on; absent while it cannot be told";
        page.gauges("job_remaining", help, Some(&Unit::Seconds), left)?;
        let rates = self
            .figures
            .jobs
            .iter()
            .map(|job| ([("job_id", job.id.to_string())], job.rate.placements_per_second));
        let help = "Placements that the workers of a job count in a second, before symmetry";
        page.gauges("job_placements_per_second", help, None, rates)?;
        let help = "Thread time of a job's counts, by processors or by graphics processors";
        let jobs = self.figures.jobs.iter().map(|job| ("job_id", job.id.to_string(), job.hours));
        page.hours("job_busy", help, jobs)
    }

    fn owners(&self, page: &mut Page<'_>) -> fmt::Result {
        let owners = &self.figures.owners;
        let help = "Thread time of the counts of an owner's jobs, by processors or by graphics processors; removed jobs included";
        let hours = owners.iter().map(|owner| ("owner", owner.owner.clone(), owner.hours));
        page.hours("owner_busy", help, hours)?;
        let limits = owners.iter().filter_map(|owner| {
            Some(([("owner", owner.owner.clone())], seconds(owner.share.limit_us?)))
        });
        let help = "Thread time that an owner's jobs may take in all; absent without a limit";
        page.gauges("owner_limit", help, Some(&Unit::Seconds), limits)
    }

    fn work(&self, page: &mut Page<'_>) -> fmt::Result {
        let stats = &self.figures.stats;
        let mut reports = page.begin(
            "reports",
            "Reports that were answered, by what became of them",
            None,
            MetricType::Counter,
        )?;
        for verdict in Verdict::ALL {
            let labels = [("verdict", verdict.name())];
            ConstCounter::new(stats.reports(verdict)).encode(reports.encode_family(&labels)?)?;
        }
        page.counter(
            "tasks_accepted",
            "Tasks whose counts became durable, those that were taken back later included",
            stats.tasks_accepted,
        )?;
        let help = "Placements in the counts that became durable, before symmetry; those that were taken back later included";
        page.metric(
            "placements_accepted",
            help,
            None,
            &ConstCounter::new(stats.placements_accepted),
        )?;
        page.counter(
            "audits_agreed",
            "Ranges that a second party has counted alike because an audit asked for it",
            stats.audits_agreed,
        )?;
        let help = "Thread time that accepted counts took, as their workers said";
        let busy = ConstCounter::new(seconds(stats.busy_us));
        page.metric("busy", help, Some(&Unit::Seconds), &busy)?;
        page.gauge("leases_out", "Leases that workers hold", None, self.figures.leases)?;
        page.counter("leases_granted", "Leases that were given out", stats.leases)?;
        page.counter("leases_expired", "Leases whose time ran out", stats.leases_expired)?;
        let help = "How long workers gather finished counts, at least, before they report them; many workers longer";
        let pace = self.figures.pace.report_ms() as f64 / 1e3;
        page.gauge("report_interval", help, Some(&Unit::Seconds), pace)
    }

    fn workers(&self, page: &mut Page<'_>) -> fmt::Result {
        let Figures { stats, workers, threads, leasable_threads, distrusted, .. } = &self.figures;
        page.gauge("workers", "Connected workers", None, *workers)?;
        let threads = threads.iter().map(|(kernel, threads)| {
            let name = Some(kernel.as_str()).filter(|name| !name.is_empty());
            ([("backend", name.unwrap_or("other"))], *threads)
        });
        page.gauges("worker_threads", "Counting threads of connected workers; `other` stands for backends that this version does not know", None, threads)?;
        let help = "Threads that the farm could keep busy for the length of a lease; a task is one thread until its cost is known";
        page.gauge("leasable_threads", help, None, *leasable_threads)?;
        page.gauge(
            "parties_distrusted",
            "Machines and owners that are distrusted",
            None,
            *distrusted,
        )?;
        let help = "Machines and owners of which a count was proven wrong";
        page.counter("parties_proven_wrong", help, stats.proven_wrong)?;
        let help =
            "Workers whose connection ended although they had not said that they would leave";
        page.counter("workers_lost", help, stats.workers_lost)?;
        page.metric(
            "workers_dismissed",
            "Sessions that the coordinator ended, by the reason",
            None,
            &self.meters.dismissals,
        )
    }

    fn ledger(&self, page: &mut Page<'_>) -> fmt::Result {
        let meters = &self.meters;
        let help = "Time that a transaction of the ledger took, until it was durable";
        page.metric("ledger_commit", help, Some(&Unit::Seconds), &meters.commit_seconds)?;
        let help = "Requests that a transaction of the ledger made durable together";
        page.metric("ledger_commit_requests", help, None, &meters.commit_requests)?;
        let help = "Requests that wait for the ledger";
        page.gauge("ledger_queue_requests", help, None, self.figures.ledger_queue)?;
        let copied_at = meters.copied_at.get();
        if copied_at > 0 {
            let help = "When `queens backup` last had a whole copy of the ledger, Unix time; absent before";
            page.gauge("ledger_copied_time", help, Some(&Unit::Seconds), copied_at)?;
        }
        let sizes = [
            ("ledger", "Size of the ledger and its journal", self.disk.ledger),
            ("ledger_disk", "Size of the file system of the ledger", self.disk.total),
            ("ledger_disk_free", "Space that the coordinator may still use there", self.disk.free),
        ];
        for (name, help, bytes) in sizes {
            if let Some(bytes) = bytes {
                page.gauge(name, help, Some(&Unit::Bytes), bytes)?;
            }
        }
        Ok(())
    }

    fn service(&self, page: &mut Page<'_>) -> fmt::Result {
        let help = "Events that wait for the farm";
        page.gauge("event_queue_length", help, None, self.figures.event_queue)?;
        let help = "Time until a gRPC call is answered, or until its stream of answers is open";
        page.metric("rpc", help, Some(&Unit::Seconds), &self.meters.call_seconds)?;
        page.metric(
            "viewers",
            "Clients that follow a job, and open pages",
            None,
            &self.meters.viewers,
        )?;
        let help = "Requests and logins that showed a credential that is none, or no longer one";
        page.metric("wrong_credentials", help, None, &self.meters.wrong_credentials)?;
        let mut build =
            page.begin("build", "The version of the program; always 1", None, MetricType::Info)?;
        build.encode_info(&[("version", BUILD)])
    }
}

impl Collector for Process {
    fn encode(&self, encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let mut page = Page(encoder);
        if let Some(cpu) = self.cpu_seconds {
            let help = "Time of processors that this process has taken";
            page.metric("process_cpu", help, Some(&Unit::Seconds), &ConstCounter::new(cpu))?;
        }
        let gauges = [
            ("process_resident_memory", "Memory in use", Some(&Unit::Bytes), self.resident_bytes),
            (
                "process_virtual_memory",
                "Memory that is mapped",
                Some(&Unit::Bytes),
                self.virtual_bytes,
            ),
            (
                "process_start_time",
                "When it was started, Unix time",
                Some(&Unit::Seconds),
                self.started_at,
            ),
            ("process_open_fds", "Open files and connections", None, self.open_files),
            (
                "process_max_fds",
                "The most files and connections that it may have open",
                None,
                self.most_files,
            ),
        ];
        for (name, help, unit, value) in gauges {
            if let Some(value) = value {
                page.gauge(name, help, unit, value)?;
            }
        }
        Ok(())
    }
}

/// Where metrics are written one after the other.
struct Page<'a>(DescriptorEncoder<'a>);

impl Page<'_> {
    fn begin<'s>(
        &'s mut self,
        name: &'s str,
        help: &str,
        unit: Option<&'s Unit>,
        kind: MetricType,
    ) -> Result<MetricEncoder<'s>, fmt::Error> {
        self.0.encode_descriptor(name, help, unit, kind)
    }

    fn metric(
        &mut self,
        name: &str,
        help: &str,
        unit: Option<&Unit>,
        metric: &(impl EncodeMetric + TypedMetric),
    ) -> fmt::Result {
        metric.encode(self.begin(name, help, unit, metric.metric_type())?)
    }

    fn counter(&mut self, name: &str, help: &str, value: u64) -> fmt::Result {
        self.metric(name, help, None, &ConstCounter::new(value))
    }

    fn gauge(
        &mut self,
        name: &str,
        help: &str,
        unit: Option<&Unit>,
        value: impl EncodeGaugeValue,
    ) -> fmt::Result {
        self.begin(name, help, unit, MetricType::Gauge)?.encode_gauge(&value)
    }

    /// What each of several things has taken, named by the value of a label.
    fn hours(
        &mut self,
        name: &str,
        help: &str,
        all: impl Iterator<Item = (&'static str, String, Hours)>,
    ) -> fmt::Result {
        let mut counters = self.begin(name, help, Some(&Unit::Seconds), MetricType::Counter)?;
        for (label, value, Hours { processor_us, gpu_us }) in all {
            for (by, us) in [("processor", processor_us), ("gpu", gpu_us)] {
                let labels = [(label, value.as_str()), ("by", by)];
                ConstCounter::new(seconds(us)).encode(counters.encode_family(&labels)?)?;
            }
        }
        Ok(())
    }

    fn gauges<L: EncodeLabelSet>(
        &mut self,
        name: &str,
        help: &str,
        unit: Option<&Unit>,
        values: impl Iterator<Item = (L, impl EncodeGaugeValue)>,
    ) -> fmt::Result {
        let mut gauges = self.begin(name, help, unit, MetricType::Gauge)?;
        for (labels, value) in values {
            gauges.encode_family(&labels)?.encode_gauge(&value)?;
        }
        Ok(())
    }
}

fn seconds(us: u64) -> f64 {
    us as f64 / 1e6
}
