//! What runs on the hosts of workers.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use board::{Cut, Tasks};
use count::{Backend, Kernel};
use farm::{Plan, SigningKey};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use tokio::sync::{mpsc, watch};
use tonic::transport::Uri;
use turmoil::net::TcpStream;

use executor::{BUILD, Executor, Step};
use service::worker::{Connect, GrpcConnector, LeaveRules, Pen, WorkConfig, work};
use service::{Endpoint, Proofs};
use testkit::hostile_worker::{Attack, Harm, Target, flood};

/// The port of every coordinator.
pub(super) const PORT: u16 = 7410;
/// Enough for every board that is counted here.
const MEMORY: u64 = 1 << 30;

/// The coordinator that serves at one of these hosts.
pub(super) fn endpoint(hosts: &[&str]) -> Endpoint {
    let urls: Vec<String> = hosts.iter().map(|host| format!("{host}:{PORT}")).collect();
    Endpoint::new(&urls.join(","), Proofs::default()).through(|uri: Uri| async move {
        let host = uri.host().ok_or(io::ErrorKind::InvalidInput)?;
        TcpStream::connect((host, PORT)).await
    })
}

/// One life of a worker; `pace_ms` is about what a task takes.
pub(super) async fn worker(
    name: String,
    life: u64,
    pace_ms: u64,
    farm: Endpoint,
) -> turmoil::Result {
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
    let mut connector = GrpcConnector {
        endpoint: farm,
        pen: Some(Pen::new(SigningKey::from_seed(&seed))),
        // Every other one numbers tasks itself.
        plans: instance.is_multiple_of(2).then(Arc::default),
    };
    work(config, LeaveRules::default(), executor, parts, &mut connector, stopping).await?;
    Err("the worker left by itself".into())
}

/// What hostile workers do without an end.
pub(super) const FLOODS: [Attack; 4] =
    [Attack::Credits, Attack::NoSuchJob, Attack::NoSuchRange, Attack::OthersRanges];

/// A worker that means harm.
pub(super) async fn hostile(
    attack: Attack,
    plan: Plan,
    harm: Arc<Harm>,
    farm: Endpoint,
) -> turmoil::Result {
    let mut first = Tasks::new();
    Cut::new(plan.problem, plan.method)?.fill(0..1, &mut first)?;
    let mut kernel = Kernel::new(Backend::Reference, plan.problem.n(), plan.method)?;
    let target = Target { plan, first_count: kernel.count(first.as_slice())? };
    let mut connector = GrpcConnector { endpoint: farm, pen: None, plans: None };
    loop {
        if let Ok(link) = connector.connect().await {
            flood(attack, link, &target, &harm).await;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}
