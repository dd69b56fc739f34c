//! The whole farm in one process. It has the core, the ledger and the executor of a cluster; only
//! the link between coordinator and worker is a pair of channels.

use std::num::NonZero;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::anyhow;
use board::MethodChoice;
use count::Backend;
use executor::Devices;
use farm::{
    AgentConfig, Change, Config, Hello, JobId, JobSpec, JobState, JobView, Known, LeaseKey, Origin,
    Plan, Problem, Refusal, Request, RestoredJob, Shard, Submission, WorkerMessage,
};
use ledger::{CheckedLedger, Ledger, LedgerFault, make_ledger};
use tokio::sync::{mpsc, watch};
use tokio::task::spawn_blocking;
use tokio_stream::wrappers::ReceiverStream;
use tokio_stream::{Stream, StreamExt};

use crate::coordinator::{EventLoop, FarmHandle, LOCAL_OWNER, Peer, Plans, host};
use crate::worker::{Connect, LeaveRules, Link, LinkEnd, machine, start_executor, work};
use crate::{CoordinatorGone, ServiceError};

/// A problem to count, and the resources to count it with.
#[derive(Clone, Debug)]
pub struct LocalCount {
    /// The problem to count.
    pub problem: Problem,
    /// The method. What is left open, the method or its parameter, is taken from the ledger, or
    /// chosen to suit the problem.
    pub method: Option<MethodChoice>,
    /// Number of counting threads.
    pub threads: NonZero<usize>,
    /// The backend of the threads.
    pub backend: Backend,
    /// The devices that count beside the threads.
    pub devices: Devices,
    /// Program and machine, as the evidence names them: see `executor::provenance`.
    pub build: String,
    /// The shard of the plan to count.
    pub shard: Shard,
    /// The ledger's file. Without one, the work is lost if the count is interrupted.
    pub ledger: Option<PathBuf>,
    /// Whether to begin a new ledger where one was lost.
    pub anew: bool,
}

/// A finished count.
#[derive(Clone, Debug)]
pub struct LocalResult {
    /// The job at its end.
    pub job: JobView,
    /// Seconds that the count took.
    pub seconds: f64,
}

/// Why a count ended without a result.
#[derive(Debug, thiserror::Error)]
pub enum LocalError {
    /// The farm failed.
    #[error(transparent)]
    Service(#[from] ServiceError),
    /// The farm refused the job.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// All is counted, and the total contradicts what is known.
    #[error("{plan}: {reason}")]
    Suspended {
        /// What was counted.
        plan: String,
        /// What the total contradicts.
        reason: String,
        /// The ledger's file, which keeps the counts.
        ledger: Option<PathBuf>,
    },
    /// This machine counted one range twice, with different results.
    #[error("this machine counted the same range twice, with different results")]
    Miscounted,
    /// The count was asked to stop.
    #[error("asked to stop")]
    Stopped {
        /// Percentage of the tasks that are counted, if counting had begun.
        percent: Option<f64>,
        /// The ledger's file, which keeps the work.
        ledger: Option<PathBuf>,
    },
}

/// Requests to stop within this time after the first one count as the same request, because batch
/// systems and shells send a signal both to the process group and to each process.
const SAME_REQUEST: Duration = Duration::from_millis(500);
/// Tasks per thread in the first lease. Small leases limit what is lost with a worker, but here the
/// worker and the farm are one process. Each lease that ends costs a transaction of the ledger.
const FIRST_LEASE: u64 = 1_024;
/// How long a count that is to end at once waits for the event loop to say how far it came.
const LAST_LOOK: Duration = Duration::from_millis(100);

/// A count that may begin.
struct Prepared {
    count: LocalCount,
    /// The ledger. It is in memory if no file was named.
    ledger: Ledger,
    plans: Arc<Plans>,
    plan: Plan,
    /// The job in the ledger, if it was begun before.
    known: Option<JobId>,
}

impl LocalCount {
    /// Counts, or continues the count in the ledger. Calls `see` with the job after each
    /// `interval`.
    ///
    /// Each item of `stops` is a request to stop. A count without a ledger ends at the first
    /// request. A count with a ledger then finishes the tasks that its threads have begun, keeps
    /// them and ends, which takes some seconds at most. It ends at once at a second request that
    /// comes more than half a second after the first.
    pub async fn run(
        self,
        interval: Duration,
        see: impl FnMut(&JobView),
        mut stops: impl Stream<Item = ()> + Unpin,
    ) -> Result<LocalResult, LocalError> {
        let begun = Instant::now();
        let ledger = self.ledger.clone();
        let prepared = tokio::select! {
            prepared = spawn_blocking(|| self.prepare()) => {
                prepared.map_err(|error| ServiceError::from(anyhow::Error::from(error)))??
            }
            Some(()) = stops.next() => return Err(LocalError::Stopped { percent: None, ledger }),
        };
        let view = prepared.run(interval, see, stops).await?;
        if let Some(reason) = view.suspended.clone() {
            return Err(LocalError::Suspended { plan: view.spec.plan.to_string(), reason, ledger });
        }
        Ok(LocalResult { job: view, seconds: begun.elapsed().as_secs_f64() })
    }

    /// Makes the plan and opens the ledger, both of which may take long.
    fn prepare(self) -> Result<Prepared, LocalError> {
        let plans = Arc::new(Plans::default());
        // This comes first, so that a board that cannot be counted leaves no file behind.
        let plan = plans
            .make(self.problem, self.method.unwrap_or(MethodChoice::suggested(self.problem)))
            .map_err(ServiceError::from)?;
        let Some(path) = self.ledger.clone() else {
            let ledger = CheckedLedger::in_memory().and_then(CheckedLedger::begin);
            let ledger = ledger.map_err(|fault| ServiceError::from(fault.at(None)))?;
            return Ok(Prepared { count: self, ledger, plans, plan, known: None });
        };
        let at_ledger = |fault: LedgerFault| ServiceError::from(fault.at(Some(&path)));
        let made = make_ledger(&path, self.anew);
        let ledger = made.and_then(|()| CheckedLedger::open(&path)).map_err(at_ledger)?;
        let known = self.known_job(ledger.jobs()).map_err(at_ledger)?;
        let plan = known.map_or(plan, |(_, plan)| plan);
        let ledger = ledger.begin().map_err(at_ledger)?;
        Ok(Prepared { count: self, ledger, plans, plan, known: known.map(|(job, _)| job) })
    }

    /// The job that the ledger holds, if it is the one asked for.
    fn known_job(&self, jobs: &[RestoredJob]) -> Result<Option<(JobId, Plan)>, LedgerFault> {
        let wanted = |job: &RestoredJob| {
            job.stored.spec.plan.problem == self.problem
                && self.method.is_none_or(|choice| choice.allows(job.stored.spec.plan.method))
                && job.stored.spec.shard == self.shard
                && job.stored.state != JobState::Cancelled
        };
        let holds = match jobs {
            [] => return Ok(None),
            // This process has one worker, which would wait for another one for ever.
            [job] if wanted(job) && (job.stored.policy.is_some() || job.audits_wanted > 0) => {
                return Err(LedgerFault::Unsettled(job.audits_wanted));
            }
            [job] if wanted(job) => return Ok(Some((job.stored.id, job.stored.spec.plan))),
            [job] => format!(
                "{} ({})",
                part(job.stored.spec.plan, job.stored.spec.shard),
                job.stored.state
            ),
            jobs => format!("{} jobs", jobs.len()),
        };
        let wanted = match self.method {
            Some(choice) => part(format!("{} by {choice}", self.problem), self.shard),
            None => part(self.problem, self.shard),
        };
        Err(LedgerFault::AnotherPlan { holds, wanted })
    }

    async fn worker(
        self,
        farm: FarmHandle,
        plans: Arc<Plans>,
        stop: watch::Receiver<bool>,
    ) -> Result<(), ServiceError> {
        let (executor, parts) = start_executor(self.threads, self.backend, self.devices);
        let config = AgentConfig {
            hello: Hello {
                worker: executor::host_name(),
                machine: machine(),
                build: self.build,
                backend: self.backend.to_string(),
                instance: 0,
                threads: u32::try_from(self.threads.get()).unwrap_or(u32::MAX),
                credit: 1 << 20,
                holding: Vec::new(),
                methods: Vec::new(),
            },
            report_ms: 200,
            resend_ms: 60_000,
        };
        let mut connector = InProcess { farm, plans };
        let rules = LeaveRules::default();
        work(config, rules, executor, parts, &mut connector, stop).await
    }
}

impl Prepared {
    /// Counts until the job is at its end, and closes the ledger.
    async fn run(
        self,
        interval: Duration,
        mut see: impl FnMut(&JobView),
        mut stops: impl Stream<Item = ()> + Unpin,
    ) -> Result<JobView, LocalError> {
        let Prepared { count, ledger, plans, plan, known } = self;
        let config = Config { grace_ms: 0, probe_tasks: FIRST_LEASE, ..Config::default() };
        let key = LeaseKey::new(rand::random());
        let (farm, handle) = EventLoop::new(config, key, ledger);
        let mut farm = tokio::spawn(farm.run());
        let job = match begin(&handle, known, plan, count.shard).await {
            Err(LocalError::Service(ServiceError::Stopping(_))) => {
                return Err(failure_of(farm.await).into());
            }
            begun => begun?,
        };

        let (stop, stopping) = watch::channel(false);
        let ledger = count.ledger.clone();
        let worker = count.worker(handle.clone(), plans, stopping);
        let end = end_of(&handle, job);
        tokio::pin!(worker, end);
        let mut asked: Option<Instant> = None;
        let outcome = loop {
            tokio::select! {
                // If the event loop ends, its result says why; the worker would only lose its
                // connection.
                biased;
                view = &mut end => match view {
                    Ok(view) => break Ok(view),
                    Err(_) => return Err(failure_of(farm.await).into()),
                },
                result = &mut farm => return Err(failure_of(result).into()),
                result = &mut worker => match result {
                    // It was asked to.
                    Ok(()) => break Err(stopped(&handle, job, ledger).await),
                    Err(failure) => return Err(failure.into()),
                },
                Some(()) = stops.next() => match asked {
                    None if ledger.is_some() => {
                        asked = Some(Instant::now());
                        stop.send_replace(true);
                    }
                    Some(first) if first.elapsed() < SAME_REQUEST => {}
                    None | Some(_) => return Err(stopped(&handle, job, ledger).await),
                },
                () = tokio::time::sleep(interval) => {
                    if let Ok(Some(view)) = handle.job(job).await {
                        see(&view);
                        if view.disputes > 0 {
                            return Err(LocalError::Miscounted);
                        }
                    }
                }
            }
        };
        handle.stop().await;
        flatten(farm.await)?;
        outcome
    }
}

/// The error of a count that was asked to stop, with how far it came if the event loop says so in
/// time.
async fn stopped(handle: &FarmHandle, job: JobId, ledger: Option<PathBuf>) -> LocalError {
    let view = tokio::time::timeout(LAST_LOOK, handle.job(job)).await;
    let view = view.ok().and_then(Result::ok).flatten();
    LocalError::Stopped { percent: view.map(|view| view.percent()), ledger }
}

/// Names a plan or a problem, and the shard of it that is counted if that is not all of it.
fn part(what: impl std::fmt::Display, shard: Shard) -> String {
    if shard.is_all() { what.to_string() } else { format!("shard {shard} of {what}") }
}

/// Resumes the known job or submits a new one. Returns the job to wait for.
async fn begin(
    farm: &FarmHandle,
    known: Option<JobId>,
    plan: Plan,
    shard: Shard,
) -> Result<JobId, LocalError> {
    let ask = if let Some(job) = known {
        let view = farm.job(job).await.map_err(ServiceError::from)?;
        if view.is_none_or(|view| view.state != JobState::Paused) {
            return Ok(job);
        }
        Request::Change(job, Change::Resume)
    } else {
        let spec = JobSpec { origin: Origin::of(LOCAL_OWNER), plan, shard, priority: 0 };
        let known = Known::of(&plan, shard).into();
        Request::Submit(vec![Submission { spec, audit: None, known }])
    };
    let answer = farm.ask(LOCAL_OWNER, ask).await.map_err(ServiceError::from)??;
    Ok(answer.job().expect("the answer is a job").id)
}

/// Waits until the job is over or suspended, and returns it. The job must exist.
async fn end_of(farm: &FarmHandle, job: JobId) -> Result<JobView, CoordinatorGone> {
    let mut followed = farm.follow(job).await?.ok_or(CoordinatorGone)?;
    let end = followed.wait_for(|view| view.state.is_at_rest()).await;
    end.map(|view| view.clone()).map_err(|_| CoordinatorGone)
}

fn flatten(
    result: Result<Result<(), ServiceError>, tokio::task::JoinError>,
) -> Result<(), ServiceError> {
    result.map_err(anyhow::Error::from)?
}

fn failure_of(result: Result<Result<(), ServiceError>, tokio::task::JoinError>) -> ServiceError {
    match flatten(result) {
        Err(failure) => failure,
        Ok(()) => anyhow!("the farm stopped before the job was done").into(),
    }
}

/// A session with the event loop of the same process.
struct InProcess {
    farm: FarmHandle,
    plans: Arc<Plans>,
}

impl Connect for InProcess {
    fn is_alterable(&self) -> bool {
        false
    }

    async fn open(&mut self, hello: WorkerMessage) -> Result<Link, LinkEnd> {
        let (messages, incoming) = mpsc::channel(64);
        let (out, orders) = mpsc::channel(8);
        let incoming = tokio_stream::once(hello).chain(ReceiverStream::new(incoming));
        let messages_in = Box::pin(incoming.map(Ok));
        let owner = LOCAL_OWNER.into();
        let (is_trusted, ended) = (false, Box::pin(std::future::pending()));
        let peer = Peer { owner, is_trusted, messages: messages_in, ended };
        let (farm, plans) = (self.farm.clone(), self.plans.clone());
        tokio::spawn(host(farm, plans, peer, out));
        Ok(Link { orders: Box::pin(ReceiverStream::new(orders).map(Ok)), messages })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// In tests, nothing is shown to who follows a job but what is shown at once.
    #[tokio::test(flavor = "multi_thread")]
    async fn who_waits_for_a_count_is_told_at_its_end() {
        let count = LocalCount {
            problem: Problem::Total { n: 8 },
            method: None,
            threads: NonZero::<usize>::MIN,
            backend: Backend::Portable,
            devices: Devices::default(),
            build: "test".into(),
            shard: Shard::ALL,
            ledger: None,
            anew: false,
        };
        let counted = count.run(Duration::from_secs(3_600), |_| {}, tokio_stream::pending());
        let in_time = tokio::time::timeout(Duration::from_secs(60), counted).await;
        let result = in_time.expect("it is told").expect("it is counted");
        assert_eq!(result.job.total, Some(92));
    }
}
