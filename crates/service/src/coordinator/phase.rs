//! The phases of a coordinator: its health, and what it answers meanwhile.
//!
//! ```text
//!   Starting ──► Serving ──► Draining ──► Stopped
//!   (reads its ledger)       (closes it)
//! ```

use std::sync::{Arc, OnceLock};

use axum::Router;
use axum::extract::{Request, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use tokio::sync::watch;
use tonic::Status;
use tonic::server::NamedService;
use tonic_health::ServingStatus;
use tonic_health::server::HealthReporter;
use tower::ServiceExt as _;
use wire::v1::client_service_server::ClientServiceServer;
use wire::v1::farm_service_server::FarmServiceServer;
use wire::{LIVENESS, READINESS};

use super::http::is_grpc;
use super::{Credentials, FarmHandle};

/// The gRPC services of whose health may be asked.
const NAMES: [&str; 2] = [name::<FarmServiceServer<()>>(), name::<ClientServiceServer<()>>()];

/// The phase of a coordinator.
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

    /// Sets what the health service answers. The coordinator as a whole (without a name), its readiness and its gRPC services
    /// have the same status.
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

/// Services and pages that are there once the ledger is read.
pub(super) type Late = Arc<OnceLock<Router>>;

/// The answer before the ledger is read.
const TOO_EARLY: &str = "the coordinator reads its ledger; try again soon";

/// Has the late routes answer a request. Until they are there, the answer is to try again: the gRPC status `UNAVAILABLE`, or
/// the HTTP status 503.
pub(super) async fn answer_late(State(late): State<Late>, request: Request) -> Response {
    match late.get() {
        Some(routes) => routes.clone().oneshot(request).await.into_response(),
        None if is_grpc(&request) => Status::unavailable(TOO_EARLY).into_http(),
        None => {
            let status = StatusCode::SERVICE_UNAVAILABLE;
            (status, [(header::RETRY_AFTER, "2")], format!("{TOO_EARLY}\n")).into_response()
        }
    }
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
        let mut server = tokio::spawn(serve(listener.connections(None), phases));
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
