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

/// How long a new session may take to send its Hello.
const HELLO_TIMEOUT: Duration = Duration::from_secs(10);

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
        "there is no range {0} in the plan of its job, or its sum and its residue disagree, or its tasks \
         cannot count so much"
    )]
    Range(Range),
    /// The worker sent no Hello in time.
    #[error("no Hello came within {} seconds; connect again", HELLO_TIMEOUT.as_secs())]
    Silent,
    /// The coordinator is stopping, or the same worker has another session.
    #[error("the coordinator ended the session; connect again")]
    Ended,
    /// A count of the worker was proven wrong.
    #[error(
        "a count of this worker was proven wrong by two others: check the memory and cooling of its \
         machine, then start it under another name"
    )]
    Distrusted,
    /// The coordinator failed.
    #[error(transparent)]
    Failure(#[from] ServiceError),
}

/// Serves one worker until it leaves or is dismissed. The worker's messages come from `messages`, until
/// that stream ends; the answers go to `out`. Messages are paid from `allowance`, and accepted counts fill
/// it again.
///
/// # Errors
///
/// [`SessionFault`], if the session ends before the worker leaves.
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
        tracing::warn!(%session, worker, %fault, "worker dismissed: it sent what it must not");
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
                tracing::warn!(%session, %lease, "loan declined: the worker has too little memory for it");
                Event::Declined { session, lease }
            }
            WorkerMessage::Leaving => Event::Leaving { session },
        };
        hub.session(event).await.map_err(|_| SessionFault::Ended)?;
    }
    Ok(())
}
