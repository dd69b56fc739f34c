//! Turns messages into the farm's types. A malformed message is an error.

use board::{Given, MethodChoice, Square, Tasks};
use farm::{
    Ack, Answer, AuditPolicy, AuditScope, AuditView, Change, CheckedCount, CoordinatorMessage,
    Digest, Fingerprint, Hello, Holding, Hours, JobId, JobSpec, JobState, JobView, KernelName,
    Lease, LeaseId, LeaseKind, LeaseToken, Method, Origin, OwnerView, Pace, Party, Plan, Problem,
    Range, Rate, Recount, Report, Request, Share, ShareChange, Slice, TaskCounts, TasksBlock,
    Times, Verdict, WorkerMessage,
};

use crate::v1::{self, work_request, work_response};
use crate::{MAX_TASKS_PER_MESSAGE, PROTOCOL, WireError, is_text, name};

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
            work_request::Message::Credit(credit) => WorkerMessage::Credit(credit.tasks),
            work_request::Message::Report(report) => WorkerMessage::Report(report.try_into()?),
            work_request::Message::Working(working) => {
                WorkerMessage::Working(LeaseId(working.lease))
            }
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
            work_response::Message::Ack(ack) => CoordinatorMessage::Ack(ack.try_into()?),
            work_response::Message::Revoke(revoke) => {
                CoordinatorMessage::Revoke(LeaseId(revoke.lease))
            }
            work_response::Message::Pace(pace) => CoordinatorMessage::Pace(self::pace(pace)?),
        })
    }
}

impl TryFrom<v1::Ack> for Ack {
    type Error = WireError;

    fn try_from(ack: v1::Ack) -> Result<Self, WireError> {
        Ok(Ack {
            job: JobId(ack.job),
            fingerprint: fingerprint(&ack.fingerprint)?,
            range: range(ack.range)?,
            verdict: ack.verdict().try_into()?,
        })
    }
}

impl TryFrom<v1::Hello> for Hello {
    type Error = WireError;

    fn try_from(hello: v1::Hello) -> Result<Self, WireError> {
        if hello.protocol != PROTOCOL {
            return Err(WireError::Protocol(hello.protocol));
        }
        let texts = [("build", &hello.build), ("backend", &hello.backend)];
        if let Some((field, _)) = texts.into_iter().find(|(_, text)| !is_text(text)) {
            return Err(WireError::Text { field });
        }
        if hello.threads == 0 || hello.threads > MAX_THREADS {
            return Err(WireError::out_of_bounds("threads", hello.threads));
        }
        if hello.holding.len() > Hello::MAX_HOLDINGS {
            return Err(WireError::out_of_bounds("holding", hello.holding.len()));
        }
        Ok(Hello {
            worker: name("worker", hello.worker)?,
            machine: name("machine", hello.machine)?,
            build: hello.build,
            backend: hello.backend,
            instance: hello.instance,
            threads: hello.threads,
            memory: hello.memory,
            credit: hello.credit,
            holding: hello.holding.into_iter().map(TryInto::try_into).collect::<Result<_, _>>()?,
        })
    }
}

fn pace(v1::Pace { report_ms }: v1::Pace) -> Result<Pace, WireError> {
    Pace::from_ms(report_ms).ok_or_else(|| WireError::out_of_bounds("report_ms", report_ms))
}

fn task_counts(counts: &[u64]) -> Result<TaskCounts, WireError> {
    if counts.len() > TaskCounts::MOST {
        return Err(WireError::out_of_bounds("task_counts", counts.len()));
    }
    Ok(TaskCounts::new(counts))
}

impl TryFrom<v1::Party> for Party {
    type Error = WireError;

    fn try_from(party: v1::Party) -> Result<Self, WireError> {
        let machine = party.machine.map(|machine| name("machine", machine)).transpose()?;
        Ok(Party { owner: name("owner", party.owner)?, machine })
    }
}

impl TryFrom<v1::Holding> for Holding {
    type Error = WireError;

    fn try_from(holding: v1::Holding) -> Result<Self, WireError> {
        Ok(Holding {
            lease: LeaseId(id("lease", holding.lease)?),
            job: JobId(id("job", holding.job)?),
            fingerprint: fingerprint(&holding.fingerprint)?,
            range: range(holding.range)?,
            token: token(&holding.token)?,
        })
    }
}

impl TryFrom<v1::Report> for Report {
    type Error = WireError;

    fn try_from(report: v1::Report) -> Result<Self, WireError> {
        let report = Report {
            job: JobId(id("job", report.job)?),
            fingerprint: fingerprint(&report.fingerprint)?,
            lease: LeaseId(id("lease", report.lease)?),
            token: token(&report.token)?,
            range: range(report.range)?,
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
            return Err(WireError::TaskCounts(report.range));
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
        let token = token(&lease.token)?;
        let recount: Option<Recount> = lease.recount.map(TryInto::try_into).transpose()?;
        if token.range != range || (token.kind == LeaseKind::Recount) != recount.is_some() {
            return Err(WireError::out_of_bounds("token", "that of another lease"));
        }
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

impl TryFrom<v1::Recount> for Recount {
    type Error = WireError;

    fn try_from(recount: v1::Recount) -> Result<Self, WireError> {
        let unlike = match recount.unlike.as_str() {
            "" => KernelName::default(),
            name => kernel(name)?,
        };
        Ok(Recount { unlike, by_search: recount.by_search })
    }
}

/// The values that the coordinator adds to an audit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AuditDefaults {
    /// The seed, less than 2^63.
    pub seed: u64,
    /// The default of what a second count must differ in.
    pub usual: AuditScope,
}

impl v1::AuditPolicy {
    /// The farm's policy.
    ///
    /// # Errors
    ///
    /// The share is more than 1.
    pub fn with(
        self,
        AuditDefaults { seed, usual }: AuditDefaults,
    ) -> Result<AuditPolicy, WireError> {
        let across = across(self.across(), usual);
        let v1::AuditPolicy { share_ppm, by_search, .. } = self;
        Ok(AuditPolicy { share_ppm: share(share_ppm)?, seed, by_search, across })
    }
}

impl v1::Change {
    /// The request to the farm. `defaults` complete an audit.
    ///
    /// # Errors
    ///
    /// [`WireError`] if there is no change, or if a field of an audit is out of bounds.
    pub fn with(self, defaults: AuditDefaults) -> Result<Request, WireError> {
        use v1::change::Change as Wanted;
        let change = match self.change.ok_or(WireError::Missing("change"))? {
            Wanted::Cancel(v1::Cancel {}) => Change::Cancel,
            Wanted::Pause(v1::Pause {}) => Change::Pause,
            Wanted::Resume(v1::Resume {}) => Change::Resume,
            Wanted::Priority(priority) => Change::Priority(priority),
            Wanted::Audit(policy) => Change::Audit(policy.with(defaults)?),
        };
        Ok(Request::Change(JobId(self.job), change))
    }
}

/// The longest reason for a change of trust, in bytes.
const MAX_REASON: usize = 1_024;

impl TryFrom<v1::Trust> for Request {
    type Error = WireError;

    fn try_from(v1::Trust { party, trusted, reason }: v1::Trust) -> Result<Self, WireError> {
        if reason.len() > MAX_REASON || reason.chars().any(char::is_control) {
            return Err(WireError::Reason { most: MAX_REASON });
        }
        let party = Party::try_from(party.ok_or(WireError::Missing("party"))?)?;
        Ok(Request::Trust { party, trusted, reason })
    }
}

impl TryFrom<v1::AskResponse> for Answer {
    type Error = WireError;

    fn try_from(response: v1::AskResponse) -> Result<Self, WireError> {
        use v1::ask_response::Answer as Given;
        Ok(match response.answer.ok_or(WireError::Missing("answer"))? {
            Given::Job(job) => Answer::Job(Box::new(job.try_into()?)),
            Given::Submitted(v1::Jobs { jobs }) => {
                let jobs = jobs.into_iter().map(TryInto::try_into);
                Answer::Jobs(jobs.collect::<Result<_, _>>()?)
            }
            Given::Owner(owner) => Answer::Owner(owner.try_into()?),
            Given::Distrusted(v1::Parties { parties }) => {
                let parties = parties.into_iter().map(TryInto::try_into);
                Answer::Distrusted(parties.collect::<Result<_, _>>()?)
            }
        })
    }
}

impl TryFrom<v1::Grant> for Request {
    type Error = WireError;

    fn try_from(grant: v1::Grant) -> Result<Self, WireError> {
        use v1::grant::Limit;
        let v1::Grant { owner, weight, limit } = grant;
        let limit_us = limit.map(|limit| match limit {
            Limit::LimitUs(us) => limit_of(us).map(Some),
            Limit::NoLimit(v1::NoLimit {}) => Ok(None),
        });
        let change = ShareChange {
            weight: weight.map(self::weight).transpose()?,
            limit_us: limit_us.transpose()?,
        };
        Ok(Request::Grant { owner: name("owner", owner)?, change })
    }
}

fn weight(weight: u32) -> Result<u32, WireError> {
    match weight {
        1..=Share::MOST_WEIGHT => Ok(weight),
        _ => Err(WireError::out_of_bounds("weight", weight)),
    }
}

fn limit_of(us: u64) -> Result<u64, WireError> {
    if us > Share::MOST_HOURS * farm::Hours::US {
        return Err(WireError::out_of_bounds("limit_us", us));
    }
    Ok(us)
}

impl TryFrom<v1::Owner> for OwnerView {
    type Error = WireError;

    fn try_from(owner: v1::Owner) -> Result<Self, WireError> {
        if !is_text(&owner.owner) {
            return Err(WireError::Text { field: "owner" });
        }
        let v1::Owner { processor_us, gpu_us, leased_us, live_jobs, .. } = owner;
        Ok(OwnerView {
            owner: owner.owner,
            share: Share {
                weight: weight(owner.weight)?,
                limit_us: owner.limit_us.map(limit_of).transpose()?,
            },
            hours: Hours { processor_us, gpu_us },
            leased_us,
            live_jobs: size("live_jobs", live_jobs)?,
        })
    }
}

impl TryFrom<v1::Audit> for AuditView {
    type Error = WireError;

    fn try_from(audit: v1::Audit) -> Result<Self, WireError> {
        let across = across(audit.across(), AuditScope::Machines);
        let v1::Audit { share_ppm, by_search, .. } = audit;
        Ok(AuditView { share_ppm: share(share_ppm)?, by_search, across })
    }
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
        Ok(TasksBlock { lease: LeaseId(lease), start, tasks: Tasks { left, down, right, weight } })
    }
}

impl TryFrom<v1::Verdict> for Verdict {
    type Error = WireError;

    fn try_from(verdict: v1::Verdict) -> Result<Self, WireError> {
        Ok(match verdict {
            v1::Verdict::Unspecified => return Err(WireError::Missing("verdict")),
            v1::Verdict::Accepted => Verdict::Accepted,
            v1::Verdict::Agreed => Verdict::Agreed,
            v1::Verdict::Superseded => Verdict::Superseded,
            v1::Verdict::Disputed => Verdict::Disputed,
            v1::Verdict::Obsolete => Verdict::Obsolete,
            v1::Verdict::Foreign => Verdict::Foreign,
            v1::Verdict::Invalid => Verdict::Invalid,
        })
    }
}

impl TryFrom<v1::Plan> for Plan {
    type Error = WireError;

    fn try_from(plan: v1::Plan) -> Result<Self, WireError> {
        let problem = Problem::try_from(plan.problem.ok_or(WireError::Missing("problem"))?)?;
        let method = match plan.method.ok_or(WireError::Missing("method"))? {
            v1::plan::Method::Rows(v1::RowsMethod { rows }) => Method::Rows { rows },
            v1::plan::Method::Prefixes(v1::RowsMethod { rows }) => Method::Prefixes { rows },
            v1::plan::Method::Ring(v1::RingMethod { width }) => Method::Ring { width },
            v1::plan::Method::Halves(v1::HalvesMethod {}) => Method::Halves,
        };
        if !method.cuts(problem) {
            let (field, value) = method.parameter().unwrap_or(("n", problem.n()));
            return Err(WireError::out_of_bounds(field, value));
        }
        let ours = Plan { problem, method, tasks: plan.tasks };
        if ours.fingerprint() != fingerprint(&plan.fingerprint)? {
            return Err(WireError::Fingerprint { plan: ours.to_string() });
        }
        Ok(ours)
    }
}

impl TryFrom<v1::Problem> for Problem {
    type Error = WireError;

    /// The plan's index checks later whether the board is too large for the problem.
    fn try_from(problem: v1::Problem) -> Result<Self, WireError> {
        use v1::problem::Kind;
        let n = problem.n;
        Ok(match problem.kind.ok_or(WireError::Missing("problem kind"))? {
            Kind::Total(v1::Total {}) => Problem::Total { n },
            Kind::Fundamental(v1::Fundamental {}) => Problem::Fundamental { n },
            Kind::Toroidal(v1::Toroidal {}) => Problem::Toroidal { n },
            Kind::Superqueens(v1::Superqueens {}) => Problem::Superqueens { n },
            Kind::Completions(v1::Completions { queens }) => {
                let square = |queen: v1::Square| Square { column: queen.column, row: queen.row };
                let queens: Vec<Square> = queens.into_iter().map(square).collect();
                let given = Given::new(n, &queens);
                let given = given.map_err(|error| WireError::out_of_bounds("queens", error))?;
                Problem::Completions(given)
            }
        })
    }
}

impl From<v1::submit::Method> for MethodChoice {
    fn from(method: v1::submit::Method) -> Self {
        use v1::submit::Method;
        match method {
            Method::Rows(v1::RowsRequest { rows }) => MethodChoice::Rows { rows },
            Method::Prefixes(v1::RowsRequest { rows }) => MethodChoice::Prefixes { rows },
            Method::Ring(v1::RingRequest { width }) => MethodChoice::Ring { width },
            Method::Halves(v1::HalvesMethod {}) => MethodChoice::Halves,
        }
    }
}

impl TryFrom<v1::JobState> for JobState {
    type Error = WireError;

    fn try_from(state: v1::JobState) -> Result<Self, WireError> {
        Ok(match state {
            v1::JobState::Unspecified => return Err(WireError::Missing("state")),
            v1::JobState::Running => JobState::Running,
            v1::JobState::Paused => JobState::Paused,
            v1::JobState::Cancelled => JobState::Cancelled,
            v1::JobState::Suspended => JobState::Suspended,
            v1::JobState::Done => JobState::Done,
        })
    }
}

impl TryFrom<v1::Job> for JobView {
    type Error = WireError;

    fn try_from(job: v1::Job) -> Result<Self, WireError> {
        let state = job.state().try_into()?;
        let number = |field, text: &str| {
            text.parse::<u128>().map_err(|_| WireError::out_of_bounds(field, text))
        };
        if !is_text(&job.owner) {
            return Err(WireError::Text { field: "owner" });
        }
        Ok(JobView {
            id: JobId(job.id),
            spec: JobSpec {
                origin: Origin { owner: job.owner, key: key(job.key)? },
                plan: job.plan.ok_or(WireError::Missing("plan"))?.try_into()?,
                slice: Slice::new(job.shard, job.shards)
                    .map_err(|error| WireError::out_of_bounds("shard", error))?,
                priority: job.priority,
            },
            state,
            tasks_done: job.tasks_done,
            counted: number("counted", &job.counted)?,
            total: job.total.map(|total| number("total", &total)).transpose()?,
            thread_memory: job.thread_memory,
            able_workers: size("able_workers", job.able_workers)?,
            workers: size("workers", job.workers)?,
            us_left: job.us_left,
            threads: job.threads,
            disputes: size("disputes", job.disputes)?,
            disputed: job.disputed,
            audit: job.audit.map(TryInto::try_into).transpose()?,
            suspended: job.suspended,
            audits_wanted: job.audits_wanted,
            audits_agreed: job.audits_agreed,
            audits_stranded: job.audits_stranded,
            failed: job.failed,
            failed_first: job.failed_first,
            times: Times {
                submitted_at_ms: job.submitted_at_ms,
                begun_at_ms: job.begun_at_ms,
                ended_at_ms: job.ended_at_ms,
            },
            rate: Rate {
                tasks_per_second: job.tasks_per_second,
                placements_per_second: job.placements_per_second,
            },
            hours: Hours { processor_us: job.processor_us, gpu_us: job.gpu_us },
            is_over_limit: job.is_over_limit,
        })
    }
}

/// The name of a job, if it has one.
///
/// # Errors
///
/// [`WireError::Text`] if the text cannot be a name.
pub fn key(key: Option<String>) -> Result<Option<String>, WireError> {
    key.map(|key| name("key", key)).transpose()
}

fn size(field: &'static str, value: u64) -> Result<usize, WireError> {
    usize::try_from(value).map_err(|_| WireError::out_of_bounds(field, value))
}

/// Checks the number of a job, a lease or the like. It is below 2^63, because ledgers store signed
/// integers.
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

fn share(share_ppm: u32) -> Result<u32, WireError> {
    if share_ppm > AuditPolicy::ALL {
        return Err(WireError::out_of_bounds("share_ppm", share_ppm));
    }
    Ok(share_ppm)
}

fn digest(bytes: &[u8]) -> Result<Digest, WireError> {
    let bytes = <[u8; 16]>::try_from(bytes);
    bytes.map(|bytes| Digest(u128::from_le_bytes(bytes))).map_err(|_| WireError::Missing("digest"))
}

fn across(across: v1::AuditScope, usual: AuditScope) -> AuditScope {
    match across {
        v1::AuditScope::Unspecified => usual,
        v1::AuditScope::Machines => AuditScope::Machines,
        v1::AuditScope::Owners => AuditScope::Owners,
    }
}

fn token(bytes: &[u8]) -> Result<LeaseToken, WireError> {
    let token = bytes.try_into().ok().and_then(LeaseToken::from_bytes);
    token.ok_or(WireError::Missing("token"))
}

fn kernel(name: &str) -> Result<KernelName, WireError> {
    KernelName::new(name).ok_or_else(|| WireError::kernel(name))
}

fn range(range: Option<v1::OrdinalRange>) -> Result<Range, WireError> {
    let range = range.ok_or(WireError::Missing("range"))?;
    Range::new(range.start, range.end)
        .ok_or_else(|| WireError::out_of_bounds("range", format!("{range:?}")))
}
