//! Hostile workers: they have the token and attack the coordinator.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use executor::BUILD;
use farm::{
    Hello, Holding, JobId, KernelName, LeaseId, LoanKind, LoanProof, Plan, Range, Report, Tally,
    TaskCounts, WorkerMessage,
};
use service::Endpoint;
use service::worker::{Connect, GrpcConnector, Link};
use tokio_stream::StreamExt;
use wire::v1::farm_service_client::FarmServiceClient;
use wire::{MAX_MESSAGE_BYTES, v1};

/// An attack. A hostile worker repeats it as fast as the coordinator lets it.
#[derive(Clone, Copy, Debug)]
pub enum Attack {
    /// Changes its credit again and again.
    Credits,
    /// Reports counts of a job that does not exist.
    NoSuchJob,
    /// Reports counts of ranges that do not exist.
    NoSuchRange,
    /// Reports again a range that another worker has reported.
    OthersRanges,
    /// Sends a Hello, and disconnects.
    Hellos,
    /// Sends a Hello with as many held ranges as a worker may name, and disconnects.
    LargeHellos,
    /// Sends a Hello that is larger than the largest message.
    TooLarge,
}

impl Attack {
    /// All attacks.
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

/// The target of an attack: the first job of a coordinator.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// The plan of the job.
    pub plan: Plan,
    /// The true count of the job's first task: hostile workers flood the coordinator, but do not lie.
    pub first_count: u64,
}

/// What hostile workers have done so far.
#[derive(Debug, Default)]
pub struct Harm {
    /// Number of messages that were handed to the network.
    pub messages: AtomicU64,
    /// Number of sessions that the coordinator ended.
    pub dismissals: AtomicU64,
}

/// Attacks the coordinator at `endpoint`, which serves `target`, for ever.
pub async fn attack(attack: Attack, endpoint: Endpoint, target: Target, harm: Arc<Harm>) {
    let mut connector = GrpcConnector { endpoint: endpoint.clone() };
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
            // A real attacker would not wait; here that would take the processor from honest workers.
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }
}

/// Connects, sends a Hello with `padding` meaningless bytes, and disconnects. Returns whether the coordinator
/// welcomed it.
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

/// Sends messages of an attack until the coordinator ends the session.
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
    let (machine, build, backend) = (worker.clone(), BUILD.into(), "none".into());
    let (threads, memory, credit) = (1, 0, 0);
    let holding = Vec::new();
    let memory_kills = 0;
    Hello {
        worker,
        machine,
        build,
        backend,
        instance,
        threads,
        memory,
        memory_kills,
        credit,
        holding,
    }
}

/// A Hello that claims as many held ranges as possible. None of them was lent.
fn large_hello(plan: &Plan) -> Hello {
    let holding = |start| {
        let range = Range::new(start, start + 1).expect("it has a task");
        let (lease, job, fingerprint) = (LeaseId(1), JobId(1), plan.fingerprint());
        Holding { lease, job, fingerprint, range, proof: forged(range) }
    };
    let starts = (0..plan.tasks).rev().step_by(2).take(Hello::MAX_HOLDINGS);
    Hello { holding: starts.map(holding).collect(), ..hello() }
}

/// The proof of a loan that was never made.
fn forged(range: Range) -> LoanProof {
    LoanProof { range, kind: LoanKind::Count, seal: [0x5a; 16] }
}

/// What it says next.
fn message(attack: Attack, target: &Target, number: u64) -> WorkerMessage {
    let Target { plan, first_count } = *target;
    let report = |job, start, count| {
        let range = Range::new(start, start + 1).expect("it has a task");
        let (job, fingerprint, lease) = (JobId(job), plan.fingerprint(), LeaseId(1));
        let tally = Tally::EMPTY.with(fingerprint, start, count).expect("it is one count");
        WorkerMessage::Report(Report {
            job,
            fingerprint,
            lease,
            proof: forged(range),
            range,
            tally,
            task_counts: TaskCounts::new(&[count]),
            kernel: KernelName::ALL[0],
            busy_us: 1,
        })
    };
    match attack {
        Attack::Credits => WorkerMessage::Credit(number % 2),
        Attack::NoSuchJob => report(1 << 40, number, 0),
        Attack::NoSuchRange => report(1, plan.tasks + number, 0),
        Attack::OthersRanges => report(1, 0, first_count),
        Attack::Hellos | Attack::LargeHellos | Attack::TooLarge => WorkerMessage::Hello(hello()),
    }
}
