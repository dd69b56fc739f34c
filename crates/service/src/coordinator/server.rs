//! Everything that is served on the port, and the service of workers.

use std::io;
use std::sync::Arc;

use axum::Router;
use axum::middleware::{from_fn, from_fn_with_state};
use axum::routing::any;
use ledger::Role;
use tokio::sync::{mpsc, watch};
use tokio_stream::wrappers::ReceiverStream;
use tokio_stream::{Stream, StreamExt};
use tonic::service::Routes;
use tonic::{Request, Response, Status, Streaming};
use wire::v1::client_service_server::ClientServiceServer;
use wire::v1::farm_service_server::{FarmService, FarmServiceServer};
use wire::{MAX_MESSAGE_BYTES, v1};

use super::credentials::{Gate, admit, identity};
use super::downloads::{Answers, Downloads};
use super::http::only_grpc;
use super::job_api::JobApi;
use super::limits::{self, Connection};
use super::phase::{Late, answer_late};
use super::session::Peer;
use super::{Credentials, FarmHandle, Phase, Plans, Right, host};
use crate::error::{CoordinatorGone, ServiceError};

/// Number of messages of a session that may wait for the network.
const OUTGOING: usize = 8;

/// Serves until the phase is [`Phase::Stopped`] and every stream has ended. Health is served at once, and everything else from
/// the first [`Phase::Serving`] on.
pub async fn serve(
    connections: impl Stream<Item = io::Result<Connection>>,
    mut phases: watch::Receiver<Phase>,
) -> Result<(), ServiceError> {
    // The health service has no secrets, so it needs no token.
    let (reporter, health) = tonic_health::server::health_reporter();
    let first = phases.borrow().clone();
    first.tell(&reporter).await;
    let late = Late::default();
    let health = Routes::new(health).into_axum_router().route_layer(from_fn(only_grpc));
    let routes = health.fallback_service(any(answer_late).with_state(late.clone()));

    let server = limits::server()
        .add_routes(routes.into())
        .serve_with_incoming_shutdown(connections, Phase::stopped(phases.clone()));
    let follow = async {
        loop {
            let phase = phases.borrow_and_update().clone();
            phase.tell(&reporter).await;
            if let Phase::Serving(credentials, farm) = &phase {
                late.get_or_init(|| routes_of(credentials.clone(), farm.clone()));
                farm.open();
            }
            if phases.changed().await.is_err() {
                // Nobody can change it any more.
                std::future::pending::<()>().await;
            }
        }
    };
    tokio::select! {
        served = server => served.map_err(|error| anyhow::Error::from(error).into()),
        () = follow => unreachable!("it goes on for ever"),
    }
}

/// Everything that needs a credential: the gRPC services, and what is read over HTTP.
fn routes_of(credentials: Credentials, farm: FarmHandle) -> Router {
    let meters = farm.meters.clone();
    let gate = Gate::new(credentials.clone(), meters.clone());
    let plans = Arc::<Plans>::default();
    let downloads = Downloads::of(farm.ledger_path.clone(), meters.copied_at.clone());
    let jobs = JobApi {
        farm: farm.clone(),
        plans: plans.clone(),
        credentials: credentials.clone(),
        downloads,
    };
    let pages = super::http::routes(gate.clone(), farm.clone(), jobs.clone());
    let workers =
        Workers { farm: farm.clone(), plans: plans.clone(), credentials: credentials.clone() };
    let worker_service = FarmServiceServer::new(workers)
        .max_decoding_message_size(MAX_MESSAGE_BYTES)
        .max_encoding_message_size(MAX_MESSAGE_BYTES);
    let clients = ClientServiceServer::new(jobs).max_decoding_message_size(MAX_MESSAGE_BYTES);
    let services = Routes::new(worker_service).add_service(clients);
    let services = services.into_axum_router().reset_fallback();
    let services = services.route_layer(from_fn_with_state(gate, admit));
    services.route_layer(from_fn(only_grpc)).merge(pages)
}

/// The service of workers.
#[derive(Clone)]
struct Workers {
    farm: FarmHandle,
    plans: Arc<Plans>,
    credentials: Credentials,
}

#[tonic::async_trait]
impl FarmService for Workers {
    type WorkStream = Answers<v1::WorkResponse>;

    async fn work(
        &self,
        request: Request<Streaming<v1::WorkRequest>>,
    ) -> Result<Response<Self::WorkStream>, Status> {
        let identity = identity(&request);
        identity.require(Right::Count)?;
        // A broken connection ends the stream like a regular end: the farm treats both alike.
        let messages = request.into_inner().map_while(Result::ok).map(TryInto::try_into);
        let (out, orders) = mpsc::channel(OUTGOING);
        let (farm, plans) = (self.farm.clone(), self.plans.clone());
        let credentials = self.credentials.clone();
        let (owner, is_trusted) = (identity.owner.clone(), identity.role == Role::TrustedWorker);
        let session = tokio::spawn(async move {
            let ended = credentials.ended(&identity);
            host(farm, plans, Peer { owner, is_trusted, messages, ended }, out).await
        });
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
