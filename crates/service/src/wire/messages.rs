//! Turns messages into the farm's types, and the farm's types into messages. A malformed message is
//! an error.

#![cfg_attr(not(test), warn(clippy::arithmetic_side_effects))]

use board::{MethodChoice, Prefix, Task};
use farm::{
    Ack, CheckedCount, CoordinatorMessage, Digest, Fingerprint, Hello, Holding, JobId, KernelName,
    Lease, LeaseId, LeaseKind, LeaseToken, Method, Pace, Plan, Problem, Range, Recount, Report,
    TaskCounts, TasksBlock, Verdict, WorkerMessage, is_name, is_text,
};

use super::v1::{self, work_request, work_response};
use super::{MAX_TASKS_PER_MESSAGE, PROTOCOL, WireError};

/// The greatest weight of a task. Boards have orbits of up to 8, and a torus of size 32 has 64
/// translations and reflections.
const MAX_WEIGHT: u8 = 64;
/// The most threads of one worker.
const MAX_THREADS: u32 = 4096;

impl TryFrom<v1::WorkRequest> for WorkerMessage {
    type Error = WireError;

    fn try_from(request: v1::WorkRequest) -> Result<Self, WireError> {
        Ok(match request.message.ok_or(WireError::Missing("message"))? {
            work_request::Message::Hello(hello) => WorkerMessage::Hello(hello.try_into()?),
            work_request::Message::Credit(tasks) => WorkerMessage::Credit(tasks),
            work_request::Message::Report(report) => WorkerMessage::Report(report.try_into()?),
            work_request::Message::Working(lease) => WorkerMessage::Working(LeaseId(lease)),
            work_request::Message::Draining(_) => WorkerMessage::Draining,
        })
    }
}

impl TryFrom<v1::WorkResponse> for CoordinatorMessage {
    type Error = WireError;

    fn try_from(response: v1::WorkResponse) -> Result<Self, WireError> {
        Ok(match response.message.ok_or(WireError::Missing("message"))? {
            work_response::Message::Welcome(v1::Welcome { leases_in_ms }) => {
                CoordinatorMessage::Welcome { leases_in_ms }
            }
            work_response::Message::Lease(lease) => CoordinatorMessage::Lease(lease.try_into()?),
            work_response::Message::Tasks(tasks) => CoordinatorMessage::Tasks(tasks.try_into()?),
            work_response::Message::Ack(ack) => CoordinatorMessage::Ack(self::ack(ack)?),
            work_response::Message::Revoke(lease) => CoordinatorMessage::Revoke(LeaseId(lease)),
            work_response::Message::Pace(report_ms) => CoordinatorMessage::Pace(
                Pace::from_ms(report_ms)
                    .ok_or_else(|| WireError::out_of_bounds("pace", report_ms))?,
            ),
        })
    }
}

fn ack(ack: v1::Ack) -> Result<Ack, WireError> {
    Ok(Ack {
        job: JobId(ack.job),
        fingerprint: fingerprint(&ack.fingerprint)?,
        range: range(ack.range)?,
        verdict: named("verdict", &ack.verdict, Verdict::named)?,
    })
}

impl TryFrom<v1::Hello> for Hello {
    type Error = WireError;

    fn try_from(hello: v1::Hello) -> Result<Self, WireError> {
        if hello.protocol != PROTOCOL {
            return Err(WireError::Incompatible(format!(
                "the worker speaks version {} of the protocol, the coordinator version {PROTOCOL}; run the same \
                 version of this program on both",
                hello.protocol
            )));
        }
        let texts = [("build", &hello.build), ("backend", &hello.backend)];
        if let Some((field, _)) = texts.into_iter().find(|(_, text)| !is_text(text)) {
            return Err(WireError::text(field));
        }
        if hello.threads == 0 || hello.threads > MAX_THREADS {
            return Err(WireError::out_of_bounds("threads", hello.threads));
        }
        if hello.holding.len() > Hello::MAX_HOLDINGS {
            return Err(WireError::out_of_bounds("holding", hello.holding.len()));
        }
        if hello.methods.len() > MethodChoice::all().count() {
            return Err(WireError::out_of_bounds("methods", hello.methods.len()));
        }
        let known = |name: String| {
            named("methods", &name, |name| MethodChoice::all().find(|it| it.name() == name))
        };
        Ok(Hello {
            worker: name("worker", hello.worker)?,
            machine: name("machine", hello.machine)?,
            build: hello.build,
            backend: hello.backend,
            instance: hello.instance,
            threads: hello.threads,
            credit: hello.credit,
            holding: hello.holding.into_iter().map(holding).collect::<Result<_, _>>()?,
            methods: hello.methods.into_iter().map(known).collect::<Result<_, _>>()?,
        })
    }
}

/// Checks the name of a worker or a machine.
fn name(field: &str, text: String) -> Result<String, WireError> {
    if is_name(&text) { Ok(text) } else { Err(WireError::text(field)) }
}

fn task_counts(counts: &[u64]) -> Result<TaskCounts, WireError> {
    if counts.len() > TaskCounts::MOST {
        return Err(WireError::out_of_bounds("task_counts", counts.len()));
    }
    Ok(TaskCounts::new(counts))
}

fn holding(holding: v1::Holding) -> Result<Holding, WireError> {
    let range = range(holding.range)?;
    Ok(Holding {
        lease: LeaseId(id("lease", holding.lease)?),
        job: JobId(id("job", holding.job)?),
        fingerprint: fingerprint(&holding.fingerprint)?,
        range,
        token: LeaseToken::of_part(range, token(&holding.token)?),
    })
}

impl TryFrom<v1::Report> for Report {
    type Error = WireError;

    fn try_from(report: v1::Report) -> Result<Self, WireError> {
        let range = range(report.range)?;
        let report = Report {
            job: JobId(id("job", report.job)?),
            fingerprint: fingerprint(&report.fingerprint)?,
            lease: LeaseId(id("lease", report.lease)?),
            token: LeaseToken::of_part(range, token(&report.token)?),
            range,
            checked_count: CheckedCount {
                count: report.count,
                residue: id("residue", report.residue)?,
                digest: digest(&report.digest)?,
            },
            task_counts: task_counts(&report.task_counts)?,
            kernel: kernel(&report.kernel)?,
            busy_us: report.busy_us,
        };
        if !report.adds_up() {
            return Err(WireError::Malformed(format!(
                "the report of the range {} does not fit with the counts of its tasks",
                report.range
            )));
        }
        Ok(report)
    }
}

impl TryFrom<v1::Lease> for Lease {
    type Error = WireError;

    fn try_from(lease: v1::Lease) -> Result<Self, WireError> {
        let plan: Plan = lease.plan.ok_or(WireError::Missing("plan"))?.try_into()?;
        let range = range(lease.range)?;
        if range.end() > plan.tasks {
            return Err(WireError::out_of_bounds("range", range));
        }
        let recount = lease.recount.map(recount).transpose()?;
        let kind = if recount.is_some() { LeaseKind::Recount } else { LeaseKind::Count };
        let token = LeaseToken { range, kind, bytes: token(&lease.token)? };
        Ok(Lease {
            id: LeaseId(lease.id),
            job: JobId(lease.job),
            plan,
            fingerprint: plan.fingerprint(),
            range,
            token,
            recount,
        })
    }
}

fn recount(v1::Recount { unlike, by_reference }: v1::Recount) -> Result<Recount, WireError> {
    let unlike = if unlike.is_empty() { KernelName::default() } else { kernel(&unlike)? };
    Ok(Recount { unlike, by_reference })
}

impl TryFrom<v1::Tasks> for TasksBlock {
    type Error = WireError;

    fn try_from(tasks: v1::Tasks) -> Result<Self, WireError> {
        let v1::Tasks { lease, start, left, down, right, weight } = tasks;
        let len = left.len();
        if len == 0 || len > MAX_TASKS_PER_MESSAGE {
            return Err(WireError::out_of_bounds("left", len));
        }
        if [down.len(), right.len(), weight.len()] != [len; 3] {
            return Err(WireError::out_of_bounds("weight", "arrays of different lengths"));
        }
        if let Some(wrong) = weight.iter().find(|weight| !(1..=MAX_WEIGHT).contains(*weight)) {
            return Err(WireError::out_of_bounds("weight", wrong));
        }
        if start.checked_add(len as u64).is_none() {
            return Err(WireError::out_of_bounds("start", start));
        }
        let task =
            |(((left, down), right), weight)| Task { record: Prefix { left, down, right }, weight };
        let tasks = left.into_iter().zip(down).zip(right).zip(weight).map(task).collect();
        Ok(TasksBlock { lease: LeaseId(lease), start, tasks })
    }
}

impl TryFrom<v1::Plan> for Plan {
    type Error = WireError;

    fn try_from(plan: v1::Plan) -> Result<Self, WireError> {
        let problem = Problem::try_from(plan.problem.ok_or(WireError::Missing("problem"))?)?;
        let v1::Method { name, parameter } = plan.method.ok_or(WireError::Missing("method"))?;
        let method = named("method", &name, |name| Method::from_name(name, parameter))?;
        if !method.cuts(problem) {
            let (field, value) = method.parameter().unwrap_or(("n", problem.n()));
            return Err(WireError::out_of_bounds(field, value));
        }
        let ours = Plan { problem, method, tasks: plan.tasks };
        if ours.fingerprint() != fingerprint(&plan.fingerprint)? {
            return Err(WireError::Incompatible(format!(
                "the other end's fingerprint for the plan {ours} is not ours; coordinator and workers must \
                 run versions of this program that enumerate tasks alike"
            )));
        }
        Ok(ours)
    }
}

impl TryFrom<v1::Problem> for Problem {
    type Error = WireError;

    /// Reads the problem. A board that is too large for it passes here: making the plan's index
    /// refuses it.
    fn try_from(v1::Problem { n, text }: v1::Problem) -> Result<Self, WireError> {
        Problem::from_text(&text, n).ok_or_else(|| {
            WireError::out_of_bounds("problem", format!("{} with N = {n}", shown(&text)))
        })
    }
}

/// Checks the number of a job, a lease or the like. It must be below 2^63, because ledgers store
/// signed integers.
fn id(field: &'static str, value: u64) -> Result<u64, WireError> {
    match i64::try_from(value) {
        Ok(_) => Ok(value),
        Err(_) => Err(WireError::out_of_bounds(field, value)),
    }
}

fn fingerprint(bytes: &[u8]) -> Result<Fingerprint, WireError> {
    let bytes = <[u8; 32]>::try_from(bytes);
    bytes.map(Fingerprint).map_err(|_| WireError::Missing("fingerprint"))
}

fn digest(bytes: &[u8]) -> Result<Digest, WireError> {
    let bytes = <[u8; 16]>::try_from(bytes);
    bytes.map(|bytes| Digest(u128::from_le_bytes(bytes))).map_err(|_| WireError::Missing("digest"))
}

fn token(bytes: &[u8]) -> Result<[u8; LeaseToken::LEN], WireError> {
    bytes.try_into().map_err(|_| WireError::Missing("token"))
}

fn kernel(name: &str) -> Result<KernelName, WireError> {
    KernelName::new(name).ok_or_else(|| {
        WireError::Incompatible(format!(
            "the message names the kernel {}, which this program does not have; run versions of this program with \
             the same kernels at both ends",
            shown(name)
        ))
    })
}

/// The value that `of` has for the name in a message. It fails if there is none.
fn named<T>(field: &str, name: &str, of: impl Fn(&str) -> Option<T>) -> Result<T, WireError> {
    of(name).ok_or_else(|| WireError::out_of_bounds(field, shown(name)))
}

fn range(range: Option<v1::OrdinalRange>) -> Result<Range, WireError> {
    let range = range.ok_or(WireError::Missing("range"))?;
    Range::new(range.start, range.end)
        .ok_or_else(|| WireError::out_of_bounds("range", format!("{range:?}")))
}

/// The beginning of a text that the other end chose.
fn shown(text: &str) -> String {
    const MOST: usize = 32;
    let shown: String = text.chars().take(MOST).collect();
    let more = if shown.len() < text.len() { "..." } else { "" };
    format!("{shown:?}{more}")
}

impl From<Range> for v1::OrdinalRange {
    fn from(range: Range) -> Self {
        v1::OrdinalRange { start: range.start(), end: range.end() }
    }
}

impl From<&Plan> for v1::Plan {
    fn from(plan: &Plan) -> Self {
        let (name, parameter) = (plan.method.name(), plan.method.parameter());
        v1::Plan {
            problem: Some(plan.problem.into()),
            method: Some(method(name, parameter.map(|(_, value)| value))),
            tasks: plan.tasks,
            fingerprint: bytes(plan.fingerprint()),
        }
    }
}

impl From<Problem> for v1::Problem {
    fn from(problem: Problem) -> Self {
        v1::Problem { n: problem.n(), text: problem.text() }
    }
}

fn method(name: &str, parameter: Option<u32>) -> v1::Method {
    v1::Method { name: name.into(), parameter }
}

impl From<WorkerMessage> for v1::WorkRequest {
    fn from(message: WorkerMessage) -> Self {
        use v1::work_request::Message;
        let message = match message {
            WorkerMessage::Hello(hello) => Message::Hello(hello.into()),
            WorkerMessage::Credit(tasks) => Message::Credit(tasks),
            WorkerMessage::Report(report) => Message::Report(report.into()),
            WorkerMessage::Working(LeaseId(lease)) => Message::Working(lease),
            WorkerMessage::Draining => Message::Draining(v1::Draining {}),
        };
        v1::WorkRequest { message: Some(message) }
    }
}

impl From<Hello> for v1::Hello {
    fn from(hello: Hello) -> Self {
        v1::Hello {
            protocol: PROTOCOL,
            worker: hello.worker,
            machine: hello.machine,
            instance: hello.instance,
            threads: hello.threads,
            credit: hello.credit,
            holding: hello.holding.into_iter().map(Into::into).collect(),
            build: hello.build,
            backend: hello.backend,
            methods: hello.methods.iter().map(|method| method.name().into()).collect(),
        }
    }
}

impl From<Holding> for v1::Holding {
    fn from(holding: Holding) -> Self {
        v1::Holding {
            lease: holding.lease.0,
            job: holding.job.0,
            fingerprint: bytes(holding.fingerprint),
            range: Some(holding.range.into()),
            token: holding.token.bytes.to_vec(),
        }
    }
}

impl From<Report> for v1::Report {
    fn from(report: Report) -> Self {
        v1::Report {
            lease: report.lease.0,
            job: report.job.0,
            fingerprint: bytes(report.fingerprint),
            range: Some(report.range.into()),
            token: report.token.bytes.to_vec(),
            count: report.checked_count.count,
            residue: report.checked_count.residue,
            digest: report.checked_count.digest.0.to_le_bytes().to_vec(),
            kernel: report.kernel.to_string(),
            busy_us: report.busy_us,
            task_counts: report.task_counts.as_slice().to_vec(),
        }
    }
}

impl From<CoordinatorMessage> for v1::WorkResponse {
    fn from(order: CoordinatorMessage) -> Self {
        use v1::work_response::Message;
        let message = match order {
            CoordinatorMessage::Welcome { leases_in_ms } => {
                Message::Welcome(v1::Welcome { leases_in_ms })
            }
            CoordinatorMessage::Lease(lease) => Message::Lease(lease.into()),
            CoordinatorMessage::Tasks(block) => Message::Tasks(block.into()),
            CoordinatorMessage::Ack(ack) => Message::Ack(ack.into()),
            CoordinatorMessage::Revoke(LeaseId(lease)) => Message::Revoke(lease),
            CoordinatorMessage::Pace(pace) => Message::Pace(pace.report_ms()),
        };
        v1::WorkResponse { message: Some(message) }
    }
}

impl From<Ack> for v1::Ack {
    fn from(ack: Ack) -> Self {
        v1::Ack {
            job: ack.job.0,
            fingerprint: bytes(ack.fingerprint),
            range: Some(ack.range.into()),
            verdict: ack.verdict.name().into(),
        }
    }
}

impl From<Lease> for v1::Lease {
    fn from(lease: Lease) -> Self {
        v1::Lease {
            id: lease.id.0,
            job: lease.job.0,
            plan: Some((&lease.plan).into()),
            range: Some(lease.range.into()),
            token: lease.token.bytes.to_vec(),
            recount: lease.recount.map(|recount| v1::Recount {
                unlike: recount.unlike.to_string(),
                by_reference: recount.by_reference,
            }),
        }
    }
}

impl From<TasksBlock> for v1::Tasks {
    fn from(TasksBlock { lease, start, tasks }: TasksBlock) -> Self {
        v1::Tasks {
            lease: lease.0,
            start,
            left: tasks.iter().map(|task| task.record.left).collect(),
            down: tasks.iter().map(|task| task.record.down).collect(),
            right: tasks.iter().map(|task| task.record.right).collect(),
            weight: tasks.iter().map(|task| task.weight).collect(),
        }
    }
}

fn bytes(fingerprint: Fingerprint) -> Vec<u8> {
    fingerprint.0.to_vec()
}
