//! Tests that no number in a message can make a process panic. They find the numbers of each
//! message in the text of the protocol, so that a new one is covered without being named here.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use board::{MethodChoice, Prefix, Problem, Task};
use farm::{
    Ack, Agent, AgentConfig, CheckedCount, CoordinatorMessage, Holding, JobId, JobSpec, KernelName,
    Known, Lease, LeaseId, Millis, Origin, Pace, Range, Recount, Report, Request, Shard,
    Submission, TaskCounts, TasksBlock, Verdict, WorkerMessage,
};
use prost::Message as _;
use prost::encoding::{WireType, encode_key, encode_varint};
use tokio::sync::mpsc;
use tokio::time::timeout;
use tokio_stream::StreamExt;
use tokio_stream::wrappers::ReceiverStream;

use super::session::{Peer, host};
use super::{FarmHandle, Plans, metrics};
use crate::tests::{hello, ledger};
use crate::wire::v1;

const OWNER: &str = "ann";

const EXTREMES: [u64; 10] = [
    0,
    1,
    i32::MAX as u64,
    u32::MAX as u64,
    1 << 32,
    i64::MAX as u64 - 1,
    i64::MAX as u64,
    1 << 63,
    u64::MAX - 1,
    u64::MAX,
];

/// A field of a message: its kind, its number, and whether there may be many of it.
struct Field {
    kind: &'static str,
    number: u32,
    is_repeated: bool,
}

/// The fields of each message of the protocol.
fn messages() -> BTreeMap<&'static str, Vec<Field>> {
    let files = [
        include_str!("../../../../proto/queens/v1/farm.proto"),
        include_str!("../../../../proto/queens/v1/plan.proto"),
    ];
    let (mut messages, mut name) = (BTreeMap::<_, Vec<Field>>::new(), None);
    for line in files.into_iter().flat_map(str::lines) {
        let line = line.split("//").next().unwrap_or_default().trim();
        let words: Vec<&str> = line.trim_end_matches([';', '{', '}']).split_whitespace().collect();
        match words[..] {
            ["message", new] => {
                messages.insert(new, Vec::new());
                name = Some(new);
            }
            [ref labels @ .., kind, _, "=", number] if name.is_some() => {
                let is_repeated = labels == ["repeated"];
                let number = number.parse().expect("it is a number");
                let fields = messages.get_mut(name.expect("it is one"));
                fields.expect("it is there").push(Field { kind, number, is_repeated });
            }
            _ => {}
        }
    }
    messages
}

/// Calls `see` with bytes that give one number in the message `name` one value, for each number and
/// each extreme value. Behind a sound message, they change this number only. `elements` has a sound
/// message of each kind that there may be many of.
fn each_extreme(name: &str, elements: &BTreeMap<&str, Vec<u8>>, see: &mut dyn FnMut(u32, Vec<u8>)) {
    let messages = messages();
    for &Field { kind, number, is_repeated } in &messages[name] {
        let wrapped = |inner: &[u8]| {
            let mut bytes = Vec::new();
            encode_key(number, WireType::LengthDelimited, &mut bytes);
            encode_varint(inner.len() as u64, &mut bytes);
            bytes.extend(inner);
            bytes
        };
        if messages.contains_key(kind) {
            let before = elements.get(kind).filter(|_| is_repeated).cloned().unwrap_or_default();
            each_extreme(kind, elements, &mut |_, inner| {
                see(number, wrapped(&[before.clone(), inner].concat()));
            });
            continue;
        }
        let wire_type = match kind {
            "uint32" | "uint64" | "bool" => WireType::Varint,
            "fixed32" => WireType::ThirtyTwoBit,
            "fixed64" => WireType::SixtyFourBit,
            "string" | "bytes" => continue,
            other => panic!("how is {other} encoded?"),
        };
        for value in EXTREMES {
            let mut bytes = Vec::new();
            encode_key(number, wire_type, &mut bytes);
            match wire_type {
                WireType::Varint => encode_varint(value, &mut bytes),
                WireType::ThirtyTwoBit => bytes.extend((value as u32).to_le_bytes()),
                _ => bytes.extend(value.to_le_bytes()),
            }
            see(number, bytes);
        }
    }
}

/// The extremes of the message `name`, whose fields are a choice, each behind a sound message of
/// the same field, which `sound` knows.
fn extremes<M: prost::Message>(
    name: &str,
    elements: &BTreeMap<&str, Vec<u8>>,
    sound: &BTreeMap<u32, M>,
) -> Vec<Vec<u8>> {
    let mut all = Vec::new();
    each_extreme(name, elements, &mut |number, bytes| {
        let sound = sound.get(&number).unwrap_or_else(|| panic!("{name} has a new field {number}"));
        all.push([sound.encode_to_vec(), bytes].concat());
    });
    all
}

/// A worker's session with a coordinator in this process.
struct Session {
    says: mpsc::Sender<WorkerMessage>,
    hears: mpsc::Receiver<CoordinatorMessage>,
    host: tokio::task::JoinHandle<Result<(), tonic::Status>>,
}

impl Session {
    fn begin(farm: &FarmHandle, plans: &Arc<Plans>) -> Session {
        let (says, messages) = mpsc::channel(8);
        let (out, hears) = mpsc::channel(1_000);
        let messages = Box::pin(ReceiverStream::new(messages).map(Ok));
        let (owner, ended) = (OWNER.into(), Box::pin(std::future::pending()));
        let peer = Peer { owner, is_trusted: false, messages, ended };
        let host = tokio::spawn(host(farm.clone(), plans.clone(), peer, out));
        Session { says, hears, host }
    }

    /// The next lease, if there is one soon.
    async fn lease(&mut self) -> Option<Lease> {
        loop {
            match timeout(Duration::from_secs(100), self.hears.recv()).await {
                Ok(Some(CoordinatorMessage::Lease(lease))) => return Some(lease),
                Ok(Some(_)) => {}
                Ok(None) | Err(_) => return None,
            }
        }
    }

    async fn end(self) {
        let Session { says, mut hears, host } = self;
        drop(says);
        while hears.recv().await.is_some() {}
        // A session may end with any status, and not by a panic.
        let _ = host.await.expect("the session does not panic");
    }
}

/// A report of the first task of a lease.
fn report(lease: &Lease) -> Report {
    let start = lease.range.start();
    let counts = [0];
    let checked_count = CheckedCount::EMPTY.with(lease.fingerprint, start, counts[0]);
    Report {
        job: lease.job,
        fingerprint: lease.fingerprint,
        lease: lease.id,
        token: lease.token,
        range: Range::new(start, start + 1).expect("it is a task"),
        checked_count: checked_count.expect("it is small"),
        task_counts: TaskCounts::new(&counts),
        kernel: KernelName::new("portable").expect("there is such a kernel"),
        busy_us: 1,
    }
}

/// Asks for all that a page, a client and a monitoring system see.
async fn look(farm: &FarmHandle) {
    let seen = farm.look(|farm| {
        let jobs: Vec<_> = farm.jobs(.., |_| true).collect();
        let maps: Vec<_> = jobs.iter().map(|job| farm.map(job.id)).collect();
        let workers: Vec<_> = farm.worker_views().collect();
        let views = format!("{:?} {maps:?} {:?} {:?}", workers, farm.overview(), farm.owners());
        let json = |result: serde_json::Result<String>| result.expect("it is JSON");
        (json(serde_json::to_string(&jobs)), json(serde_json::to_string(&workers)), views)
    });
    let _ = seen.await.expect("the event loop runs");
    metrics::exposition(farm).await.expect("the event loop runs");
}

#[tokio::test(start_paused = true)]
async fn no_number_of_a_worker_makes_the_coordinator_panic() {
    let (event_loop, farm) = crate::tests::farm(ledger());
    let event_loop = tokio::spawn(event_loop.run());
    let plans = Arc::new(Plans::default());
    let method = MethodChoice::Rows { rows: Some(5) };
    let plan = plans.make(Problem::Total { n: 16 }, method).expect("such a plan exists");
    let spec = JobSpec { origin: Origin::of(OWNER), plan, shard: Shard::ALL, priority: 0 };
    let known = Box::new(Known::nothing());
    let ask = Request::Submit(vec![Submission { spec, audit: None, known }]);
    farm.ask(OWNER, ask).await.expect("the event loop runs").expect("it is granted");

    let mut first = Session::begin(&farm, &plans);
    first.says.send(WorkerMessage::Hello(hello("w"))).await.expect("it is heard");
    let lease = first.lease().await.expect("it is leased something");
    first.end().await;
    let holding = Holding::of_lease(&lease);
    let elements = [("Holding", v1::Holding::from(holding).encode_to_vec())].into();
    // The numbers of the protocol are those of the messages that are sent.
    let sound = |lease: &Lease| -> BTreeMap<u32, v1::WorkRequest> {
        [
            (1, WorkerMessage::Hello(hello("w"))),
            (2, WorkerMessage::Credit(10)),
            (3, WorkerMessage::Report(report(lease))),
            (4, WorkerMessage::Draining),
            (5, WorkerMessage::Working(lease.id)),
        ]
        .map(|(number, message)| (number, message.into()))
        .into()
    };
    let all = extremes("WorkRequest", &elements, &sound(&lease));
    assert!(all.len() > 150, "{}", all.len());
    let mut heard = 0;
    for at in 0..all.len() {
        let mut session = Session::begin(&farm, &plans);
        let decode = |lease: &Lease| {
            let bytes = &extremes("WorkRequest", &elements, &sound(lease))[at];
            WorkerMessage::try_from(v1::WorkRequest::decode(&bytes[..]).expect("it is a message"))
        };
        let message = match decode(&lease) {
            Ok(hello @ WorkerMessage::Hello(_)) => Ok(hello),
            _ => {
                let hello = WorkerMessage::Hello(hello("w"));
                session.says.send(hello).await.expect("it is heard");
                decode(&session.lease().await.expect("it is leased something"))
            }
        };
        if let Ok(message) = message {
            heard += 1;
            let _ = session.says.send(message).await;
            // Its leases time out meanwhile.
            let _ = timeout(Duration::from_secs(1_000), session.lease()).await;
        }
        look(&farm).await;
        session.end().await;
        assert!(!event_loop.is_finished(), "the event loop runs");
    }
    let accepted = farm.look(|farm| farm.jobs(.., |_| true).map(|job| job.tasks_done).sum::<u64>());
    let accepted = accepted.await.expect("the event loop runs");
    assert!(
        heard > 80 && accepted > 10,
        "most were refused: {heard} heard, {accepted} tasks accepted"
    );
}

#[test]
fn no_number_of_a_coordinator_makes_a_worker_panic() {
    let (plans, method) = (Plans::default(), MethodChoice::Rows { rows: Some(5) });
    let plan = plans.make(Problem::Total { n: 16 }, method).expect("such a plan exists");
    let (range, fingerprint) = (Range::new(0, 10).expect("it has tasks"), plan.fingerprint());
    let lease = Lease {
        id: LeaseId(1),
        job: JobId(1),
        plan,
        fingerprint,
        range,
        token: farm::LeaseToken::new(range, farm::LeaseKind::Recount, [7; 16]),
        recount: Some(Recount { unlike: KernelName::default(), by_reference: false }),
    };
    // A coordinator may make up a plan of any number of tasks.
    let plan = farm::Plan { tasks: u64::MAX, ..plan };
    let range = Range::new(u64::MAX - 10, u64::MAX).expect("it has tasks");
    let made_up = Lease { plan, fingerprint: plan.fingerprint(), range, ..lease };
    let obeyed = [lease, made_up].map(obeyed);
    assert!(obeyed.iter().all(|&obeyed| obeyed > 40), "{obeyed:?}");
}

/// How many extreme messages about a lease a worker obeys.
fn obeyed(lease: Lease) -> usize {
    let Lease { range, fingerprint, .. } = lease;
    let tasks = vec![Task { record: Prefix { left: 0, down: 0, right: 0 }, weight: 1 }];
    let verdict = Verdict::Accepted;
    let sound: BTreeMap<u32, v1::WorkResponse> = [
        (1, CoordinatorMessage::Welcome { leases_in_ms: 0 }),
        (2, CoordinatorMessage::Lease(lease)),
        (3, CoordinatorMessage::Tasks(TasksBlock { lease: lease.id, start: range.start(), tasks })),
        (4, CoordinatorMessage::Ack(Ack { job: lease.job, fingerprint, range, verdict })),
        (5, CoordinatorMessage::Revoke(lease.id)),
        (6, CoordinatorMessage::Pace(Pace::from_ms(1_000).expect("it is a pace"))),
    ]
    .map(|(number, message)| (number, message.into()))
    .into();
    let all = extremes("WorkResponse", &BTreeMap::new(), &sound);
    assert!(all.len() > 150, "{}", all.len());
    let mut obeyed = 0;
    for bytes in all {
        let message = v1::WorkResponse::decode(&bytes[..]).expect("it is a message");
        let Ok(message) = CoordinatorMessage::try_from(message) else { continue };
        obeyed += 1;
        let hello = hello("w");
        let mut agent = Agent::new(AgentConfig { hello, report_ms: 1_000, resend_ms: u64::MAX });
        agent.connected();
        agent.leased(lease);
        agent.finished(Millis(0), report(&lease));
        match message {
            CoordinatorMessage::Lease(lease) => agent.leased(lease),
            CoordinatorMessage::Ack(ack) => agent.acked(&ack),
            CoordinatorMessage::Revoke(lease) => agent.revoked(lease),
            CoordinatorMessage::Pace(pace) => agent.paced(pace),
            // The worker's `Shutdown` has its own tests of this time.
            CoordinatorMessage::Welcome { .. } | CoordinatorMessage::Tasks(_) => {}
        }
        for now in [1, 2_000, u64::MAX - 1, u64::MAX] {
            agent.poll(Millis(now));
            agent.next_wakeup();
        }
        agent.stop();
        agent.poll(Millis(u64::MAX));
    }
    obeyed
}
