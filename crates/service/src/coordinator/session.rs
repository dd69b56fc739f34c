//! The coordinator's end of one worker's session.

use std::sync::Arc;
use std::time::Duration;

use bytesize::ByteSize;
use farm::{Event, Range, SessionId, WorkerMessage, WorkerOrder};
use tokio::sync::mpsc;
use tokio_stream::{Stream, StreamExt};
use wire::WireError;

use super::pump::pump;
use super::{Allowance, HubHandle, Plans};
use crate::ServiceError;

/// How long a new session may take to say who it is.
const HELLO_TIMEOUT: Duration = Duration::from_secs(10);

/// Why a session ends before its worker goes.
#[derive(Debug, thiserror::Error)]
pub enum SessionFault {
    /// The worker says what it must not.
    #[error(transparent)]
    Message(#[from] WireError),
    /// The worker says the wrong thing first, or a second Hello.
    #[error("a session begins with one Hello")]
    NoHello,
    /// The worker reports what no plan has, or what was altered on its way.
    #[error("there is no range {0} in the plan of its job, or its sum and its residue disagree")]
    Range(Range),
    /// The worker says nothing.
    #[error("nothing came within {} seconds; connect again", HELLO_TIMEOUT.as_secs())]
    Silent,
    /// The coordinator is stopping, or the same worker has another session.
    #[error("the coordinator ended the session; connect again")]
    Ended,
    /// The worker has counted wrong.
    #[error(
        "a count of this worker was proven wrong by two others: check the memory and cooling of its \
         machine, then start it under another name"
    )]
    Distrusted,
    /// A fault of the coordinator's.
    #[error(transparent)]
    Failure(#[from] ServiceError),
}

/// Serves one worker until it goes, or is dismissed. What it says comes from `messages`, until
/// that ends; what it is told goes to `out`. Messages are paid from `allowance`, and counts that are
/// accepted fill it again.
pub async fn host(
    hub: HubHandle,
    plans: Arc<Plans>,
    mut messages: impl Stream<Item = Result<WorkerMessage, WireError>> + Unpin,
    out: mpsc::Sender<WorkerOrder>,
    allowance: Allowance,
) -> Result<(), SessionFault> {
    allowance.spend_session();
    let first = tokio::time::timeout(HELLO_TIMEOUT, messages.next()).await;
    let hello = match first {
        Ok(Some(Ok(WorkerMessage::Hello(hello)))) => hello,
        Ok(Some(Err(error))) => return Err(error.into()),
        Ok(_) => return Err(SessionFault::NoHello),
        Err(_) => return Err(SessionFault::Silent),
    };
    let (worker, threads, held) = (hello.worker.clone(), hello.threads, hello.holding.len());
    let memory = ByteSize(hello.memory).display().iec();
    let Ok((session, orders)) = hub.join(hello).await else { return Err(SessionFault::Ended) };
    tracing::info!(%session, worker, threads, %memory, held, "worker joined");

    let result = async {
        if out.send(WorkerOrder::Welcome).await.is_err() {
            return Ok(());
        }
        tokio::select! {
            ended = listen(&hub, session, &mut messages, &allowance) => ended,
            ended = pump(orders, out, plans, &allowance) => {
                ended.and(Err(SessionFault::Ended))
            }
        }
    }
    .await;

    let _ = hub.session(Event::Left { session }).await;
    if let Err(
        fault @ (SessionFault::Message(_) | SessionFault::NoHello | SessionFault::Range(_)),
    ) = &result
    {
        tracing::warn!(%session, worker, %fault, "dismissed: the worker says what it must not");
    }
    tracing::info!(%session, worker, reason = ?result.as_ref().err(), "worker left");
    result
}

async fn listen(
    hub: &HubHandle,
    session: SessionId,
    messages: &mut (impl Stream<Item = Result<WorkerMessage, WireError>> + Unpin),
    allowance: &Allowance,
) -> Result<(), SessionFault> {
    while let Some(message) = messages.next().await {
        allowance.spend_message();
        let event = match message? {
            WorkerMessage::Hello(_) => return Err(SessionFault::NoHello),
            WorkerMessage::Credit(credit) => Event::CreditChanged { session, credit },
            WorkerMessage::Report(report) => Event::Reported { session, report },
            WorkerMessage::Working(lease) => Event::Working { session, lease },
            WorkerMessage::Decline(lease) => {
                tracing::warn!(%session, %lease, "the worker has no memory for what it was lent");
                Event::Declined { session, lease }
            }
            WorkerMessage::Leaving => Event::Leaving { session },
        };
        hub.session(event).await.map_err(|_| SessionFault::Ended)?;
    }
    Ok(())
}
