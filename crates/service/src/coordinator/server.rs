//! What is served on the port, the gRPC service for workers, and the phases of a coordinator with
//! their health and answers.

use std::path::Path;
use std::pin::Pin;
use std::sync::{Arc, OnceLock};

use axum::Router;
use axum::extract::State;
use axum::middleware::{from_fn, from_fn_with_state};
use axum::response::{IntoResponse, Response as HttpResponse};
use axum::routing::any;
use ledger::Role;
use tokio::sync::{Notify, mpsc};
use tokio_rustls::TlsAcceptor;
use tokio_stream::wrappers::ReceiverStream;
use tokio_stream::{Stream, StreamExt};
use tonic::server::NamedService;
use tonic::service::Routes;
use tonic::{Request, Response, Status, Streaming};
use tonic_health::ServingStatus;
use tonic_health::server::HealthReporter;
use tower::ServiceExt as _;

use super::credentials::{Gate, admit};
use super::downloads::Downloads;
use super::http::{TOO_EARLY, is_grpc, only_grpc, too_early};
use super::job_api::JobApi;
use super::limits::{self, Listener};
use super::session::Peer;
use super::{Credentials, FarmHandle, Identity, Right, host};
use crate::error::CoordinatorGone;
use crate::wire::v1::farm_service_server::{FarmService, FarmServiceServer};
use crate::wire::{LIVENESS, MAX_MESSAGE_BYTES, READINESS, v1};

/// Number of messages of a session that may wait for the network.
const OUTGOING: usize = 8;

/// The phases of a coordinator that is served: it reads its ledger, serves everything from
/// [`Phases::open`] on, closes its ledger from [`Phases::drain`] on, and takes no more connections
/// from [`Phases::stop`] on.
pub struct Phases {
    reporter: HealthReporter,
    late: Late,
    stop: Arc<Notify>,
}

/// Serves health at once, and everything else as the phases say: over TLS if `tls` is given, or in
/// plain text. Nothing is served before the future is polled. It completes after [`Phases::stop`],
/// when every stream has ended.
pub async fn serve(
    listener: Listener,
    tls: Option<TlsAcceptor>,
) -> (Phases, impl Future<Output = ()>) {
    // The health service has no secrets, so it needs no token.
    let (reporter, health) = tonic_health::server::health_reporter();
    let phases = Phases { reporter, late: Late::default(), stop: Arc::default() };
    phases.report(ServingStatus::NotServing).await;
    let health = Routes::new(health).into_axum_router().route_layer(from_fn(only_grpc));
    let routes = health.fallback_service(any(answer_late).with_state(phases.late.clone()));
    let stop = phases.stop.clone();
    let server = async move {
        let stopped = async move { stop.notified().await };
        limits::serve(routes, listener.connections(tls), stopped).await;
    };
    (phases, server)
}

impl Phases {
    /// Everything is served from now on. If `public` is given, a page for everybody is, too, which
    /// names these owners.
    pub async fn open(
        &self,
        credentials: Credentials,
        farm: FarmHandle,
        public: Option<Arc<[String]>>,
    ) {
        self.late.get_or_init(|| routes_of(credentials, farm, public));
        self.report(ServingStatus::Serving).await;
    }

    /// The coordinator was asked to stop, and closes its ledger.
    pub async fn drain(&self) {
        self.report(ServingStatus::NotServing).await;
    }

    /// No more connections are taken, and the server ends when every stream has.
    pub fn stop(&self) {
        self.stop.notify_one();
    }

    /// Sets what the health service answers. The coordinator as a whole (without a name), its
    /// readiness and its gRPC service have the same status.
    async fn report(&self, status: ServingStatus) {
        for name in ["", READINESS, FarmServiceServer::<()>::NAME] {
            self.reporter.set_service_status(name, status).await;
        }
        self.reporter.set_service_status(LIVENESS, ServingStatus::Serving).await;
    }
}

/// Everything that needs a credential: the gRPC service of workers, the API and the page.
fn routes_of(credentials: Credentials, farm: FarmHandle, public: Option<Arc<[String]>>) -> Router {
    let meters = farm.meters.clone();
    let gate = Gate::new(credentials.clone(), meters.clone());
    // Nothing is sent of a ledger in memory, which only tests serve.
    let ledger = farm.ledger_path.clone().unwrap_or_else(|| Path::new("").into());
    let downloads = Downloads::of(ledger, meters.copied_at.clone());
    let jobs = JobApi { farm, plans: Arc::default(), credentials, downloads };
    let pages = super::http::routes(gate.clone(), jobs.clone(), public);
    let worker_service = FarmServiceServer::new(Workers(jobs.clone()))
        .max_decoding_message_size(MAX_MESSAGE_BYTES)
        .max_encoding_message_size(MAX_MESSAGE_BYTES);
    let services = Routes::new(worker_service).into_axum_router().reset_fallback();
    let services = services.route_layer(from_fn_with_state(gate, admit));
    services.route_layer(from_fn(only_grpc)).merge(pages)
}

/// The service of workers.
struct Workers(JobApi);

#[tonic::async_trait]
impl FarmService for Workers {
    type WorkStream = Pin<Box<dyn Stream<Item = Result<v1::WorkResponse, Status>> + Send>>;

    async fn work(
        &self,
        request: Request<Streaming<v1::WorkRequest>>,
    ) -> Result<Response<Self::WorkStream>, Status> {
        let identity =
            request.extensions().get::<Identity>().expect("it has passed the gate").clone();
        identity.require(Right::Count)?;
        let messages = request.into_inner();
        // A broken connection ends the stream like a regular end: the farm treats both alike.
        let messages = messages.map_while(Result::ok).map(TryInto::try_into);
        let (out, orders) = mpsc::channel(OUTGOING);
        let (owner, is_trusted) = (identity.owner.clone(), identity.role == Role::TrustedWorker);
        let JobApi { farm, plans, credentials, .. } = self.0.clone();
        let ended = Box::pin(async move { credentials.ended(&identity).await });
        let peer = Peer { owner, is_trusted, messages: Box::pin(messages), ended };
        let session = tokio::spawn(host(farm, plans, peer, out));
        let last_word = async move {
            match session.await {
                Ok(Ok(())) => None,
                Ok(Err(status)) => Some(Err(status)),
                Err(_) => Some(Err(Status::internal("the session failed"))),
            }
        };
        let last_word = futures_util::stream::once(last_word).filter_map(|word| word);
        let answers = ReceiverStream::new(orders).map(|order| Ok(order.into()));
        Ok(Response::new(Box::pin(answers.chain(last_word))))
    }
}

impl From<CoordinatorGone> for Status {
    fn from(gone: CoordinatorGone) -> Status {
        Status::unavailable(gone.to_string())
    }
}

/// Services and pages that are there once the ledger is read.
type Late = Arc<OnceLock<Router>>;

/// Answers a request by the routes that exist once the ledger is read. Before that, the answer is
/// to try again: the gRPC status `UNAVAILABLE`, or the HTTP status 503.
async fn answer_late(State(late): State<Late>, request: axum::extract::Request) -> HttpResponse {
    match late.get() {
        Some(routes) => routes.clone().oneshot(request).await.into_response(),
        None if is_grpc(&request) => Status::unavailable(TOO_EARLY).into_http(),
        None => too_early(request.uri().path()),
    }
}

#[cfg(test)]
mod tests {
    use tonic::transport::Channel;
    use tonic_health::pb::HealthCheckRequest;
    use tonic_health::pb::health_client::HealthClient;

    use super::*;
    use crate::coordinator::Limits;
    use crate::tests::ledger;

    /// What is said of the coordinator as a whole, of its readiness and of its liveness, and how a
    /// request of a client ends.
    async fn seen(channel: &Channel) -> ([bool; 3], u16) {
        let mut healthy = [false; 3];
        for (service, healthy) in ["", READINESS, LIVENESS].into_iter().zip(&mut healthy) {
            let request = HealthCheckRequest { service: service.into() };
            let answer = HealthClient::new(channel.clone()).check(request).await;
            let status = answer.expect("health is always served").into_inner().status();
            *healthy = status as i32 == ServingStatus::Serving as i32;
        }
        let request = axum::http::Request::get("/api/v1/jobs").body(tonic::body::Body::empty());
        let listed = channel.clone().oneshot(request.expect("it is a request")).await;
        (healthy, listed.expect("HTTP is always served").status().as_u16())
    }

    #[tokio::test]
    async fn health_is_told_from_the_first_moment_to_the_last() {
        let any = "127.0.0.1:0".parse().expect("it is an address");
        let listener = Listener::bind(&[any], Limits::default()).await.expect("some port is free");
        let url = format!("http://{}", listener.addresses().expect("it is bound")[0]);
        let (phases, server) = serve(listener, None).await;
        let mut server = tokio::spawn(server);
        let endpoint = Channel::from_shared(url).expect("it is a URL");
        let channel = endpoint.connect().await.expect("it listens");
        assert_eq!(seen(&channel).await, ([false, false, true], 503));

        let (farm, handle) = crate::tests::farm(ledger());
        let farm = tokio::spawn(farm.run());
        phases.open(Credentials::new(None, Vec::new()), handle.clone(), None).await;
        assert_eq!(seen(&channel).await, ([true; 3], 200));

        phases.drain().await;
        assert_eq!(seen(&channel).await.0, [false, false, true]);

        handle.stop().await;
        farm.await.expect("it does not panic").expect("the ledger is sound");
        assert!(!server.is_finished(), "health is served until the end");
        phases.stop();
        drop(channel);
        (&mut server).await.expect("it does not panic");
    }
}
