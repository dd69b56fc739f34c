//! What ends a worker, and what does not.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use board::PlanIndex;
use farm::{
    Fingerprint, JobId, KernelName, Lease, LeaseKind, LeaseToken, Method, Plan, Problem, Range,
    Recount, WorkerMessage,
};
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};

use super::*;

/// Longer than all pauses between attempts, and than the grace period of a worker that leaves.
const LONG: Duration = Duration::from_secs(60);

/// The answers to attempts to connect, one after the other; then nobody answers.
struct Answers {
    is_alterable: bool,
    answers: VecDeque<Result<Link, LinkEnd>>,
    taken: Arc<AtomicUsize>,
}

impl Connect for Answers {
    fn is_alterable(&self) -> bool {
        self.is_alterable
    }

    async fn open(&mut self, _: WorkerMessage) -> Result<Link, LinkEnd> {
        let answer = self.answers.pop_front();
        self.taken.fetch_add(usize::from(answer.is_some()), Ordering::Relaxed);
        answer.unwrap_or_else(|| Err(LinkEnd::Lost("nobody answers".into())))
    }
}

/// A worker that is leased nothing.
struct Started {
    stop: watch::Sender<bool>,
    /// How many answers it has taken.
    taken: Arc<AtomicUsize>,
    work: JoinHandle<Result<(), ServiceError>>,
}

impl Started {
    /// A worker over TLS.
    fn with<const N: usize>(answers: [Result<Link, LinkEnd>; N]) -> Started {
        Started::over(false, answers)
    }

    fn over<const N: usize>(is_alterable: bool, answers: [Result<Link, LinkEnd>; N]) -> Started {
        let (executor, parts) =
            start_executor(NonZero::<usize>::MIN, Backend::Portable, Devices::default());
        let (stop, stopping) = watch::channel(false);
        let taken = Arc::new(AtomicUsize::new(0));
        let mut connector = Answers { is_alterable, answers: answers.into(), taken: taken.clone() };
        let config =
            AgentConfig { hello: crate::tests::hello("w"), report_ms: 300, resend_ms: 2_000 };
        let work = tokio::spawn(async move {
            let rules = LeaveRules::default();
            work(config, rules, executor, parts, &mut connector, stopping).await
        });
        Started { stop, taken, work }
    }

    /// How it ends by itself.
    async fn end(self) -> Result<(), ServiceError> {
        timeout(LONG, self.work).await.expect("it ends").expect("it does not panic")
    }

    /// It leaves when it is asked to.
    async fn leaves(self) {
        self.stop.send_replace(true);
        self.end().await.expect("nothing else ends it");
    }
}

fn unrecognised() -> LinkEnd {
    LinkEnd::Unrecognised(ServiceError::Incompatible("the port does not speak TLS".into()))
}

/// A session that is over at once.
fn over() -> Link {
    Link { orders: Box::pin(tokio_stream::empty()), messages: mpsc::channel(1).0 }
}

#[tokio::test(start_paused = true)]
async fn only_after_a_session_may_whoever_is_not_recognised_become_the_coordinator_again() {
    Started::with([Err(unrecognised())]).end().await.expect_err("the address is wrong");

    let worker = Started::with([Ok(over()), Err(unrecognised()), Ok(over())]);
    sleep(LONG).await;
    assert_eq!(worker.taken.load(Ordering::Relaxed), 3);
    worker.leaves().await;
}

#[tokio::test(start_paused = true)]
async fn who_is_refused_leaves_also_after_a_session() {
    let refused = LinkEnd::Refused(ServiceError::Secret("you may look, and no more".into()));
    Started::with([Ok(over()), Err(refused)]).end().await.expect_err("it is refused");
}

#[tokio::test(start_paused = true)]
async fn a_coordinator_that_does_not_read_holds_nobody_who_is_asked_to_stop() {
    let (messages, _unread) = mpsc::channel(1);
    let _room = messages.clone().try_reserve_owned().expect("there is some");
    let worker = Started::with([Ok(Link { orders: Box::pin(tokio_stream::pending()), messages })]);
    sleep(LONG).await;
    worker.leaves().await;
}

/// A session that these messages begin, and that ends by a refusal.
fn refused_after(messages: Vec<CoordinatorMessage>) -> Result<Link, LinkEnd> {
    let refused = || LinkEnd::Refused(ServiceError::Incompatible("`range` is 7".into()));
    let orders = messages.into_iter().map(Ok).chain([Err(refused())]);
    // Nobody reads what the worker sends, and it has room.
    let (messages, unread) = mpsc::channel(64);
    std::mem::forget(unread);
    Ok(Link { orders: Box::pin(tokio_stream::iter(orders.collect::<Vec<_>>())), messages })
}

#[tokio::test(start_paused = true)]
async fn a_message_that_was_altered_in_plain_text_ends_a_session_and_always_so_ends_the_worker() {
    let altered = || refused_after(Vec::new());
    let worker = Started::over(true, [altered(), altered(), Ok(over())]);
    sleep(LONG).await;
    assert_eq!(worker.taken.load(Ordering::Relaxed), 3);
    worker.leaves().await;

    let error = Started::over(true, [altered(), altered(), altered(), Ok(over())]).end().await;
    let error = error.expect_err("it does not end otherwise").to_string();
    assert!(error.contains("`range`"), "{error}");

    // An acknowledgement proves that the other end is a coordinator.
    let range = Range::new(0, 5).expect("it has tasks");
    let verdict = farm::Verdict::Accepted;
    let ack = Ack { job: JobId(1), fingerprint: Fingerprint([1; 32]), range, verdict };
    let acknowledged = || refused_after(vec![CoordinatorMessage::Ack(ack)]);
    let answers = [altered(), altered(), acknowledged(), acknowledged(), altered(), Ok(over())];
    let worker = Started::over(true, answers);
    sleep(LONG).await;
    assert_eq!(worker.taken.load(Ordering::Relaxed), 6);
    worker.leaves().await;

    // Nobody can alter a message over TLS, or a refusal before the first session.
    Started::over(false, [altered(), Ok(over())]).end().await.expect_err("it is refused");
    let refused = LinkEnd::Refused(ServiceError::Secret("you may look, and no more".into()));
    Started::over(true, [Err(refused), Ok(over())]).end().await.expect_err("it is refused");
}

#[tokio::test(start_paused = true)]
async fn a_lease_is_not_leased_again_before_its_tasks_are_there() {
    let lease = |mac| {
        let plan = Plan { problem: Problem::Total { n: 8 }, method: Method::Colours, tasks: 10 };
        let range = Range::new(0, 5).expect("it has tasks");
        let (lease, job, fingerprint) = (LeaseId(1), JobId(1), Fingerprint([1; 32]));
        let token = LeaseToken::new(range, LeaseKind::Count, [mac; 16]);
        let lease = Lease { id: lease, job, plan, fingerprint, range, token, recount: None };
        Ok(CoordinatorMessage::Lease(lease))
    };
    let (messages, _read) = mpsc::channel(64);
    let orders = tokio_stream::iter([lease(1), lease(2)]).chain(tokio_stream::pending());
    let error = Started::with([Ok(Link { orders: Box::pin(orders), messages })]).end().await;
    let error = error.expect_err("it would be held for ever").to_string();
    assert!(error.contains("as lease 1 while"), "{error}");
}

/// A lease of the first tasks of a plan, which has that many, and these tasks in one block.
fn leased(id: u64, n: u32, method: Method, tasks: u64, kind: LeaseKind) -> [CoordinatorMessage; 2] {
    let problem = Problem::Total { n };
    let index = PlanIndex::new(problem, method).expect("such a plan exists");
    let plan = Plan { problem, method, tasks: index.len() };
    let range = Range::new(0, tasks).expect("it has tasks");
    let recount = (kind == LeaseKind::Recount)
        .then(|| Recount { unlike: KernelName::default(), by_reference: false });
    let (id, job, fingerprint) = (LeaseId(id), JobId(1), plan.fingerprint());
    let lease = Lease {
        id,
        job,
        plan,
        fingerprint,
        range,
        token: LeaseToken::new(range, kind, [1; 16]),
        recount,
    };
    let tasks = index.tasks(0..tasks).expect("they are of the plan");
    [
        CoordinatorMessage::Lease(lease),
        CoordinatorMessage::Tasks(TasksBlock { lease: id, start: 0, tasks }),
    ]
}

#[tokio::test]
async fn a_revocation_reaches_a_worker_that_counts_more_than_its_credit() {
    // Given more tasks than the worker agreed to hold, each of which takes years: a recount is
    // leased as a whole, and more is leased when another worker has reported what this one holds
    let credit = crate::tests::hello("w").credit;
    for (tasks, kind) in [(2 * credit, LeaseKind::Count), (5 * credit, LeaseKind::Recount)] {
        let [lease, tasks] = leased(1, 32, Method::Prefixes { rows: 2 }, tasks, kind);

        // When it is revoked, and something else is leased
        let mut orders = vec![lease, tasks, CoordinatorMessage::Revoke(LeaseId(1))];
        orders.extend(leased(2, 6, Method::Rows { rows: 2 }, 5, LeaseKind::Count));
        let orders = tokio_stream::iter(orders.into_iter().map(Ok)).chain(tokio_stream::pending());
        let (messages, mut said) = mpsc::channel(64);
        let worker = Started::with([Ok(Link { orders: Box::pin(orders), messages })]);

        // Then that is counted.
        let report = async {
            loop {
                if let WorkerMessage::Report(report) = said.recv().await.expect("it works") {
                    return report.lease;
                }
            }
        };
        assert_eq!(timeout(LONG, report).await.expect("it reads the revocation"), LeaseId(2));
        worker.work.abort();
    }
}
