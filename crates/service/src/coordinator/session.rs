//! The coordinator's end of one worker's session.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use bytesize::ByteSize;
use farm::{CoordinatorMessage, Event, SessionId, WorkerMessage};
use tokio::sync::mpsc;
use tokio::time::timeout;
use tokio_stream::{Stream, StreamExt};
use wire::WireError;

use super::pace::send_pace;
use super::sender::send_messages;
use super::session_fault::{HELLO_TIMEOUT, SessionFault};
use super::{FarmHandle, Plans};

/// How long messages of a worker that has hung up are still read. They may be on their way from the connection.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// The worker's end of a session, and who it belongs to.
pub struct Peer<M, E> {
    /// The owner of the worker's credential.
    pub owner: String,
    /// Whether the operator trusts the credential: a recount by it settles a dispute alone.
    pub is_trusted: bool,
    /// The worker's messages.
    pub messages: M,
    /// Completes when the credential is no longer valid.
    pub ended: E,
}

/// Serves one worker until it leaves or is dismissed. The worker's messages come from `peer`, until
/// that stream ends; the answers go to `out`.
///
/// # Errors
///
/// [`SessionFault`], if the session ends before the worker leaves.
pub async fn host(
    farm: FarmHandle,
    plans: Arc<Plans>,
    peer: Peer<
        impl Stream<Item = Result<WorkerMessage, WireError>> + Unpin,
        impl Future<Output = ()>,
    >,
    out: mpsc::Sender<CoordinatorMessage>,
) -> Result<(), SessionFault> {
    let Peer { owner, is_trusted, mut messages, ended } = peer;
    let first = timeout(HELLO_TIMEOUT, messages.next()).await;
    let hello = match first {
        Ok(Some(Ok(WorkerMessage::Hello(hello)))) => hello,
        Ok(Some(Err(error))) => return Err(error.into()),
        Ok(_) => return Err(SessionFault::NoHello),
        Err(_) => return Err(SessionFault::Silent),
    };
    let (worker, threads, held) = (hello.worker.clone(), hello.threads, hello.holding.len());
    let memory = ByteSize(hello.memory).display().iec();
    let machine = hello.machine.clone();
    let joined = farm.join(owner.clone(), is_trusted, hello).await;
    let Ok((session, orders)) = joined else { return Err(SessionFault::Ended) };
    tracing::info!(%session, worker, owner, machine, threads, %memory, held, "worker joined");

    let result = async {
        let leases_in_ms = farm.look(|farm| farm.leases_in_ms()).await;
        let leases_in_ms = leases_in_ms.map_err(|_| SessionFault::Ended)?;
        if out.send(CoordinatorMessage::Welcome { leases_in_ms }).await.is_err() {
            return Ok(());
        }
        let send_pace = send_pace(farm.paces.clone(), out.clone());
        let answers = out.clone();
        let mut heard = pin!(listen(&farm, session, &mut messages));
        tokio::select! {
            () = send_pace => unreachable!("it does not end"),
            ended = &mut heard => ended,
            reported = send_messages(orders, out, plans) => match reported {
                Ok(()) if answers.is_closed() => {
                    timeout(LAST_WORDS, heard).await.unwrap_or(Err(SessionFault::Ended))
                }
                reported => reported.and(Err(SessionFault::Ended)),
            },
            () = ended => Err(SessionFault::Expired),
        }
    }
    .await;

    let _ = farm.session(Event::Left { session }).await;
    if let Some(gone) = result.as_ref().err().and_then(SessionFault::reason) {
        farm.meters.dismissed(gone);
    }
    if let Err(
        fault @ (SessionFault::Message(_)
        | SessionFault::NoHello
        | SessionFault::Range(_)
        | SessionFault::Unproven),
    ) = &result
    {
        tracing::warn!(%session, worker, %fault, "worker dismissed: it sent what it must not");
    }
    tracing::info!(%session, worker, reason = ?result.as_ref().err(), "worker left");
    result
}

async fn listen(
    farm: &FarmHandle,
    session: SessionId,
    messages: &mut (impl Stream<Item = Result<WorkerMessage, WireError>> + Unpin),
) -> Result<(), SessionFault> {
    while let Some(message) = messages.next().await {
        let message = message?;
        if let WorkerMessage::Hello(_) = message {
            return Err(SessionFault::NoHello);
        }
        let event = Event::Said { session, message };
        farm.session(event).await.map_err(|_| SessionFault::Ended)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use board::{MethodChoice, Problem};
    use farm::{Config, Hello, JobSpec, Known, LeaseKey, Origin, Request, Slice};
    use ledger::CheckedLedger;
    use tokio_stream::wrappers::ReceiverStream;

    use super::*;
    use crate::coordinator::EventLoop;

    const OWNER: &str = "ann";

    fn hello() -> Hello {
        Hello {
            worker: "w1".into(),
            machine: "m1".into(),
            build: "1.0".into(),
            backend: "portable".into(),
            instance: 1,
            threads: 1,
            memory: 1 << 30,
            credit: 100,
            holding: Vec::new(),
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_worker_that_has_hung_up_is_heard_to_its_last_word() {
        // Given a worker in a session
        let ledger = CheckedLedger::in_memory().and_then(CheckedLedger::begin);
        let ledger = ledger.expect("there is memory");
        let (farm, handle) = EventLoop::new(Config::default(), LeaseKey::new([0; 32]), ledger);
        tokio::spawn(farm.run());
        let (plans, (says, messages)) = (Arc::new(Plans::default()), mpsc::channel(8));
        let (out, mut hears) = mpsc::channel(8);
        let messages = ReceiverStream::new(messages).map(Ok);
        let (owner, ended) = (OWNER.into(), std::future::pending());
        let peer = Peer { owner, is_trusted: false, messages, ended };
        let session = host(handle.clone(), plans.clone(), peer, out);
        let session = tokio::spawn(session);
        says.send(WorkerMessage::Hello(hello())).await.expect("it is heard");
        let welcome = CoordinatorMessage::Welcome { leases_in_ms: 0 };
        assert_eq!(hears.recv().await, Some(welcome));

        // When it hangs up, is leased something all the same, and its last word comes a little later
        drop(hears);
        let plan = plans.make(Problem::Total { n: 12 }, MethodChoice::Rows { rows: Some(3) });
        let plan = plan.expect("such a plan exists");
        let spec = JobSpec { origin: Origin::of(OWNER), plan, slice: Slice::ALL, priority: 0 };
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
}
