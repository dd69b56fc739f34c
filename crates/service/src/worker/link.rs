//! The worker's connection to a coordinator.

#![cfg_attr(not(test), warn(clippy::arithmetic_side_effects))]

use std::pin::Pin;
use std::time::Duration;

use farm::{CoordinatorMessage, WorkerMessage};
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tokio_stream::{Stream, StreamExt};
use tonic::{Code, Status};

use crate::ServiceError;
use crate::endpoint::{Endpoint, innermost};
use crate::wire::v1::farm_service_client::FarmServiceClient;
use crate::wire::{MAX_MESSAGE_BYTES, WireError, v1};

/// Number of messages that may wait for the network.
const OUTGOING: usize = 256;
/// How long a coordinator may take to answer a Hello.
const WELCOME_TIMEOUT: Duration = Duration::from_secs(20);

/// The worker's end of a session.
pub struct Link {
    /// The coordinator's messages. The stream ends or fails when the session does.
    pub orders: Pin<Box<dyn Stream<Item = Result<CoordinatorMessage, LinkEnd>> + Send>>,
    /// The worker's messages after its Hello.
    pub messages: mpsc::Sender<WorkerMessage>,
}

/// Why a session ended.
#[derive(Debug)]
pub enum LinkEnd {
    /// The connection was lost; another attempt may succeed.
    Lost(String),
    /// The coordinator has not leased what the worker reported or holds. Everything that the worker
    /// holds is void, and another attempt may succeed.
    Disowned(String),
    /// Nobody answers who can be recognised as the coordinator. Another attempt is useless, unless
    /// the worker has had a session there: then a file is being replaced, or something else answers
    /// for a while.
    Unrecognised(ServiceError),
    /// The coordinator refuses this worker, or breaks the protocol; another attempt is useless,
    /// unless a message was altered on its way.
    Refused(ServiceError),
}

/// Opens sessions with a coordinator.
pub trait Connect {
    /// Whether somebody else could alter a message on its way, because it is in plain text.
    fn is_alterable(&self) -> bool;

    /// Makes one attempt to open a session, which begins with `hello`.
    fn open(&mut self, hello: WorkerMessage) -> impl Future<Output = Result<Link, LinkEnd>> + Send;
}

/// Over gRPC.
impl Connect for Endpoint {
    fn is_alterable(&self) -> bool {
        !self.is_encrypted()
    }

    async fn open(&mut self, hello: WorkerMessage) -> Result<Link, LinkEnd> {
        // Token and join string are read anew each time, because they may have been replaced.
        let (endpoint, shown) = (self.clone(), self.secret());
        let channel = self.connect().await.map_err(|error| match error {
            ServiceError::Unreachable { url, reason } => LinkEnd::Lost(format!("{url}: {reason}")),
            other => LinkEnd::Unrecognised(other),
        })?;
        let has_ended = move |status| match ended(endpoint.url(), status) {
            LinkEnd::Refused(error @ ServiceError::Token { .. }) if endpoint.secret() != shown => {
                LinkEnd::Lost(format!("{error}; its file has changed since, or cannot be read now"))
            }
            end => end,
        };
        let (messages, outgoing) = mpsc::channel(OUTGOING);
        // A coordinator may send nothing, not even headers, before it has the Hello.
        let requests = tokio_stream::once(hello).chain(ReceiverStream::new(outgoing));
        let requests = requests.map(v1::WorkRequest::from);
        let mut client = FarmServiceClient::new(channel)
            .max_decoding_message_size(MAX_MESSAGE_BYTES)
            .max_encoding_message_size(MAX_MESSAGE_BYTES);
        let answers = tokio::time::timeout(WELCOME_TIMEOUT, client.work(requests)).await;
        let answers = answers.map_err(|_| LinkEnd::Lost("it does not answer".into()))?;
        let answers = match answers.map_err(&has_ended) {
            Ok(answers) => answers.into_inner(),
            Err(LinkEnd::Lost(reason)) => {
                return Err(LinkEnd::Lost(self.why_silent(reason).await));
            }
            Err(end) => return Err(end),
        };
        let orders = answers.map(move |answer| {
            // A coordinator whose messages cannot be decoded is of another version.
            let unreadable = |error: WireError| ServiceError::Incompatible(error.to_string());
            let message = CoordinatorMessage::try_from(answer.map_err(&has_ended)?);
            message.map_err(|error| LinkEnd::Refused(unreadable(error)))
        });
        Ok(Link { orders: Box::pin(orders), messages })
    }
}

fn ended(url: &str, status: Status) -> LinkEnd {
    let reason = farm::visible(status.message());
    let incompatible = || {
        ServiceError::Incompatible(format!(
            "the coordinator at {url} refuses this worker: {reason}"
        ))
    };
    match status.code() {
        Code::PermissionDenied => LinkEnd::Refused(ServiceError::Secret(reason)),
        Code::DataLoss => LinkEnd::Refused(ServiceError::Distrusted(format!(
            "the coordinator at {url} does not trust this worker any more: {reason}"
        ))),
        Code::Aborted => LinkEnd::Disowned(reason),
        Code::Unauthenticated => LinkEnd::Refused(ServiceError::Token { url: url.into(), reason }),
        // The answer of some other gRPC service, which does not know this method.
        Code::Unimplemented => LinkEnd::Unrecognised(incompatible()),
        Code::FailedPrecondition | Code::InvalidArgument => LinkEnd::Refused(incompatible()),
        _ => LinkEnd::Lost(match std::error::Error::source(&status) {
            Some(cause) => innermost(cause),
            None => reason,
        }),
    }
}

#[cfg(test)]
mod tests {
    use tokio::net::TcpListener;
    use tokio_stream::wrappers::TcpListenerStream;
    use tonic::transport::Server;
    use tonic::{Request, Response, Streaming};

    use super::*;
    use crate::wire::v1::farm_service_server::{FarmService, FarmServiceServer};

    /// A coordinator of another program.
    struct Stranger;

    #[tonic::async_trait]
    impl FarmService for Stranger {
        type WorkStream = Pin<Box<dyn Stream<Item = Result<v1::WorkResponse, Status>> + Send>>;

        async fn work(
            &self,
            request: Request<Streaming<v1::WorkRequest>>,
        ) -> Result<Response<Self::WorkStream>, Status> {
            let first = request.into_inner().next().await.expect("there is a first message")?;
            assert!(matches!(first.try_into(), Ok(WorkerMessage::Hello(_))));
            let welcome = CoordinatorMessage::Welcome { leases_in_ms: 0 };
            Ok(Response::new(Box::pin(tokio_stream::once(Ok(welcome.into())))))
        }
    }

    #[tokio::test]
    async fn a_coordinator_may_send_not_even_headers_before_the_hello() {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("some port is free");
        let url = listener.local_addr().expect("it is bound").to_string();
        let server = Server::builder().add_service(FarmServiceServer::new(Stranger));
        tokio::spawn(server.serve_with_incoming(TcpListenerStream::new(listener)));
        let hello = WorkerMessage::Hello(crate::tests::hello("w1"));
        let mut link = Endpoint::new(&url, None).open(hello).await.expect("it is welcomed");
        let first = link.orders.next().await;
        let welcome = CoordinatorMessage::Welcome { leases_in_ms: 0 };
        assert!(matches!(first, Some(Ok(message)) if message == welcome));
    }
}
