//! The one owner of the farm, and the handle by which sessions and clients reach it. It puts events
//! in order, and carries the effects out.

use std::collections::{HashMap, VecDeque};
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use anyhow::anyhow;
use farm::{
    Answer, Config, CoordinatorMessage, Dismissal, Effect, Event, Farm, Hello, JobId, JobView,
    Known, LeaseKey, LedgerCommand, Millis, Pace, Principal, Progress, Refusal, Request, RequestId,
    SessionId, WorkerMessage,
};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::{Instant, MissedTickBehavior};

use super::metrics::Meters;
use crate::error::{CoordinatorGone, ServiceError};
use ledger::{Credential, Ledger, LedgerEvent, LedgerRequest, unix_ms};

/// The number of inputs that may wait. If more are sent, their senders wait.
const QUEUE: usize = 4_096;
/// The number of orders that may wait for a slow worker. If there are more, the worker is
/// dismissed. A worker cannot have as many reports on the way, so that acknowledgements alone never
/// exceed it.
const OUTBOX: usize = 16_384;
/// The number of events or inputs that are taken in before the loop looks for anything else.
const AT_ONCE: usize = 64;
/// How often the loop checks that the ledger's file is still there, while nothing is written.
const LOOK: Duration = Duration::from_secs(2);

/// How often those who follow jobs are shown what has changed, apart from what they are shown at
/// once. Tests see only the latter.
const SHOW: Duration = Duration::from_millis(if cfg!(test) { 3_600_000 } else { 250 });

/// Everything that reaches the event loop, apart from the answers of the ledger and the time.
enum Input {
    /// A worker of `owner` has said hello; if its credential is trusted, it settles disputes alone.
    Join {
        owner: String,
        is_trusted: bool,
        hello: Hello,
        /// Its session, and the orders for it.
        joined: oneshot::Sender<(SessionId, mpsc::Receiver<Order>)>,
    },
    /// The worker of a session said something.
    Said(SessionId, WorkerMessage),
    /// A session ended.
    Left(SessionId),
    /// A client of the owner `by` asks for something.
    Ask { by: String, ask: Request, answer: oneshot::Sender<Result<Answer, Refusal>> },
    /// Somebody reads the farm between two events.
    Look(Box<dyn FnOnce(&Farm) + Send>),
    /// The page takes what workers reported since it asked last.
    TakeProgress(oneshot::Sender<Vec<Progress>>),
    /// Somebody follows a job, if there is one of this number.
    Follow(JobId, oneshot::Sender<Option<watch::Receiver<JobView>>>),
    /// The event loop is to end once everything that was taken in is in the ledger.
    Stop,
}

/// A message of the event loop to a session: an order for its worker, or why the session ends.
pub(super) type Order = Result<CoordinatorMessage, Dismissal>;

/// The farm and everything that its effects reach.
pub struct EventLoop {
    farm: Farm,
    started: Instant,
    path: Option<Arc<Path>>,
    inputs: mpsc::Receiver<Input>,
    /// Where requests to the ledger go, until the event loop is stopped.
    requests: Option<mpsc::Sender<LedgerRequest>>,
    events: mpsc::UnboundedReceiver<LedgerEvent>,
    epoch: u64,
    /// Whether the log says that the ledger is an older copy.
    is_older_logged: bool,
    /// How often workers are to report, as they were told last.
    pace: Pace,
    meters: Meters,
    outboxes: HashMap<SessionId, mpsc::Sender<Order>>,
    /// Clients whose requests are not answered.
    waiting: HashMap<RequestId, oneshot::Sender<Result<Answer, Refusal>>>,
    /// The jobs that are followed, as their followers have them.
    followed: HashMap<JobId, watch::Sender<JobView>>,
    /// How often a client has changed something, a job has come to its end, or a worker has come or
    /// gone.
    changes: Arc<AtomicU64>,
    next_session: u64,
    next_request: u64,
}

impl EventLoop {
    /// A farm that goes on where `ledger` was left.
    pub fn new(config: Config, key: LeaseKey, mut ledger: Ledger) -> (EventLoop, FarmHandle) {
        let path: Option<Arc<Path>> = ledger.path().map(Arc::from);
        let restored = ledger.take_restored();
        let ledger = ledger::spawn(ledger);
        let epoch = restored.epoch;
        let (handle, inputs) = mpsc::channel(QUEUE);
        let meters = Meters::new();
        let handle = FarmHandle {
            inputs: handle,
            ledger: ledger.requests.downgrade(),
            meters: meters.clone(),
            ledger_path: path.clone(),
            changes: Arc::default(),
        };
        let farm = EventLoop {
            farm: Farm::restore(config, key, Millis(0), restored, Known::of),
            started: Instant::now(),
            path,
            inputs,
            requests: Some(ledger.requests),
            events: ledger.events,
            epoch,
            is_older_logged: false,
            pace: Pace::default(),
            meters,
            outboxes: HashMap::new(),
            waiting: HashMap::new(),
            followed: HashMap::new(),
            changes: handle.changes.clone(),
            next_session: 1,
            next_request: 1,
        };
        (farm, handle)
    }

    /// Runs until it is stopped, or until the ledger fails. When it is stopped, it first writes
    /// what was taken in and acknowledges what was written.
    pub async fn run(mut self) -> Result<(), ServiceError> {
        self.step(Event::Tick).await;
        let mut looks = tokio::time::interval(LOOK);
        looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut shows = tokio::time::interval(SHOW);
        shows.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let (mut events, mut inputs) = (Vec::new(), Vec::new());
        loop {
            let wakeup = self.farm.next_wakeup();
            let now = self.now();
            let sleep = wakeup.map(|at| Duration::from_millis(at.0 - now.0.min(at.0)));
            let is_open = self.requests.is_some();
            tokio::select! {
                biased;
                _ = self.events.recv_many(&mut events, AT_ONCE) => {
                    if events.is_empty() {
                        return Err(anyhow!("the ledger's writer ended").into());
                    }
                    for event in events.drain(..) {
                        if self.hear(event).await?.is_break() {
                            return Ok(());
                        }
                    }
                }
                _ = self.inputs.recv_many(&mut inputs, AT_ONCE), if is_open => {
                    if inputs.is_empty() {
                        // The ledger closes when it has done what it was asked for.
                        self.requests = None;
                    }
                    for input in inputs.drain(..) {
                        if let Some(event) = self.take_in(input) {
                            self.step(event).await;
                        }
                    }
                }
                _ = looks.tick(), if is_open => {
                    if let Some(ledger) = &self.requests {
                        // A full queue does no harm: a ledger that has requests looks for its file
                        // anyway.
                        let _ = ledger.try_send(LedgerRequest::Look);
                    }
                }
                _ = shows.tick(), if !self.followed.is_empty() => {
                    self.followed.retain(|_, followers| !followers.is_closed());
                    let jobs: Vec<JobId> = self.followed.keys().copied().collect();
                    jobs.into_iter().for_each(|job| self.show(job));
                }
                () = tokio::time::sleep(sleep.unwrap_or_default()), if is_open && sleep.is_some() => {
                    self.step(Event::Tick).await;
                }
            }
        }
    }

    /// Takes in an input. Returns the event for the farm, if the input is one. Replies may fail,
    /// because whoever asked may not wait any more.
    fn take_in(&mut self, input: Input) -> Option<Event> {
        match input {
            Input::Join { owner, is_trusted, hello, joined } => {
                self.warn_of_older_copy(&hello);
                let session = SessionId(self.next_session);
                self.next_session += 1;
                let (outbox, orders) = mpsc::channel(OUTBOX);
                let _ = outbox.try_send(Ok(CoordinatorMessage::Pace(self.pace)));
                joined.send((session, orders)).ok()?;
                self.outboxes.insert(session, outbox);
                self.note_change();
                return Some(Event::Joined { session, owner, is_trusted, hello });
            }
            Input::Said(session, message) => return Some(Event::Said(session, message)),
            Input::Left(session) => {
                self.outboxes.remove(&session);
                self.note_change();
                return Some(Event::Left(session));
            }
            Input::Ask { by, ask, answer } => {
                let request = RequestId(self.next_request);
                self.next_request += 1;
                self.waiting.insert(request, answer);
                return Some(Event::Asked(request, by, ask));
            }
            Input::Look(see) => see(&self.farm),
            Input::TakeProgress(taken) => _ = taken.send(self.farm.take_progress()),
            Input::Follow(job, follows) => _ = follows.send(self.follow(job)),
            Input::Stop => self.requests = None,
        }
        None
    }

    /// Takes in an event of the ledger. Breaks off when it is closed.
    async fn hear(&mut self, event: LedgerEvent) -> Result<ControlFlow<()>, ServiceError> {
        match event {
            LedgerEvent::Answered(asker, command, answer) => {
                let at_ms = unix_ms();
                self.step(Event::Ledger { asker, command: *command, answer, at_ms }).await;
            }
            LedgerEvent::Committed(took) => self.meters.committed(took),
            LedgerEvent::Failed(fault) => return Err(fault.at(self.path.as_deref()).into()),
            LedgerEvent::Closed if self.requests.is_none() => return Ok(ControlFlow::Break(())),
            LedgerEvent::Closed => return Err(anyhow!("the ledger's writer ended").into()),
        }
        Ok(ControlFlow::Continue(()))
    }

    /// Warns if a worker holds a lease of a later epoch than that of this ledger: then the worker
    /// has worked with a later state of the ledger, and an older copy is served here.
    fn warn_of_older_copy(&mut self, Hello { worker, holding, .. }: &Hello) {
        let latest = holding.iter().map(|holding| holding.lease.epoch()).max();
        if let Some(latest) = latest.filter(|&latest| latest > self.epoch && !self.is_older_logged)
        {
            self.is_older_logged = true;
            tracing::warn!(
                worker,
                "an older copy of the ledger is served: the worker holds a lease of its epoch {latest}, and here \
                it is opened as number {}. What was decided since the copy is missing, such as jobs, revoked tokens and \
                distrusted machines; what is missing is counted again",
                self.epoch
            );
        }
    }

    async fn step(&mut self, event: Event) {
        let mut events = VecDeque::from([event]);
        while !events.is_empty() {
            while let Some(event) = events.pop_front() {
                for effect in self.farm.step(self.now(), event) {
                    let dismissed = self.carry_out(effect).await;
                    events.extend(dismissed.map(Event::Left));
                }
            }
            let dismissed = self.send_pace();
            events.extend(dismissed.into_iter().map(Event::Left));
        }
    }

    /// Tells all workers how often to report, if that has changed. Returns the sessions that had to
    /// be dismissed.
    fn send_pace(&mut self) -> Vec<SessionId> {
        let pace = self.farm.pace();
        if std::mem::replace(&mut self.pace, pace) == pace {
            return Vec::new();
        }
        tracing::debug!(report_ms = pace.report_ms(), "workers report at another interval");
        let sessions: Vec<SessionId> = self.outboxes.keys().copied().collect();
        let send = |session| self.send(session, CoordinatorMessage::Pace(pace));
        sessions.into_iter().filter_map(send).collect()
    }

    /// Sends a worker an order. It never waits: a worker that does not take its orders is
    /// dismissed, by closing its outbox. Returns the session if it was dismissed.
    fn send(&mut self, session: SessionId, order: CoordinatorMessage) -> Option<SessionId> {
        let sent = self.outboxes.get(&session)?.try_send(Ok(order));
        if let Err(mpsc::error::TrySendError::Full(_)) = sent {
            tracing::warn!(%session, "dismissed: the worker does not take its orders");
            self.meters.dismissed("slow");
            self.outboxes.remove(&session);
            return Some(session);
        }
        None
    }

    /// Carries out an effect. Returns the session if one had to be dismissed.
    async fn carry_out(&mut self, effect: Effect) -> Option<SessionId> {
        match effect {
            Effect::Ledger(asker, command) => {
                log_dispute(&command);
                // A closed queue means that the ledger failed, and its last event says why. When
                // the loop is ending, commands that follow from the last answers are not sent: they
                // follow again at the next start.
                if let Some(ledger) = &self.requests {
                    let _ = ledger.send(LedgerRequest::Farm(asker, command)).await;
                }
            }
            Effect::Reply(request, answer) => {
                self.note_change();
                if let Ok(Answer::Job(job)) = &answer {
                    self.show(job.id);
                }
                if let Some(reply) = self.waiting.remove(&request) {
                    let _ = reply.send(answer);
                }
            }
            Effect::Contradicted(report, provenance) => {
                tracing::warn!(job = %report.job, range = %report.range, count = report.checked_count.count,
                    principal = %provenance.principal, worker = provenance.worker,
                    "a late count contradicts the accepted one; the range is counted again if its job runs, \
                     and `queens audit` has it counted again if the job is over");
            }
            Effect::AtRest(job) => self.note_end(job),
            Effect::Lost { principal, processes } => log_lost(&principal, processes),
            Effect::RangeFailed { job, range } => {
                tracing::error!(%job, %range,
                    "this range was lost three times or more with the worker that had it; it is not leased any more, \
                     and the rest of the job goes on. Look into the workers' logs, give them another \
                     build or backend, then resume the job");
            }
            Effect::Dismiss(session, reason) => {
                self.meters.dismissed(reason.name());
                let outbox = self.outboxes.remove(&session);
                // If the outbox is full, the worker gets the reason when it comes back.
                if let Some(outbox) = outbox.filter(|_| reason != Dismissal::Replaced) {
                    let _ = outbox.try_send(Err(reason));
                }
            }
            Effect::Tell(session, order) => return self.send(session, order),
        }
        None
    }

    /// Notes that what readers were shown before is old.
    fn note_change(&self) {
        self.changes.fetch_add(1, Ordering::Relaxed);
    }

    /// Follows a job: what its followers have is renewed from time to time, and at once when a
    /// client has changed the job, and at its end.
    fn follow(&mut self, job: JobId) -> Option<watch::Receiver<JobView>> {
        let view = self.farm.job(job)?;
        let followers = self.followed.entry(job).or_insert_with(|| watch::Sender::new(view));
        let receiver = followers.subscribe();
        self.show(job);
        Some(receiver)
    }

    /// Shows a job to those who follow it, if it has changed.
    fn show(&mut self, job: JobId) {
        let Some(followers) = self.followed.get(&job) else { return };
        let Some(view) = self.farm.job(job) else {
            // It was removed.
            self.followed.remove(&job);
            return;
        };
        followers.send_if_modified(|shown| {
            let has_changed = *shown != view;
            *shown = view;
            has_changed
        });
    }

    /// Shows the end of a job to those who follow it, and logs it.
    fn note_end(&mut self, job: JobId) {
        self.note_change();
        self.show(job);
        let view = self.farm.job(job).expect("a job with something pending is not removed");
        let plan = view.spec.plan;
        if let Some(reason) = &view.suspended {
            tracing::error!(%job, %plan, reason,
                "job suspended: its total contradicts what is known; audit or cancel it");
        } else {
            let total = view.total.map(tracing::field::display);
            tracing::info!(%job, %plan, state = %view.state, total, "job ended");
        }
    }

    fn now(&self) -> Millis {
        Millis(u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX))
    }
}

/// A handle to the event loop, for sessions and clients.
#[derive(Clone, Debug)]
pub struct FarmHandle {
    inputs: mpsc::Sender<Input>,
    /// A weak sender, so that a handle does not keep the ledger open when the event loop has ended.
    ledger: mpsc::WeakSender<LedgerRequest>,
    pub(super) meters: Meters,
    pub(super) ledger_path: Option<Arc<Path>>,
    changes: Arc<AtomicU64>,
}

impl FarmHandle {
    /// A worker of `owner` has said hello; if its credential is trusted, it settles disputes alone.
    /// Its session ends when the orders do.
    pub async fn join(
        &self,
        owner: String,
        is_trusted: bool,
        hello: Hello,
    ) -> Result<(SessionId, mpsc::Receiver<Order>), CoordinatorGone> {
        self.ask_for(|joined| Input::Join { owner, is_trusted, hello, joined }).await
    }

    /// The worker of a session said something.
    pub async fn said(
        &self,
        session: SessionId,
        message: WorkerMessage,
    ) -> Result<(), CoordinatorGone> {
        self.tell(Input::Said(session, message)).await
    }

    /// A session ended.
    pub async fn left(&self, session: SessionId) -> Result<(), CoordinatorGone> {
        self.tell(Input::Left(session)).await
    }

    /// Has the farm carry out the request of a client of the owner `by`. Returns its answer or the
    /// refusal, once that is durable.
    pub async fn ask(
        &self,
        by: &str,
        ask: Request,
    ) -> Result<Result<Answer, Refusal>, CoordinatorGone> {
        let by = by.to_string();
        self.ask_for(|answer| Input::Ask { by, ask, answer }).await
    }

    /// Reads the farm between two events. The farm waits meanwhile.
    pub async fn look<T: Send + 'static>(
        &self,
        see: impl FnOnce(&Farm) -> T + Send + 'static,
    ) -> Result<T, CoordinatorGone> {
        let look = |seen: oneshot::Sender<T>| {
            Input::Look(Box::new(move |farm: &Farm| _ = seen.send(see(farm))))
        };
        self.ask_for(look).await
    }

    /// What workers reported since this was asked for last.
    pub async fn take_progress(&self) -> Result<Vec<Progress>, CoordinatorGone> {
        self.ask_for(Input::TakeProgress).await
    }

    /// One job.
    pub async fn job(&self, job: JobId) -> Result<Option<JobView>, CoordinatorGone> {
        self.look(move |farm| farm.job(job)).await
    }

    /// Follows a job: the receiver has it as it is, and is told of changes, at once of its end. It
    /// is closed when the job is removed. `None` if there is no such job.
    pub async fn follow(
        &self,
        job: JobId,
    ) -> Result<Option<watch::Receiver<JobView>>, CoordinatorGone> {
        self.ask_for(|follows| Input::Follow(job, follows)).await
    }

    /// A number that rises whenever a client has changed something, a job has come to its end, or a
    /// worker has come or gone. A picture of the farm with the same number shows what was answered
    /// to clients before it was made.
    pub(super) fn changes(&self) -> u64 {
        self.changes.load(Ordering::Relaxed)
    }

    /// How many inputs wait for the event loop, and how many requests for the ledger.
    pub(super) fn queues(&self) -> Result<[usize; 2], CoordinatorGone> {
        let event_queue = self.inputs.max_capacity() - self.inputs.capacity();
        let ledger = self.ledger.upgrade().ok_or(CoordinatorGone)?;
        Ok([event_queue, ledger.max_capacity() - ledger.capacity()])
    }

    /// Writes a credential that is new or was revoked. Returns when it is durable.
    pub(super) async fn write_credential(
        &self,
        credential: Credential,
    ) -> Result<(), CoordinatorGone> {
        let (reply, written) = oneshot::channel();
        let ledger = self.ledger.upgrade().ok_or(CoordinatorGone)?;
        let sent = ledger.send(LedgerRequest::Credential(credential, reply)).await;
        sent.map_err(|_| CoordinatorGone)?;
        drop(ledger);
        written.await.map_err(|_| CoordinatorGone)
    }

    /// Ends the event loop once what it has taken in is in the ledger.
    pub async fn stop(&self) {
        let _ = self.tell(Input::Stop).await;
    }

    /// Tells the event loop something, and waits for what it replies.
    async fn ask_for<T>(
        &self,
        input: impl FnOnce(oneshot::Sender<T>) -> Input,
    ) -> Result<T, CoordinatorGone> {
        let (reply, replied) = oneshot::channel();
        self.tell(input(reply)).await?;
        replied.await.map_err(|_| CoordinatorGone)
    }

    async fn tell(&self, input: Input) -> Result<(), CoordinatorGone> {
        self.inputs.send(input).await.map_err(|_| CoordinatorGone)
    }
}

/// Warns of a machine that has lost several worker processes. A single process may be lost with a
/// connection.
fn log_lost(principal: &Principal, processes: usize) {
    if processes > 1 && processes.is_power_of_two() {
        tracing::warn!(%principal, processes,
            "worker processes of this machine were lost while they counted, and have not come back. If the system \
             killed them for lack of memory, which their status 137 or an oom-kill in its log shows, start them with \
             fewer --threads, or allow them more memory");
    }
}

/// Logs contradictory counts and their settlement. A contradiction means that a machine miscounts,
/// and the operator should know which.
fn log_dispute(command: &LedgerCommand) {
    match command {
        LedgerCommand::Dispute(report, provenance) => {
            tracing::warn!(job = %report.job, range = %report.range, count = report.checked_count.count,
                kernel = %report.kernel, principal = %provenance.principal, worker = provenance.worker,
                "disputed: this count contradicts the accepted one; `queens jobs {}` says who is asked to settle it",
                report.job);
        }
        LedgerCommand::Settle { report, provenance, wrong, ground } => {
            tracing::warn!(job = %report.job, range = %report.range, count = report.checked_count.count,
                principal = %provenance.principal, worker = provenance.worker,
                "settled: this count is right");
            for party in wrong {
                tracing::error!(%party, job = %report.job, range = %report.range, reason = ground.name(),
                    "this party counted wrong: nothing of it is trusted any more, and what nobody \
                     has confirmed of its counts is counted again; check the memory and cooling of its \
                     machines, then see `queens trust`");
            }
        }
        _ => {}
    }
}
