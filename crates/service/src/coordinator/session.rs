//! The coordinator's end of one worker's session.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use bytesize::ByteSize;
use farm::{Event, Range, Report, SessionId, WorkerMessage, WorkerOrder};
use tokio::sync::mpsc;
use tokio::time::timeout;
use tokio_stream::{Stream, StreamExt};
use wire::WireError;

use super::metrics::Gone;
use super::news::tell_pace;
use super::pump::pump;
use super::{HubHandle, Plans};
use crate::ServiceError;

/// How long a new session may take to send its Hello.
const HELLO_TIMEOUT: Duration = Duration::from_secs(10);

/// How long a worker that has hung up is listened to: what it sent before may still be on its way from the connection.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// Why the coordinator ends a session.
#[derive(Debug, thiserror::Error)]
pub enum SessionFault {
    /// The worker sent a malformed message.
    #[error(transparent)]
    Message(#[from] WireError),
    /// The first message was not a Hello, or a second Hello came.
    #[error("a session must begin with a Hello and have no other")]
    NoHello,
    /// The worker reported a range that its plan does not have or a count that its tasks cannot have, or a
    /// report was altered on its way.
    #[error(
        "there is no range {0} in the plan of its job, or its sum disagrees with its residue or with the counts of its \
         tasks, or its tasks cannot count so much"
    )]
    Range(Range),
    /// The worker sent no Hello in time.
    #[error("no Hello came within {} seconds; connect again", HELLO_TIMEOUT.as_secs())]
    Silent,
    /// The coordinator is stopping, or the same worker has another session.
    #[error("the coordinator ended the session; connect again")]
    Ended,
    /// A count of the worker's machine or owner was proven wrong.
    #[error(
        "a count of this machine, or of its owner, was proven wrong: check the memory and cooling of the \
         machine, then ask whoever runs the farm to trust it again (`queens trust`)"
    )]
    Distrusted,
    /// The worker reported or held what was not lent to its owner.
    #[error(
        "this farm has not lent to this owner what the worker reported or holds; whatever it holds is void"
    )]
    Unproven,
    /// The worker's credential has expired or was revoked.
    #[error("the credential has expired or was revoked; ask whoever runs the farm for another one")]
    Expired,
    /// The coordinator failed.
    #[error(transparent)]
    Failure(#[from] ServiceError),
}

/// The worker's end of a session, and who it belongs to.
pub struct Peer<M, E> {
    /// The owner of the worker's credential.
    pub owner: String,
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
    hub: HubHandle,
    plans: Arc<Plans>,
    peer: Peer<
        impl Stream<Item = Result<WorkerMessage, WireError>> + Unpin,
        impl Future<Output = ()>,
    >,
    out: mpsc::Sender<WorkerOrder>,
) -> Result<(), SessionFault> {
    let Peer { owner, mut messages, ended } = peer;
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
    let joined = hub.join(owner.clone(), hello).await;
    let Ok((session, orders)) = joined else { return Err(SessionFault::Ended) };
    tracing::info!(%session, worker, owner, machine, threads, %memory, held, "worker joined");

    let result = async {
        if out.send(WorkerOrder::Welcome).await.is_err() {
            return Ok(());
        }
        let tell_pace = tell_pace(hub.paces(), out.clone());
        let answers = out.clone();
        let mut heard = pin!(listen(&hub, session, &mut messages));
        tokio::select! {
            () = tell_pace => unreachable!("it does not end"),
            ended = &mut heard => ended,
            told = pump(orders, out, plans) => match told {
                Ok(()) if answers.is_closed() => {
                    timeout(LAST_WORDS, heard).await.unwrap_or(Err(SessionFault::Ended))
                }
                told => told.and(Err(SessionFault::Ended)),
            },
            () = ended => Err(SessionFault::Expired),
        }
    }
    .await;

    let _ = hub.session(Event::Left { session }).await;
    if let Some(gone) = result.as_ref().err().and_then(gone) {
        hub.meters().dismissed(gone);
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

/// Why a worker was dismissed by its session. What the farm itself has decided is counted there.
fn gone(fault: &SessionFault) -> Option<Gone> {
    match fault {
        SessionFault::Message(_) | SessionFault::NoHello | SessionFault::Range(_) => {
            Some(Gone::Invalid)
        }
        SessionFault::Silent => Some(Gone::Silent),
        SessionFault::Expired => Some(Gone::Expired),
        SessionFault::Ended
        | SessionFault::Distrusted
        | SessionFault::Unproven
        | SessionFault::Failure(_) => None,
    }
}

/// A report whose tasks count together what it says.
fn consistent(report: Report) -> Result<Report, SessionFault> {
    let Report { fingerprint, range, tally, ref task_counts, .. } = report;
    match task_counts.add_up_to(fingerprint, range, tally) {
        true => Ok(report),
        false => Err(SessionFault::Range(range)),
    }
}

async fn listen(
    hub: &HubHandle,
    session: SessionId,
    messages: &mut (impl Stream<Item = Result<WorkerMessage, WireError>> + Unpin),
) -> Result<(), SessionFault> {
    while let Some(message) = messages.next().await {
        let event = match message? {
            WorkerMessage::Hello(_) => return Err(SessionFault::NoHello),
            WorkerMessage::Credit(credit) => Event::CreditChanged { session, credit },
            // Here, on the session's own task: it takes longer than anything that the hub does with it.
            WorkerMessage::Report(report) => {
                Event::Reported { session, report: consistent(report)? }
            }
            WorkerMessage::Working(lease) => Event::Working { session, lease },
            WorkerMessage::Decline(lease) => {
                tracing::warn!(%session, %lease, "loan declined: the worker has too little memory for it");
                Event::Declined { session, lease }
            }
            WorkerMessage::Leaving => Event::Leaving { session },
        };
        hub.session(event).await.map_err(|_| SessionFault::Ended)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use board::{MethodChoice, Problem};
    use farm::{Config, Hello, JobSpec, Known, LoanKey, Origin, Request, Slice};
    use ledger::CheckedLedger;
    use tokio_stream::wrappers::ReceiverStream;

    use super::*;
    use crate::coordinator::Hub;

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
            memory_kills: 0,
            credit: 100,
            holding: Vec::new(),
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_worker_that_has_hung_up_is_heard_to_its_last_word() {
        // Given a worker in a session
        let ledger = CheckedLedger::in_memory().and_then(CheckedLedger::begin);
        let ledger = ledger.expect("there is memory");
        let (hub, handle) = Hub::new(Config::default(), LoanKey::new([0; 32]), ledger);
        tokio::spawn(hub.run());
        let (plans, (says, messages)) = (Arc::new(Plans::default()), mpsc::channel(8));
        let (out, mut hears) = mpsc::channel(8);
        let messages = ReceiverStream::new(messages).map(Ok);
        let peer = Peer { owner: OWNER.into(), messages, ended: std::future::pending() };
        let session = host(handle.clone(), plans.clone(), peer, out);
        let session = tokio::spawn(session);
        says.send(WorkerMessage::Hello(hello())).await.expect("it is heard");
        assert!(matches!(hears.recv().await, Some(WorkerOrder::Welcome)));

        // When it hangs up, is lent something all the same, and its last word comes a little later
        drop(hears);
        let plan = plans.make(Problem::Total { n: 12 }, MethodChoice::Rows { rows: Some(3) });
        let plan = plan.expect("such a plan exists");
        let spec = JobSpec { origin: Origin::of(OWNER), plan, slice: Slice::ALL, priority: 0 };
        let ask = Request::Submit { spec, audit: None, known: Known::nothing() };
        handle.ask(OWNER, ask).await.expect("the hub runs").expect("it is granted");
        tokio::time::sleep(LAST_WORDS / 10).await;
        says.send(WorkerMessage::Leaving).await.expect("it is heard");
        drop(says);

        // Then it has left, and was not sent away.
        session.await.expect("it does not panic").expect("it has said farewell");
    }
}
