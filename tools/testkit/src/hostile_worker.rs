//! Workers that have the token and mean harm.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use executor::BUILD;
use farm::{Hello, Holding, JobId, KernelName, LeaseId, Plan, Range, Report, Tally, WorkerMessage};
use service::Endpoint;
use service::worker::{Connect, GrpcConnector, Link};
use tokio_stream::StreamExt;
use wire::v1::farm_service_client::FarmServiceClient;
use wire::{MAX_MESSAGE_BYTES, v1};

/// What one of them does, as fast as it is let.
#[derive(Clone, Copy, Debug)]
pub enum Attack {
    /// Changes its mind on how much it agrees to hold.
    Credits,
    /// Reports counts of a job that is not there.
    NoSuchJob,
    /// Reports counts of ranges that are not there.
    NoSuchRange,
    /// Reports again what another worker has reported.
    OthersRanges,
    /// Says hello, and goes.
    Hellos,
    /// Says that it holds as much as a worker may name, and goes.
    LargeHellos,
    /// Sends a message that is larger than that.
    TooLarge,
}

impl Attack {
    /// All of them.
    pub const ALL: [Attack; 7] = [
        Attack::Credits,
        Attack::NoSuchJob,
        Attack::NoSuchRange,
        Attack::OthersRanges,
        Attack::Hellos,
        Attack::LargeHellos,
        Attack::TooLarge,
    ];
}

/// What they attack: the first job of a coordinator.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// What the job counts.
    pub plan: Plan,
    /// The count of its first task: they flood, they do not lie.
    pub first_count: u64,
}

/// What they have come to.
#[derive(Debug, Default)]
pub struct Harm {
    /// Messages handed to the network.
    pub messages: AtomicU64,
    /// Sessions that the coordinator ended.
    pub dismissals: AtomicU64,
}

/// Attacks whoever serves `target` at `endpoint`, for ever.
pub async fn attack(attack: Attack, endpoint: Endpoint, target: Target, harm: Arc<Harm>) {
    let mut connector = GrpcConnector { endpoint: endpoint.clone(), backend: "none".into() };
    loop {
        let began = match attack {
            Attack::Hellos => greet(&endpoint, hello(), 0, &harm).await,
            Attack::LargeHellos => greet(&endpoint, large_hello(&target.plan), 0, &harm).await,
            Attack::TooLarge => greet(&endpoint, hello(), 2 * MAX_MESSAGE_BYTES, &harm).await,
            _ => match connector.connect().await {
                Ok(link) => {
                    flood(attack, link, &target, &harm).await;
                    true
                }
                Err(_) => false,
            },
        };
        if !began {
            // Others would not wait; here it would only take the processor from the honest ones.
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }
}

/// Connects, says hello, with so many bytes in it that mean nothing, and goes. Returns whether it was
/// welcome.
async fn greet(endpoint: &Endpoint, hello: Hello, padding: usize, harm: &Harm) -> bool {
    let Ok(channel) = endpoint.connect().await else { return false };
    let mut request = v1::WorkRequest::from(WorkerMessage::Hello(hello));
    if let Some(v1::work_request::Message::Hello(hello)) = &mut request.message {
        hello.build = "x".repeat(padding);
    }
    harm.messages.fetch_add(1, Ordering::Relaxed);
    let requests = tokio_stream::once(request).chain(tokio_stream::pending());
    let mut client = FarmServiceClient::new(channel).max_encoding_message_size(usize::MAX);
    let welcome = match client.work(requests).await {
        Ok(answers) => matches!(answers.into_inner().next().await, Some(Ok(_))),
        Err(_) => false,
    };
    harm.dismissals.fetch_add(u64::from(!welcome), Ordering::Relaxed);
    welcome
}

/// Says the same all over again, until the coordinator ends the session.
pub async fn flood(attack: Attack, link: Link, target: &Target, harm: &Harm) {
    let Link { mut orders, messages } = link;
    let talk = async {
        let _ = messages.send(WorkerMessage::Hello(hello())).await;
        for number in 0.. {
            if messages.send(message(attack, target, number)).await.is_err() {
                break;
            }
            harm.messages.fetch_add(1, Ordering::Relaxed);
        }
    };
    let listen = async { while let Some(Ok(_)) = orders.next().await {} };
    tokio::select! {
        () = talk => {}
        () = listen => {}
    }
    harm.dismissals.fetch_add(1, Ordering::Relaxed);
}

fn hello() -> Hello {
    let instance = rand::random();
    let worker = format!("hostile-{instance:016x}");
    let build = BUILD.into();
    Hello { worker, build, instance, threads: 1, memory: 0, credit: 0, holding: Vec::new() }
}

/// It claims to hold what was never lent to it.
fn large_hello(plan: &Plan) -> Hello {
    let holding = |start| Holding {
        lease: LeaseId(1),
        job: JobId(1),
        fingerprint: plan.fingerprint(),
        range: Range::new(start, start + 1).expect("it has a task"),
    };
    let starts = (0..plan.tasks).rev().step_by(2).take(Hello::MAX_HOLDINGS);
    Hello { holding: starts.map(holding).collect(), ..hello() }
}

/// What it says next.
fn message(attack: Attack, target: &Target, number: u64) -> WorkerMessage {
    let Target { plan, first_count } = *target;
    let report = |job, start, count| {
        let range = Range::new(start, start + 1).expect("it has a task");
        let (job, fingerprint, lease) = (JobId(job), plan.fingerprint(), LeaseId(1));
        let tally = Tally::EMPTY.with(fingerprint, start, count).expect("it is one count");
        let kernel = KernelName::default();
        WorkerMessage::Report(Report { job, fingerprint, lease, range, tally, kernel, busy_us: 1 })
    };
    match attack {
        Attack::Credits => WorkerMessage::Credit(number % 2),
        Attack::NoSuchJob => report(1 << 40, number, 0),
        Attack::NoSuchRange => report(1, plan.tasks + number, 0),
        Attack::OthersRanges => report(1, 0, first_count),
        Attack::Hellos | Attack::LargeHellos | Attack::TooLarge => WorkerMessage::Hello(hello()),
    }
}
