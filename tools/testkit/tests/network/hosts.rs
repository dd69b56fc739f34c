//! What runs on the hosts: a coordinator, workers, a client.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use board::{Cut, MethodChoice, Problem, Tasks};
use count::{Backend, Kernel};
use farm::{Config, JobView, LoanKey, Plan, SigningKey};
use hyper_util::rt::TokioIo;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use tokio::sync::{mpsc, watch};
use tonic::transport::Uri;
use turmoil::net::{TcpListener, TcpStream};
use wire::v1;
use wire::v1::jobs_service_client::JobsServiceClient;

use executor::{BUILD, Executor, Step};
use ledger::{CheckedLedger, Ledger, LedgerEvent, LedgerHandle, LedgerRequest};
use service::ServiceError;
use service::coordinator::{
    Accept, Access, Credentials, Hub, Limits, Phase, Plans, accept_within, serve,
};
use service::worker::{Connect, LeaveRules, Link, LinkEnd, Pen, WorkConfig, work};
use service::{Endpoint, Proofs, TokenChannel};
use testkit::hostile_worker::{Attack, Harm, Target, flood};

pub(super) const COORDINATOR: &str = "coordinator";
const PORT: u16 = 7410;
/// Enough for every board that is counted here.
const MEMORY: u64 = 1 << 30;

/// The coordinator, with the ledger at `path`.
pub(super) async fn coordinator(path: &Path) -> turmoil::Result {
    let ledger = CheckedLedger::open_again(path).and_then(CheckedLedger::begin)?;
    let config = Config {
        lease_ms: 1_000,
        lease_ttl_ms: 5_000,
        grace_ms: 1_000,
        probe_tasks: 2,
        ..Config::default()
    };
    let (hub, handle) = Hub::with_writer(config, LoanKey::new([8; 32]), ledger, write_as_task);
    let credentials = Credentials::new(&Access::Open, Vec::new());
    let listener = TcpListener::bind((Ipv4Addr::UNSPECIFIED, PORT)).await?;
    let connections = accept_within(Limits::default(), vec![SimulatedListener(listener)]);
    let (_phase, phases) = watch::channel(Phase::Serving(credentials, handle));
    let server = serve(connections, phases);
    tokio::select! {
        ended = tokio::spawn(hub.run()) => ended??,
        ended = server => ended?,
    }
    Err("the coordinator ended by itself".into())
}

/// A listener of the simulated network.
struct SimulatedListener(TcpListener);

impl Accept for SimulatedListener {
    type Stream = TcpStream;

    async fn accept(&self) -> io::Result<(TcpStream, SocketAddr)> {
        self.0.accept().await
    }
}

/// Writes like the ledger's thread, on a slow disk: a crash may come before a transaction, or
/// between it and its answers.
fn write_as_task(ledger: Ledger) -> LedgerHandle {
    const DISK: Duration = Duration::from_millis(30);
    let (requests, mut queue) = mpsc::channel(1_024);
    let (answers, events) = mpsc::unbounded_channel();
    tokio::spawn(async move {
        let mut batch = Vec::new();
        while queue.recv_many(&mut batch, 1_024).await > 0 {
            tokio::time::sleep(DISK).await;
            let done = ledger.serve(&batch).expect("the disk is sound");
            tokio::time::sleep(DISK).await;
            for (request, answer) in batch.drain(..).zip(done) {
                if let LedgerRequest::Farm(ticket, _) = request {
                    let _ = answers.send(LedgerEvent::Answered(ticket, answer));
                }
            }
        }
    });
    LedgerHandle { requests, events, thread: std::thread::spawn(|| ()) }
}

/// One life of a worker; `pace_ms` is about what a task takes.
pub(super) async fn worker(name: String, life: u64, pace_ms: u64) -> turmoil::Result {
    let mut random = StdRng::seed_from_u64(life);
    let instance: u64 = random.random();
    let (executor, mut stepper) = Executor::stepped(Backend::Portable, MEMORY);
    let (sender, parts) = mpsc::unbounded_channel();
    tokio::spawn(async move {
        loop {
            let busy = Duration::from_millis(random.random_range(1..=2 * pace_ms));
            tokio::time::sleep(busy).await;
            match stepper.step(busy) {
                Step::Idle => {}
                Step::Counted(part) => {
                    if sender.send(part).is_err() {
                        return;
                    }
                }
                Step::Closed => return,
            }
        }
    });
    let config = WorkConfig {
        worker: name.clone(),
        machine: name,
        build: BUILD.into(),
        backend: "simulated".into(),
        instance,
        threads: 1,
        memory: MEMORY,
        memory_kills: 0,
        credit: 64,
        report_ms: 300,
        resend_ms: 2_000,
    };
    let (_stop, stopping) = watch::channel(false);
    let mut seed = [0; 32];
    seed[..8].copy_from_slice(&life.to_le_bytes());
    let mut network = SimulatedNetwork {
        pen: Some(Pen::new(SigningKey::from_seed(&seed))),
        // Every other one numbers tasks itself.
        plans: instance.is_multiple_of(2).then(Arc::default),
    };
    work(config, LeaveRules::default(), executor, parts, &mut network, stopping).await?;
    Err("the worker left by itself".into())
}

/// What hostile workers do without an end.
pub(super) const FLOODS: [Attack; 4] =
    [Attack::Credits, Attack::NoSuchJob, Attack::NoSuchRange, Attack::OthersRanges];

/// A worker that means harm.
pub(super) async fn hostile(attack: Attack, plan: Plan, harm: Arc<Harm>) -> turmoil::Result {
    let mut first = Tasks::new();
    Cut::new(plan.problem, plan.method)?.fill(0..1, &mut first)?;
    let mut kernel = Kernel::new(Backend::Reference, plan.problem.n(), plan.method)?;
    let target = Target { plan, first_count: kernel.count(first.as_slice())? };
    loop {
        if let Ok(link) = (SimulatedNetwork { pen: None, plans: None }).connect().await {
            flood(attack, link, &target, &harm).await;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

struct SimulatedNetwork {
    pen: Option<Pen>,
    plans: Option<Arc<Plans>>,
}

impl Connect for SimulatedNetwork {
    async fn connect(&mut self) -> Result<Link, LinkEnd> {
        let (channel, endpoint) = dial().await;
        let channel = channel.map_err(LinkEnd::from_error)?;
        Link::over(channel, endpoint.url(), self.pen.clone(), self.plans.clone()).await
    }
}

async fn dial() -> (Result<TokenChannel, ServiceError>, Endpoint) {
    let endpoint = Endpoint::new(&format!("{COORDINATOR}:{PORT}"), Proofs::default());
    let connect = |_: Uri| async {
        let stream = TcpStream::connect((COORDINATOR, PORT)).await?;
        Ok::<_, io::Error>(TokioIo::new(stream))
    };
    (endpoint.connect_through(tower::service_fn(connect)).await, endpoint)
}

/// Submits a job and returns it once it is done, however often it has to ask.
pub(super) async fn client(problem: Problem, method: MethodChoice) -> turmoil::Result<JobView> {
    let request = v1::SubmitRequest {
        problem: Some(problem.into()),
        method: Some(method.into()),
        ..Default::default()
    };
    let mut jobs = JobsServiceClient::new(dial().await.0?);
    let job = jobs.submit(request).await?.into_inner().job.ok_or("no job")?.id;
    loop {
        tokio::time::sleep(Duration::from_millis(500)).await;
        let asked = tokio::time::timeout(Duration::from_secs(2), look(job)).await;
        if let Ok(Ok(view)) = asked
            && view.state.is_over()
        {
            return Ok(view);
        }
    }
}

async fn look(job: u64) -> turmoil::Result<JobView> {
    let mut jobs = JobsServiceClient::new(dial().await.0?);
    let view = jobs.get(v1::GetRequest { job }).await?.into_inner().job.ok_or("no job")?;
    Ok(view.try_into()?)
}
