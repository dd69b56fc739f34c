//! What a coordinator is doing: what its health says, and what it answers meanwhile.
//!
//! ```text
//!   Starting ──► Serving ──► Draining ──► Stopped
//!   (reads its ledger)       (closes it)
//! ```

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};

use tokio::sync::watch;
use tonic::Status;
use tonic::body::Body;
use tonic::codegen::{Body as HttpBody, Bytes, StdError, http};
use tonic::server::NamedService;
use tonic::service::Routes;
use tonic_health::ServingStatus;
use tonic_health::server::HealthReporter;
use tower::Service;
use wire::v1::client_service_server::ClientServiceServer;
use wire::v1::farm_service_server::FarmServiceServer;
use wire::{LIVENESS, READINESS};

use super::http::is_grpc;
use super::{Credentials, FarmHandle};

/// The gRPC services of whose health may be asked.
const NAMES: [&str; 2] = [name::<FarmServiceServer<()>>(), name::<ClientServiceServer<()>>()];

/// What a coordinator is doing.
#[derive(Clone)]
pub enum Phase {
    /// It reads its ledger. Only health is answered.
    Starting,
    /// It serves everything.
    Serving(Credentials, FarmHandle),
    /// It was asked to stop, and closes its ledger.
    Draining,
    /// It takes no more connections, and ends when every stream has.
    Stopped,
}

impl Phase {
    /// Completes when the phase is [`Phase::Stopped`]; never, if nobody can change it any more.
    pub(super) async fn stopped(mut phases: watch::Receiver<Phase>) {
        if phases.wait_for(|phase| matches!(phase, Phase::Stopped)).await.is_err() {
            std::future::pending().await
        }
    }

    /// Tells the health service what to answer: for the coordinator as a whole (without a name), for its
    /// readiness and for its gRPC services the same.
    pub(super) async fn tell(&self, reporter: &HealthReporter) {
        let status = match self {
            Phase::Serving(..) => ServingStatus::Serving,
            Phase::Starting | Phase::Draining | Phase::Stopped => ServingStatus::NotServing,
        };
        for name in ["", READINESS].into_iter().chain(NAMES) {
            reporter.set_service_status(name, status).await;
        }
        reporter.set_service_status(LIVENESS, ServingStatus::Serving).await;
    }
}

/// The name of a gRPC service.
const fn name<S: NamedService>() -> &'static str {
    S::NAME
}

/// Services and pages that are there once the ledger is read. Until then every request is told to try again:
/// by the gRPC status `UNAVAILABLE`, or by the HTTP status 503.
#[derive(Clone, Default)]
pub(super) struct Late(Arc<OnceLock<Routes>>);

impl Late {
    /// From now on `routes` answer; only the first call counts.
    pub(super) fn open(&self, routes: impl FnOnce() -> Routes) {
        self.0.get_or_init(routes);
    }
}

/// What is said before the ledger is read.
const TOO_EARLY: &str = "the coordinator reads its ledger; try again soon";

impl<B> Service<http::Request<B>> for Late
where
    B: HttpBody<Data = Bytes> + Send + 'static,
    B::Error: Into<StdError>,
{
    type Response = http::Response<Body>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<B>) -> Self::Future {
        match self.0.get().cloned() {
            Some(mut routes) => Box::pin(routes.call(request)),
            None => {
                let answer = if is_grpc(&request) {
                    Status::unavailable(TOO_EARLY).into_http()
                } else {
                    too_early()
                };
                Box::pin(std::future::ready(Ok(answer)))
            }
        }
    }
}

fn too_early() -> http::Response<Body> {
    let answer = http::Response::builder()
        .status(http::StatusCode::SERVICE_UNAVAILABLE)
        .header(http::header::CONTENT_TYPE, "text/plain; charset=utf-8")
        .header(http::header::RETRY_AFTER, "2");
    answer.body(Body::new(format!("{TOO_EARLY}\n"))).expect("all of it is valid")
}

#[cfg(test)]
mod tests {
    use farm::{Config, LeaseKey};
    use ledger::CheckedLedger;
    use tonic::Code;
    use tonic::transport::Channel;
    use tonic_health::pb::HealthCheckRequest;
    use tonic_health::pb::health_client::HealthClient;
    use wire::v1::ListRequest;
    use wire::v1::client_service_client::ClientServiceClient;

    use super::*;
    use crate::coordinator::{EventLoop, Limits, Listener, serve};

    /// What is said of the coordinator as a whole, of its readiness and of its liveness, and how a request of a
    /// client ends.
    async fn seen(channel: &Channel) -> ([bool; 3], Code) {
        let mut healthy = [false; 3];
        for (service, healthy) in ["", READINESS, LIVENESS].into_iter().zip(&mut healthy) {
            let request = HealthCheckRequest { service: service.into() };
            let answer = HealthClient::new(channel.clone()).check(request).await;
            let status = answer.expect("health is always served").into_inner().status();
            *healthy = status as i32 == ServingStatus::Serving as i32;
        }
        let listed = ClientServiceClient::new(channel.clone()).list(ListRequest::default()).await;
        (healthy, listed.err().map_or(Code::Ok, |status| status.code()))
    }

    #[tokio::test]
    async fn health_is_told_from_the_first_moment_to_the_last() {
        let any = "127.0.0.1:0".parse().expect("it is an address");
        let listener = Listener::bind(&[any], Limits::default()).await.expect("some port is free");
        let url = format!("http://{}", listener.addresses().expect("it is bound")[0]);
        let (phase, phases) = watch::channel(Phase::Starting);
        let mut server = tokio::spawn(serve(listener.connections(None), phases, Limits::default()));
        let endpoint = Channel::from_shared(url).expect("it is a URL");
        let channel = endpoint.connect().await.expect("it listens");
        assert_eq!(seen(&channel).await, ([false, false, true], Code::Unavailable));

        let ledger = CheckedLedger::in_memory().and_then(CheckedLedger::begin);
        let ledger = ledger.expect("there is memory");
        let (farm, handle) = EventLoop::new(Config::default(), LeaseKey::new([0; 32]), ledger);
        let farm = tokio::spawn(farm.run());
        let credentials = Credentials::new(None, Vec::new());
        phase.send_replace(Phase::Serving(credentials, handle.clone()));
        // The server learns of it in a task of its own.
        while seen(&channel).await.1 == Code::Unavailable {
            tokio::task::yield_now().await;
        }
        assert_eq!(seen(&channel).await, ([true; 3], Code::Ok));

        phase.send_replace(Phase::Draining);
        while seen(&channel).await.0[0] {
            tokio::task::yield_now().await;
        }
        assert_eq!(seen(&channel).await.0, [false, false, true]);

        handle.stop().await;
        farm.await.expect("it does not panic").expect("the ledger is sound");
        assert!(!server.is_finished(), "health is served until the end");
        phase.send_replace(Phase::Stopped);
        drop(channel);
        (&mut server).await.expect("it does not panic").expect("it ends well");
    }
}
