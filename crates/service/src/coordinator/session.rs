//! The coordinator's end of one worker's session: passes the worker's messages to the event loop,
//! and makes a stream of messages of its orders. It enumerates the tasks of leases at the pace at
//! which the worker reads them.

use std::collections::VecDeque;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use board::PlanIndex;
use farm::{
    Ack, CoordinatorMessage, Dismissal, Hello, Lease, SessionId, TasksBlock, Verdict, WorkerMessage,
};
use futures_util::future::BoxFuture;
use futures_util::stream::BoxStream;
use tokio::sync::mpsc;
use tokio::sync::mpsc::error::TryRecvError;
use tokio::time::timeout;
use tokio_stream::StreamExt;
use tonic::{Code, Status};

use super::event_loop::Order;
use super::refused::Refused;
use super::{FarmHandle, Plans};
use crate::wire::{MAX_TASKS_PER_MESSAGE, WireError};

/// How long a new session may take to send its Hello.
const HELLO_TIMEOUT: Duration = Duration::from_secs(10);
/// How long messages of a worker that has hung up are still read. They may have arrived and not
/// been read yet.
const LAST_WORDS: Duration = Duration::from_secs(1);
/// How long the network may take to accept a message. After that the session ends, because the
/// worker does not read.
const PATIENCE: Duration = Duration::from_secs(60);

/// The worker's end of a session, and its owner.
pub(crate) struct Peer {
    /// The owner of the worker's credential.
    pub(crate) owner: String,
    /// Whether the operator trusts the credential: a recount by it settles a dispute alone.
    pub(crate) is_trusted: bool,
    pub(crate) messages: BoxStream<'static, Result<WorkerMessage, WireError>>,
    /// Completes with the reason when the credential is no longer valid.
    pub(crate) ended: BoxFuture<'static, Refused>,
}

/// Serves one worker until it leaves, or until it is dismissed with a status. The worker's messages
/// come from `peer`, until that stream ends; the answers go to `out`.
pub(crate) async fn host(
    farm: FarmHandle,
    plans: Arc<Plans>,
    peer: Peer,
    out: mpsc::Sender<CoordinatorMessage>,
) -> Result<(), Status> {
    let result = serve(&farm, plans, peer, out).await;
    // Dismissals that the farm has decided are counted by the event loop.
    match result.as_ref().map_err(Status::code) {
        Err(Code::InvalidArgument | Code::FailedPrecondition) => farm.meters.dismissed("invalid"),
        Err(Code::DeadlineExceeded) => farm.meters.dismissed("silent"),
        Err(Code::Unauthenticated) => farm.meters.dismissed("expired"),
        _ => {}
    }
    result
}

/// The worker's first message.
async fn greeted(
    messages: &mut BoxStream<'static, Result<WorkerMessage, WireError>>,
) -> Result<Hello, Status> {
    match timeout(HELLO_TIMEOUT, messages.next()).await {
        Ok(Some(Ok(WorkerMessage::Hello(hello)))) => Ok(hello),
        Ok(Some(Err(error))) => Err(error.into()),
        Ok(_) => Err(not_one_hello()),
        Err(_) => Err(Status::deadline_exceeded(format!(
            "no Hello came within {} seconds; connect again",
            HELLO_TIMEOUT.as_secs()
        ))),
    }
}

async fn serve(
    farm: &FarmHandle,
    plans: Arc<Plans>,
    peer: Peer,
    out: mpsc::Sender<CoordinatorMessage>,
) -> Result<(), Status> {
    let Peer { owner, is_trusted, mut messages, ended } = peer;
    let hello = greeted(&mut messages).await?;
    let (session, orders) = farm.join(owner.clone(), is_trusted, hello.clone()).await?;
    let Hello { worker, machine, build, backend, threads, .. } = hello;
    let held = hello.holding.len();
    tracing::info!(%session, worker, owner, machine, build, backend, threads, held, "worker joined");

    let result = async {
        let leases_in_ms = farm.look(|farm| farm.leases_in_ms()).await?;
        if out.send(CoordinatorMessage::Welcome { leases_in_ms }).await.is_err() {
            return Ok(());
        }
        let answers = out.clone();
        let mut heard = pin!(listen(farm, session, &mut messages));
        tokio::select! {
            ended = &mut heard => ended,
            sent = send_messages(orders, out, plans) => match sent {
                Ok(()) if answers.is_closed() => {
                    timeout(LAST_WORDS, heard).await.unwrap_or(Err(dismissed(Dismissal::Replaced)))
                }
                sent => sent.and(Err(dismissed(Dismissal::Replaced))),
            },
            refused = ended => Err(refused.into()),
        }
    }
    .await;

    let _ = farm.left(session).await;
    match &result {
        Err(status)
            if [Code::InvalidArgument, Code::FailedPrecondition, Code::Aborted]
                .contains(&status.code()) =>
        {
            let fault = status.message();
            tracing::warn!(%session, worker, fault, "worker dismissed: it sent what it must not");
        }
        _ => {
            let reason = result.as_ref().err().map(Status::message);
            tracing::info!(%session, worker, ?reason, "worker left");
        }
    }
    result
}

async fn listen(
    farm: &FarmHandle,
    session: SessionId,
    messages: &mut BoxStream<'static, Result<WorkerMessage, WireError>>,
) -> Result<(), Status> {
    while let Some(message) = messages.next().await {
        let message = message?;
        if let WorkerMessage::Hello(_) = message {
            return Err(not_one_hello());
        }
        farm.said(session, message).await?;
    }
    Ok(())
}

fn not_one_hello() -> Status {
    Status::invalid_argument("a session must begin with a Hello and have no other")
}

/// The status for a worker that the farm has dismissed.
fn dismissed(reason: Dismissal) -> Status {
    match reason {
        Dismissal::Replaced => {
            Status::unavailable("the coordinator ended the session; connect again")
        }
        Dismissal::Distrusted => Status::data_loss(
            "this machine, or its owner, is distrusted, because a count was proven wrong or the farm's operator \
             decided so: check the machine's memory and cooling, then ask the operator to trust it again \
             (`queens trust`)",
        ),
        Dismissal::Unproven => Status::aborted(
            "this farm has not leased to this owner what the worker reported or holds; whatever it holds is void",
        ),
    }
}

/// Sends orders and tasks until either end of the session closes. Orders overtake tasks, so that
/// acknowledgements and revocations never wait for a long lease. It fails if the worker is
/// dismissed, if it has reported a range that its plan does not have, or if a plan cannot be cut.
async fn send_messages(
    mut orders: mpsc::Receiver<Order>,
    out: mpsc::Sender<CoordinatorMessage>,
    plans: Arc<Plans>,
) -> Result<(), Status> {
    let mut coming: VecDeque<Coming> = VecDeque::new();
    loop {
        let message = match orders.try_recv() {
            Err(TryRecvError::Empty) => match next_block(&mut coming) {
                Some(block) => CoordinatorMessage::Tasks(block),
                None => match orders.recv().await {
                    Some(order) => order.map_err(dismissed)?,
                    None => return Ok(()),
                },
            },
            Err(TryRecvError::Disconnected) => return Ok(()),
            Ok(order) => order.map_err(dismissed)?,
        };
        let mut lease = None;
        match &message {
            CoordinatorMessage::Lease(new) => lease = Some(*new),
            CoordinatorMessage::Revoke(lease) => coming.retain(|it| it.lease.id != *lease),
            CoordinatorMessage::Ack(Ack { range, verdict: Verdict::Invalid, .. }) => {
                return Err(Status::invalid_argument(format!(
                    "there is no range {range} in the plan of its job, or its sum disagrees with its residue, or its \
                     tasks cannot count so much"
                )));
            }
            _ => {}
        }
        if out.send_timeout(message, PATIENCE).await.is_err() {
            return Ok(());
        }
        // The lease is sent before its plan is indexed, which may take a while after a restart. So
        // the worker knows meanwhile that it has work.
        if let Some(lease) = lease {
            let index = plans.index(lease.plan).await?;
            coming.push_back(Coming { lease, next: lease.range.start(), index });
        }
    }
}

/// A lease whose tasks from the ordinal `next` on are still to come.
struct Coming {
    lease: Lease,
    next: u64,
    index: Arc<PlanIndex>,
}

/// The next tasks: as many as one message has, or the rest of a lease. `None` if no tasks are to
/// come.
fn next_block(coming: &mut VecDeque<Coming>) -> Option<TasksBlock> {
    let Coming { lease: Lease { id: lease, range, .. }, next, index } = coming.front_mut()?;
    let (lease, start) = (*lease, *next);
    let end = range.end().min(start + MAX_TASKS_PER_MESSAGE as u64);
    let tasks = index.tasks(start..end).expect("a lease is a range of its plan");
    *next = end;
    if end == range.end() {
        coming.pop_front();
    }
    Some(TasksBlock { lease, start, tasks })
}

#[cfg(test)]
mod tests {
    use board::{MethodChoice, Problem};
    use farm::{
        JobId, JobSpec, Known, LeaseId, LeaseKind, LeaseToken, Origin, Range, Request, Shard,
    };
    use tokio_stream::wrappers::ReceiverStream;

    use super::*;
    use crate::tests::{hello, ledger};

    const OWNER: &str = "ann";

    #[tokio::test(start_paused = true)]
    async fn a_worker_that_has_hung_up_is_heard_to_its_last_word() {
        // Given a worker in a session
        let (farm, handle) = crate::tests::farm(ledger());
        tokio::spawn(farm.run());
        let (plans, (says, messages)) = (Arc::new(Plans::default()), mpsc::channel(8));
        let (out, mut hears) = mpsc::channel(8);
        let messages = Box::pin(ReceiverStream::new(messages).map(Ok));
        let (owner, ended) = (OWNER.into(), Box::pin(std::future::pending()));
        let peer = Peer { owner, is_trusted: false, messages, ended };
        let session = host(handle.clone(), plans.clone(), peer, out);
        let session = tokio::spawn(session);
        says.send(WorkerMessage::Hello(hello("w1"))).await.expect("it is heard");
        let welcome = CoordinatorMessage::Welcome { leases_in_ms: 0 };
        assert_eq!(hears.recv().await, Some(welcome));

        // When it hangs up, is leased something all the same, and its last word comes a little
        // later
        drop(hears);
        let plan = plans.make(Problem::Total { n: 12 }, MethodChoice::Rows { rows: Some(3) });
        let plan = plan.expect("such a plan exists");
        let spec = JobSpec { origin: Origin::of(OWNER), plan, shard: Shard::ALL, priority: 0 };
        let ask = Request::Submit(vec![farm::Submission {
            spec,
            audit: None,
            known: Box::new(Known::nothing()),
        }]);
        handle.ask(OWNER, ask).await.expect("the event loop runs").expect("it is granted");
        tokio::time::sleep(LAST_WORDS / 10).await;
        says.send(WorkerMessage::Draining).await.expect("it is heard");
        drop(says);

        // Then it has left, and was not sent away.
        session.await.expect("it does not panic").expect("it has said farewell");
    }

    const BLOCK: u64 = MAX_TASKS_PER_MESSAGE as u64;

    /// A lease of a whole plan, which takes many blocks of tasks.
    fn long_lease(plans: &Plans, lease: u64) -> Lease {
        let plan = plans
            .make(Problem::Total { n: 16 }, MethodChoice::Rows { rows: Some(5) })
            .expect("such a plan exists");
        let range = Range::new(0, plan.tasks).expect("it has tasks");
        assert!(plan.tasks > 4 * BLOCK);
        let fingerprint = plan.fingerprint();
        let token = LeaseToken::new(range, LeaseKind::Count, [7; 16]);
        Lease { id: LeaseId(lease), job: JobId(1), plan, fingerprint, range, token, recount: None }
    }

    /// The next message as text. Blocks of tasks are named by their first ordinal.
    async fn next(out: &mut mpsc::Receiver<CoordinatorMessage>) -> String {
        match out.recv().await.expect("the sender runs") {
            CoordinatorMessage::Lease(lease) => format!("lease {}", lease.id),
            CoordinatorMessage::Tasks(block) => {
                format!("tasks {} from {}", block.lease, block.start)
            }
            CoordinatorMessage::Ack(Ack { verdict, .. }) => format!("ack {verdict:?}"),
            CoordinatorMessage::Revoke(lease) => format!("revoke {lease}"),
            CoordinatorMessage::Welcome { .. } => "welcome".into(),
            CoordinatorMessage::Pace(_) => "pace".into(),
        }
    }

    #[tokio::test]
    async fn orders_overtake_tasks_and_a_revocation_ends_them() {
        let plans = Arc::new(Plans::default());
        let (first, second) = (long_lease(&plans, 1), long_lease(&plans, 2));
        let (orders, from_loop) = mpsc::channel(8);
        let (to_worker, mut out) = mpsc::channel(1);
        tokio::spawn(async move { send_messages(from_loop, to_worker, plans).await });

        orders.send(Ok(CoordinatorMessage::Lease(first))).await.expect("the sender runs");
        assert_eq!(next(&mut out).await, "lease 1");
        assert_eq!(next(&mut out).await, "tasks 1 from 0");

        let verdict = Verdict::Accepted;
        let Lease { job, fingerprint, range, .. } = first;
        orders
            .send(Ok(CoordinatorMessage::Ack(Ack { job, fingerprint, range, verdict })))
            .await
            .expect("it runs");
        orders.send(Ok(CoordinatorMessage::Revoke(LeaseId(1)))).await.expect("the sender runs");
        orders.send(Ok(CoordinatorMessage::Lease(second))).await.expect("the sender runs");
        drop(orders);

        // Two blocks were already on their way: one in the channel, one about to be sent.
        let mut reported = Vec::new();
        while reported.last().is_none_or(|last| last != "lease 2") {
            reported.push(next(&mut out).await);
        }
        let late = reported.iter().filter(|message| message.starts_with("tasks 1")).count();
        assert!(late <= 2, "{reported:?}");
        assert_eq!(reported[late..], ["ack Accepted", "revoke 1", "lease 2"]);
        assert!(out.recv().await.is_none(), "the sender ends with its orders");
    }
}
