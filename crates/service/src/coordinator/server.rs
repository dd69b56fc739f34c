//! The gRPC services. They only translate between messages and the hub.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use axum::middleware::{from_fn, from_fn_with_state};
use farm::{AuditPolicy, Hello, JobId, JobView, Problem, WorkerMessage};
use tokio::sync::{mpsc, watch};
use tokio_stream::wrappers::ReceiverStream;
use tokio_stream::{Stream, StreamExt};
use tonic::service::Routes;
use tonic::{Request, Response, Status, Streaming};
use tonic_reflection::server::v1::{ServerReflection, ServerReflectionServer};
use wire::v1::admin_service_server::AdminServiceServer;
use wire::v1::farm_service_server::{FarmService, FarmServiceServer};
use wire::v1::jobs_service_server::{JobsService, JobsServiceServer};
use wire::{MAX_MESSAGE_BYTES, WireError, v1};

use super::admin::Admin;
use super::bundles::Bundles;
use super::copies::Copies;
use super::credentials::{Gate, admit, identity};
use super::desk::{Desk, Submission};
use super::handle::Listed;
use super::http::only_grpc;
use super::limits::{self, Connection};
use super::metrics::measure_call;
use super::phase::Late;
use super::sending::while_admitted;
use super::session::Peer;
use super::{
    ClientRequest, Credentials, HubHandle, Phase, Plans, Right, SessionFault, host, times,
};
use crate::error::{HubGone, ServiceError};

/// The most jobs in one answer, and how many there are if the client does not say.
const MOST_LISTED: usize = 256;
/// How often the state of a watched job is read.
const WATCH_INTERVAL: Duration = Duration::from_millis(250);
/// Number of messages of a session that may wait for the network.
const OUTGOING: usize = 8;

/// Serves until the phase is [`Phase::Stopped`] and every stream has ended. Health is told at once; whatever
/// else is asked is answered from the first [`Phase::Serving`] on.
pub async fn serve(
    connections: impl Stream<Item = io::Result<Connection>>,
    mut phases: watch::Receiver<Phase>,
) -> Result<(), ServiceError> {
    // The health service tells no secrets, so it needs no token.
    let (reporter, health) = tonic_health::server::health_reporter();
    let first = phases.borrow().clone();
    first.tell(&reporter).await;
    let late = Late::default();
    let health = Routes::new(health).into_axum_router().route_layer(from_fn(only_grpc));
    let routes = health.fallback_service(late.clone());
    let reflection = tonic_reflection::server::Builder::configure()
        .register_encoded_file_descriptor_set(wire::DESCRIPTORS)
        .register_encoded_file_descriptor_set(tonic_health::pb::FILE_DESCRIPTOR_SET)
        .build_v1()
        .map_err(anyhow::Error::from)?;

    let server = limits::server()
        .add_routes(routes.into())
        .serve_with_incoming_shutdown(connections, Phase::stopped(phases.clone()));
    let follow = async {
        loop {
            let phase = phases.borrow_and_update().clone();
            phase.tell(&reporter).await;
            if let Phase::Serving(credentials, hub) = &phase {
                late.open(|| routes_of(credentials.clone(), hub.clone(), reflection.clone()));
                hub.open();
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
fn routes_of(
    credentials: Credentials,
    hub: HubHandle,
    reflection: ServerReflectionServer<impl ServerReflection>,
) -> Routes {
    let meters = hub.meters().clone();
    let gate = Gate::new(credentials.clone(), meters.clone());
    let admin = AdminServiceServer::new(Admin {
        hub: hub.clone(),
        credentials: credentials.clone(),
        copies: Copies::of(hub.ledger_path()),
    });
    let plans = Arc::<Plans>::default();
    let desk = Desk::new(hub.clone(), plans.clone());
    let pages = super::http::routes(gate.clone(), hub.clone(), desk.clone());
    let bundles = Bundles::new(hub.ledger_path());
    let services = Services { hub, plans, desk, credentials, bundles };
    let farm = FarmServiceServer::new(services.clone())
        .max_decoding_message_size(MAX_MESSAGE_BYTES)
        .max_encoding_message_size(MAX_MESSAGE_BYTES);
    let jobs = JobsServiceServer::new(services).max_decoding_message_size(MAX_MESSAGE_BYTES);
    let services = Routes::new(farm).add_service(jobs).add_service(admin).add_service(reflection);
    let services = services.into_axum_router().reset_fallback();
    let services = services.route_layer(from_fn_with_state(gate, admit));
    let measured = services.route_layer(from_fn_with_state(meters, measure_call));
    measured.route_layer(from_fn(only_grpc)).merge(pages).into()
}

#[derive(Clone)]
struct Services {
    hub: HubHandle,
    plans: Arc<Plans>,
    desk: Desk,
    credentials: Credentials,
    bundles: Bundles,
}

type Answers<T> = Pin<Box<dyn Stream<Item = Result<T, Status>> + Send>>;

#[tonic::async_trait]
impl FarmService for Services {
    type WorkStream = Answers<v1::WorkResponse>;

    async fn work(
        &self,
        request: Request<Streaming<v1::WorkRequest>>,
    ) -> Result<Response<Self::WorkStream>, Status> {
        let identity = identity(&request);
        identity.require(Right::Count)?;
        // A broken connection ends the stream like a regular end: the farm treats both alike.
        let messages = request.into_inner().map_while(Result::ok).map(decode);
        let (out, orders) = mpsc::channel(OUTGOING);
        let (hub, plans) = (self.hub.clone(), self.plans.clone());
        let credentials = self.credentials.clone();
        let owner = identity.owner.clone();
        let session = tokio::spawn(async move {
            let ended = credentials.ended(&identity);
            host(hub, plans, Peer { owner, messages, ended }, out).await
        });
        let last_word = async move {
            match session.await {
                Ok(Ok(())) => None,
                Ok(Err(fault)) => Some(Err(fault.into())),
                Err(_) => Some(Err(Status::internal("the session failed"))),
            }
        };
        let last_word = futures_util::stream::once(last_word).filter_map(|word| word);
        let answers = ReceiverStream::new(orders).map(|order| Ok(order.into()));
        Ok(Response::new(Box::pin(answers.chain(last_word))))
    }
}

fn decode(message: v1::WorkRequest) -> Result<WorkerMessage, WireError> {
    let message = message.try_into()?;
    if let WorkerMessage::Hello(Hello { worker, build, backend, .. }) = &message {
        tracing::info!(worker, build, backend, "worker says hello");
    }
    Ok(message)
}

impl From<SessionFault> for Status {
    fn from(fault: SessionFault) -> Status {
        let text = fault.to_string();
        match fault {
            SessionFault::Message(
                WireError::Protocol(_) | WireError::Fingerprint { .. } | WireError::Kernel { .. },
            ) => Status::failed_precondition(text),
            SessionFault::Message(_) | SessionFault::NoHello | SessionFault::Range(_) => {
                Status::invalid_argument(text)
            }
            SessionFault::Silent => Status::deadline_exceeded(text),
            SessionFault::Ended => Status::unavailable(text),
            SessionFault::Distrusted => Status::data_loss(text),
            SessionFault::Unproven => Status::aborted(text),
            SessionFault::Expired => Status::unauthenticated(text),
            SessionFault::Failure(_) => Status::internal(text),
        }
    }
}

impl From<HubGone> for Status {
    fn from(gone: HubGone) -> Status {
        Status::unavailable(gone.to_string())
    }
}

/// The audit policy that a client asks for. If the client gives no seed, the policy gets a random one, which
/// nobody knows before the job is over.
fn policy(wanted: v1::AuditPolicy) -> Result<AuditPolicy, Status> {
    let (seed, salt) = (rand::random::<u64>() >> 1, rand::random());
    wanted.with_secrets(seed, salt).map_err(|error| Status::invalid_argument(error.to_string()))
}

impl Services {
    /// Changes a job for somebody who may.
    async fn change<T>(
        &self,
        request: &Request<T>,
        job: u64,
        wish: ClientRequest,
    ) -> Result<v1::Job, Status> {
        Ok(self.desk.change(&identity(request), (JobId(job), wish)).await?.into())
    }

    /// The job as soon as it is no longer what it was, or nobody listens to `sender`.
    async fn changed<T>(
        &self,
        last: &JobView,
        sender: &mpsc::Sender<T>,
    ) -> Result<JobView, Status> {
        loop {
            tokio::time::sleep(WATCH_INTERVAL).await;
            let job = self.desk.view(last.id).await?;
            if job != *last || sender.is_closed() {
                return Ok(job);
            }
        }
    }
}

#[tonic::async_trait]
impl JobsService for Services {
    async fn submit(
        &self,
        request: Request<v1::SubmitRequest>,
    ) -> Result<Response<v1::SubmitResponse>, Status> {
        let identity = identity(&request);
        let v1::SubmitRequest { problem, method, priority, audit, key } = request.into_inner();
        let missing = |field| Status::invalid_argument(WireError::Missing(field).to_string());
        let problem = problem.ok_or_else(|| missing("problem"))?;
        let method = method.ok_or_else(|| missing("method"))?;
        let malformed = |error: WireError| Status::invalid_argument(error.to_string());
        let wanted = Submission {
            problem: Problem::try_from(problem).map_err(malformed)?,
            method: method.into(),
            priority,
            key: wire::key(key).map_err(malformed)?,
            audit: audit.map(policy).transpose()?,
        };
        let job = self.desk.submit(identity, wanted).await?.into();
        Ok(Response::new(v1::SubmitResponse { job: Some(job) }))
    }

    async fn list(
        &self,
        request: Request<v1::ListRequest>,
    ) -> Result<Response<v1::ListResponse>, Status> {
        identity(&request).require(Right::See)?;
        let v1::ListRequest { page_size, after, live_only, newest_first } = request.into_inner();
        let most = match page_size {
            0 => MOST_LISTED,
            wanted => MOST_LISTED.min(usize::try_from(wanted).unwrap_or(usize::MAX)),
        };
        // One more than is told of shows whether there are more.
        let listed = match (live_only, newest_first) {
            (false, false) => Listed::After(JobId(after)),
            (true, false) => Listed::LiveAfter(JobId(after)),
            (false, true) if after == 0 => Listed::Before(JobId(u64::MAX)),
            (false, true) => Listed::Before(JobId(after)),
            (true, true) => {
                return Err(Status::invalid_argument(
                    "a list of the newest jobs is one of all, and not of those that have not ended",
                ));
            }
        };
        let mut jobs = self.hub.jobs(listed, most + 1).await?;
        let more = jobs.len() > most;
        jobs.truncate(most);
        times::add(&self.hub, &mut jobs).await;
        let jobs = jobs.into_iter().map(Into::into).collect();
        Ok(Response::new(v1::ListResponse { jobs, more }))
    }

    async fn get(
        &self,
        request: Request<v1::GetRequest>,
    ) -> Result<Response<v1::GetResponse>, Status> {
        identity(&request).require(Right::See)?;
        let mut job = self.desk.view(JobId(request.into_inner().job)).await?;
        times::add(&self.hub, std::slice::from_mut(&mut job)).await;
        Ok(Response::new(v1::GetResponse { job: Some(job.into()) }))
    }

    type WatchStream = Answers<v1::WatchResponse>;

    async fn watch(
        &self,
        request: Request<v1::WatchRequest>,
    ) -> Result<Response<Self::WatchStream>, Status> {
        let identity = identity(&request);
        identity.require(Right::See)?;
        let v1::WatchRequest { job } = request.into_inner();
        let mut last = self.desk.view(JobId(job)).await?;
        let (sender, receiver) = mpsc::channel(1);
        let services = self.clone();
        let viewer = self.hub.meters().viewer();
        tokio::spawn(async move {
            let _viewer = viewer;
            let mut tell = Ok(last.clone());
            loop {
                let over = !matches!(&tell, Ok(job) if !job.state.is_over());
                let answer = tell.map(|job| v1::WatchResponse { job: Some(job.into()) });
                if sender.send(answer).await.is_err() || over {
                    return;
                }
                tell = tokio::select! {
                    () = services.credentials.ended(&identity) => Err(SessionFault::Expired.into()),
                    changed = services.changed(&last, &sender) => changed,
                };
                if let Ok(job) = &tell {
                    last = job.clone();
                }
            }
        });
        Ok(Response::new(Box::pin(ReceiverStream::new(receiver))))
    }

    async fn audit(
        &self,
        request: Request<v1::AuditRequest>,
    ) -> Result<Response<v1::AuditResponse>, Status> {
        let missing = || Status::invalid_argument(WireError::Missing("policy").to_string());
        let &v1::AuditRequest { job, policy: wanted } = request.get_ref();
        let policy = policy(wanted.ok_or_else(missing)?)?;
        let wish = ClientRequest::Audit(JobId(job), policy);
        let job = self.change(&request, job, wish).await?;
        tracing::info!(
            job = job.id,
            share_ppm = policy.share_ppm,
            commitment = %policy.commitment(),
            "audit ordered"
        );
        Ok(Response::new(v1::AuditResponse { job: Some(job) }))
    }

    async fn cancel(
        &self,
        request: Request<v1::CancelRequest>,
    ) -> Result<Response<v1::CancelResponse>, Status> {
        let job = request.get_ref().job;
        let wish = ClientRequest::Cancel(JobId(job));
        let job = Some(self.change(&request, job, wish).await?);
        Ok(Response::new(v1::CancelResponse { job }))
    }

    async fn pause(
        &self,
        request: Request<v1::PauseRequest>,
    ) -> Result<Response<v1::PauseResponse>, Status> {
        let job = request.get_ref().job;
        let wish = ClientRequest::Pause(JobId(job));
        let job = Some(self.change(&request, job, wish).await?);
        Ok(Response::new(v1::PauseResponse { job }))
    }

    async fn resume(
        &self,
        request: Request<v1::ResumeRequest>,
    ) -> Result<Response<v1::ResumeResponse>, Status> {
        let job = request.get_ref().job;
        let wish = ClientRequest::Resume(JobId(job));
        let job = Some(self.change(&request, job, wish).await?);
        Ok(Response::new(v1::ResumeResponse { job }))
    }

    async fn set_priority(
        &self,
        request: Request<v1::SetPriorityRequest>,
    ) -> Result<Response<v1::SetPriorityResponse>, Status> {
        let identity = identity(&request);
        let v1::SetPriorityRequest { job, priority } = request.into_inner();
        let job = self.desk.set_priority(&identity, JobId(job), priority).await?;
        Ok(Response::new(v1::SetPriorityResponse { job: Some(job.into()) }))
    }

    async fn remove(
        &self,
        request: Request<v1::RemoveRequest>,
    ) -> Result<Response<v1::RemoveResponse>, Status> {
        let job = self.desk.remove(&identity(&request), JobId(request.get_ref().job)).await?;
        Ok(Response::new(v1::RemoveResponse { job: Some(job.into()) }))
    }

    type ExportStream = Answers<v1::ExportResponse>;

    async fn export(
        &self,
        request: Request<v1::ExportRequest>,
    ) -> Result<Response<Self::ExportStream>, Status> {
        let identity = identity(&request);
        identity.require(Right::See)?;
        let blocks = self.bundles.begin(request.into_inner())?;
        let blocks = while_admitted(blocks, identity, self.credentials.clone());
        Ok(Response::new(Box::pin(blocks)))
    }
}
