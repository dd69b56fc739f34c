//! The worker's loop: connects, counts, reports, reconnects, and leaves when asked.

use std::collections::HashMap;
use std::num::NonZero;
use std::time::Duration;

use count::{Backend, CountError};
use farm::{
    Ack, Agent, AgentConfig, CoordinatorMessage, Lease, LeaseId, Millis, Report, TasksBlock,
};
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::{mpsc, watch};
use tokio::time::Instant;
use tokio_stream::StreamExt;

use executor::{Devices, Executor};

use super::backoff::Backoff;
use super::shutdown::Shutdown;
use super::{Connect, LeaveRules, Link, LinkEnd};
use crate::ServiceError;

/// How long a stopping worker waits for the tasks that are being counted and for acknowledgements.
const GRACE: Duration = Duration::from_secs(4);

/// The most sessions in a row, without an acknowledgement, whose end by a refusal is taken for a
/// message that was altered on its way.
const MOST_REFUSALS: u32 = 2;

/// Finished parts, in any order. The channel has no bound of its own, but there are never more
/// parts than tasks that the agent agreed to hold.
pub type Parts = mpsc::UnboundedReceiver<Result<Report, gpu::Error>>;

/// Starts an executor whose finished parts arrive at the receiver.
pub fn start_executor(
    threads: NonZero<usize>,
    backend: Backend,
    devices: Devices,
) -> (Executor, Parts) {
    let (sender, parts) = mpsc::unbounded_channel();
    let deliver = move |part| sender.send(part).is_ok();
    (Executor::start(threads, backend, devices, deliver), parts)
}

/// Works for a coordinator. After `stop` turns true, or when `rules` say so, it hands back what is
/// not counted, and returns when everything counted is acknowledged, or after a few seconds at the
/// latest.
///
/// # Errors
///
/// [`ServiceError`] if the coordinator refuses this worker for good, if there was no coordinator
/// for longer than `rules` allow, or if counting fails.
pub async fn work(
    config: AgentConfig,
    rules: LeaveRules,
    executor: Executor,
    parts: Parts,
    connector: &mut impl Connect,
    stop: watch::Receiver<bool>,
) -> Result<(), ServiceError> {
    let started = Instant::now();
    let mut worker = Worker {
        most_tasks: usize::try_from(config.hello.credit).unwrap_or(usize::MAX),
        large_recount: None,
        shutdown: Shutdown::new(rules, started),
        agent: Agent::new(config),
        executor,
        parts,
        leases: HashMap::new(),
        started,
        stop,
        leave_by: None,
        last_failure: String::from("none was tried yet"),
        had_session: false,
        refusals: 0,
        failure: None,
    };
    worker.run(connector).await?;
    worker.failure.map_or(Ok(()), Err)
}

struct Worker {
    agent: Agent,
    executor: Executor,
    parts: Parts,
    /// Leases whose tasks are still coming, each with the next ordinal that is due.
    leases: HashMap<LeaseId, (Lease, u64)>,
    most_tasks: usize,
    /// The latest recount of more tasks than that, which was leased as a whole all the same.
    large_recount: Option<LeaseId>,
    started: Instant,
    stop: watch::Receiver<bool>,
    shutdown: Shutdown,
    /// The latest time to leave; `None` until the worker is asked to stop or leaves by itself.
    leave_by: Option<Instant>,
    /// Why there is no coordinator.
    last_failure: String,
    /// Whether a session was opened before.
    had_session: bool,
    /// How many sessions have ended by a refusal since the last acknowledgement.
    refusals: u32,
    /// Why a device that was asked for does not count any more.
    failure: Option<ServiceError>,
}

/// What happened next.
enum Next<T> {
    /// The event that was waited for.
    Event(T),
    /// Something that concerns the worker itself, which was done already.
    Own,
    /// It is time to leave.
    Leave,
}

impl Worker {
    /// Connects again and again, until it is time to leave.
    async fn run(&mut self, connector: &mut impl Connect) -> Result<(), ServiceError> {
        let mut backoff = Backoff::new();
        loop {
            let end = match self.attempt(connector, &mut backoff).await {
                Ok(None) => return Ok(()),
                Ok(Some(end)) => end,
                Err(error @ (ServiceError::Incompatible(_) | ServiceError::Tasks(_))) => {
                    LinkEnd::Refused(error)
                }
                Err(error) => return Err(error),
            };
            let may_be_altered = connector.is_alterable() && self.refusals < MOST_REFUSALS;
            self.last_failure = match end {
                LinkEnd::Lost(reason) => reason,
                LinkEnd::Disowned(reason) => self.disowned(reason),
                LinkEnd::Unrecognised(failure) if self.had_session => failure.to_string(),
                LinkEnd::Refused(failure) if self.had_session && may_be_altered => {
                    self.refused(&failure)
                }
                LinkEnd::Unrecognised(failure) | LinkEnd::Refused(failure) => return Err(failure),
            };
            self.agent.disconnected();
            self.shutdown.alone(Instant::now());
            self.drop_unfinished_leases();
            let pause = backoff.next_pause(Instant::now(), &self.last_failure);
            if self.until(tokio::time::sleep(pause)).await?.is_none() {
                return Ok(());
            }
        }
    }

    /// Opens a session and serves it. Returns why it ended, or `None` when it is time to leave.
    async fn attempt(
        &mut self,
        connector: &mut impl Connect,
        backoff: &mut Backoff,
    ) -> Result<Option<LinkEnd>, ServiceError> {
        let hello = self.agent.connected();
        let link = match self.until(connector.open(hello)).await? {
            None => return Ok(None),
            Some(Err(end)) => return Ok(Some(end)),
            Some(Ok(link)) => link,
        };
        self.had_session = true;
        let begun = Instant::now();
        let end = self.session(link).await;
        backoff.interrupted(begun.elapsed());
        end
    }

    /// Waits for `event` while threads go on counting. Returns `None` when it is time to leave.
    async fn until<T>(
        &mut self,
        event: impl Future<Output = T>,
    ) -> Result<Option<T>, ServiceError> {
        tokio::pin!(event);
        loop {
            self.look_at_time();
            match self.next(&mut event, None).await? {
                Next::Event(value) => return Ok(Some(value)),
                Next::Leave => return Ok(None),
                Next::Own => {}
            }
        }
    }

    /// Waits for `event`, for the time `wakeup`, or for something that concerns the worker itself,
    /// which is done before this returns: a finished part, or a request to stop.
    async fn next<T>(
        &mut self,
        event: impl Future<Output = T>,
        wakeup: Option<Instant>,
    ) -> Result<Next<T>, ServiceError> {
        if self.leave_by.is_some() && self.is_done() {
            return Ok(Next::Leave);
        }
        // A worker that is leaving neither looks at the time again nor gives up.
        let (next_look, gives_up_at) = match self.leave_by {
            Some(_) => (None, None),
            None => (self.shutdown.next_look(), self.shutdown.gives_up_at()),
        };
        tokio::select! {
            value = event => return Ok(Next::Event(value)),
            part = self.parts.recv() => self.finished(part)?,
            () = stopped(&mut self.stop), if self.leave_by.is_none() => {
                self.begin_draining("asked to stop");
            }
            () = sleep_until(wakeup) => {}
            () = sleep_until(next_look) => {}
            () = sleep_until(gives_up_at) => {
                return Err(ServiceError::GaveUp(self.last_failure.clone()));
            }
            () = sleep_until(self.leave_by) => return Ok(Next::Leave),
        }
        Ok(Next::Own)
    }

    /// Serves one session. Returns why it ended, or `None` when it is time to leave.
    async fn session(&mut self, mut link: Link) -> Result<Option<LinkEnd>, ServiceError> {
        let broke = || Ok(Some(LinkEnd::Lost("the connection broke".into())));
        loop {
            self.look_at_time();
            for message in self.agent.poll(self.now()) {
                // What is due is sent before the worker may leave. While it waits for room it may
                // be asked to stop, as everywhere.
                let room = match link.messages.try_reserve() {
                    Err(TrySendError::Full(())) => {
                        match self.until(link.messages.reserve()).await? {
                            Some(room) => room.ok(),
                            None => return Ok(None),
                        }
                    }
                    room => room.ok(),
                };
                let Some(room) = room else { return broke() };
                room.send(message);
            }
            let wakeup = self.agent.next_wakeup();
            let wakeup = wakeup.map(|at| self.started + Duration::from_millis(at.0));
            // A revocation may follow tasks, so that all are read that the coordinator may lease.
            // It leases more when others have reported what this worker holds. What exceeds that
            // waits on the coordinator's side. So it does while finished parts wait: orders that
            // come without end would keep them waiting.
            let waiting = self.executor.waiting_tasks(self.large_recount);
            let has_room = waiting + self.parts.len() <= self.most_tasks.saturating_mul(2);
            let order = async {
                if has_room { link.orders.next().await } else { std::future::pending().await }
            };
            match self.next(order, wakeup).await? {
                Next::Event(Some(Ok(order))) => self.obey(order)?,
                Next::Event(Some(Err(end))) => return Ok(Some(end)),
                Next::Event(None) => return broke(),
                Next::Leave => return Ok(None),
                Next::Own => {}
            }
        }
    }

    fn obey(&mut self, order: CoordinatorMessage) -> Result<(), ServiceError> {
        match order {
            CoordinatorMessage::Welcome { leases_in_ms } => {
                tracing::info!(leases_in_ms, "the coordinator welcomes this worker");
                self.shutdown.welcomed(Instant::now(), Duration::from_millis(leases_in_ms));
            }
            CoordinatorMessage::Lease(lease) if self.leases.contains_key(&lease.id) => {
                return Err(ServiceError::Incompatible(format!(
                    "the coordinator leased something as lease {} while tasks of that lease are still to come",
                    lease.id
                )));
            }
            CoordinatorMessage::Lease(_) if self.leases.len() >= self.most_tasks => {
                return Err(ServiceError::Incompatible(format!(
                    "the coordinator leased more than {} ranges without their tasks, although this worker \
                     agreed to hold no more tasks than that",
                    self.most_tasks
                )));
            }
            CoordinatorMessage::Lease(_) if self.agent.is_overdrawn() => {
                return Err(ServiceError::Incompatible(
                    "the coordinator leases more and more, and acknowledges none of the reports"
                        .into(),
                ));
            }
            CoordinatorMessage::Lease(lease) if self.leave_by.is_none() => {
                tracing::debug!(lease = %lease.id, job = %lease.job, range = %lease.range, "lease");
                let tasks = self.most_tasks as u64 + 1..=Lease::MOST_TASKS;
                if lease.token.is_recount() && tasks.contains(&lease.range.len()) {
                    self.large_recount = Some(lease.id);
                }
                self.agent.leased(lease);
                self.leases.insert(lease.id, (lease, lease.range.start()));
            }
            CoordinatorMessage::Tasks(block) => self.take_tasks(block)?,
            CoordinatorMessage::Ack(ack) => {
                let Ack { job, range, verdict, .. } = ack;
                tracing::debug!(%job, %range, ?verdict, "acknowledged");
                self.agent.acked(&ack);
                self.refusals = 0;
            }
            CoordinatorMessage::Revoke(lease) => {
                self.large_recount = self.large_recount.filter(|&large| large != lease);
                self.agent.revoked(lease);
                self.leases.remove(&lease);
                self.executor.drop_lease(lease);
            }
            CoordinatorMessage::Pace(pace) => {
                tracing::debug!(report_ms = pace.report_ms(), "how often to report");
                self.agent.paced(pace);
            }
            CoordinatorMessage::Lease(_) => {}
        }
        Ok(())
    }

    /// Passes tasks of a lease to the executor. They must come in order. Tasks of a revoked lease
    /// may still arrive, and are ignored.
    fn take_tasks(&mut self, block: TasksBlock) -> Result<(), ServiceError> {
        let TasksBlock { lease: id, start, tasks } = block;
        let Some((lease, next)) = self.leases.get_mut(&id) else { return Ok(()) };
        let (lease, due) = (*lease, lease.range.end());
        let end = start.saturating_add(tasks.len() as u64);
        if start != *next || end > due {
            return Err(ServiceError::Incompatible(format!(
                "the coordinator sent the tasks [{start}, {end}) where [{next}, {due}) was due"
            )));
        }
        *next = end;
        if end == due {
            self.leases.remove(&id);
        }
        self.executor.push(lease, start, tasks);
        Ok(())
    }

    /// Begins to hand back what is not counted, and makes the worker end with `failure`. A worker
    /// that hands back is not taken for one that crashed.
    fn fail(&mut self, reason: &str, failure: ServiceError) {
        if self.failure.is_none() && self.leave_by.is_none() {
            self.begin_draining(reason);
        }
        self.failure.get_or_insert(failure);
    }

    /// Gives up the leases whose tasks have not all arrived, because the rest will not come in
    /// another session.
    fn drop_unfinished_leases(&mut self) {
        for (lease, _) in self.leases.drain() {
            self.agent.revoked(lease);
            self.executor.drop_lease(lease);
        }
    }

    fn finished(&mut self, part: Option<Result<Report, gpu::Error>>) -> Result<(), ServiceError> {
        match part.ok_or_else(|| anyhow::anyhow!("a counting thread died"))? {
            Ok(part) => self.agent.finished(self.now(), part),
            // The tasks that the device was counting are handed back with the rest.
            Err(gpu::Error::Device(error)) => self.fail("a device failed", error.into()),
            Err(gpu::Error::Count(CountError::Stopped)) => {}
            Err(gpu::Error::Count(error)) => return Err(error.into()),
        }
        Ok(())
    }

    /// Drops everything that the worker holds: the coordinator has not leased it, or has leased it
    /// to another owner than this worker's credential has now. Returns the reason.
    fn disowned(&mut self, reason: String) -> String {
        tracing::warn!(reason, "everything that this worker holds is void: dropping it");
        self.agent.disowned();
        self.leases.clear();
        self.executor.drop_all();
        reason
    }

    /// Takes a refusal for a message that was altered on its way. Returns the reason.
    fn refused(&mut self, failure: &ServiceError) -> String {
        self.refusals += 1;
        let reason = failure.to_string();
        tracing::warn!(
            reason,
            "the session ended; a message in plain text may have been altered on its way, which TLS prevents: \
             trying again"
        );
        match failure {
            // It is not known which of the leases has tasks that cannot be counted.
            ServiceError::Tasks(_) => self.disowned(reason),
            _ => reason,
        }
    }

    /// Begins to leave if it is time.
    fn look_at_time(&mut self) {
        if self.leave_by.is_some() {
            return;
        }
        let now = Instant::now();
        self.shutdown.occupied(now, !self.is_done());
        if let Some(reason) = self.shutdown.reason(now) {
            self.begin_draining(reason);
        }
    }

    fn begin_draining(&mut self, reason: &str) {
        tracing::info!("{reason}: handing back the tasks that are not begun");
        self.leave_by = Some(Instant::now() + GRACE);
        self.agent.stop();
        self.executor.clear();
    }

    /// Whether there is nothing to count and nothing to report.
    fn is_done(&self) -> bool {
        self.executor.is_idle() && self.parts.is_empty() && self.agent.is_settled()
    }

    fn now(&self) -> Millis {
        Millis(u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX))
    }
}

/// Completes when `stop` is or becomes true.
async fn stopped(stop: &mut watch::Receiver<bool>) {
    if stop.wait_for(|stop| *stop).await.is_err() {
        // The sender is gone, so nobody can ask any more.
        std::future::pending::<()>().await;
    }
}

/// Completes at the time `at`, or never if there is none.
async fn sleep_until(at: Option<Instant>) {
    match at {
        Some(at) => tokio::time::sleep_until(at).await,
        None => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests;
