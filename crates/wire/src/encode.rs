//! Turns the farm's types into messages.

use board::{MethodChoice, Square};
use farm::{
    Ack, Answer, AuditScope, AuditView, CoordinatorMessage, Fingerprint, JobState, JobView,
    LeaseId, Method, OwnerView, Plan, Problem, Range, TasksBlock, Verdict, WorkerMessage,
};

use crate::v1;

impl From<Range> for v1::OrdinalRange {
    fn from(range: Range) -> Self {
        v1::OrdinalRange { start: range.start(), end: range.end() }
    }
}

impl From<&Plan> for v1::Plan {
    fn from(plan: &Plan) -> Self {
        let method = match plan.method {
            Method::Rows { rows } => v1::plan::Method::Rows(v1::RowsMethod { rows }),
            Method::Prefixes { rows } => v1::plan::Method::Prefixes(v1::RowsMethod { rows }),
            Method::Ring { width } => v1::plan::Method::Ring(v1::RingMethod { width }),
            Method::Halves => v1::plan::Method::Halves(v1::HalvesMethod {}),
        };
        v1::Plan {
            problem: Some(plan.problem.into()),
            method: Some(method),
            tasks: plan.tasks,
            fingerprint: bytes(plan.fingerprint()),
        }
    }
}

impl From<Problem> for v1::Problem {
    fn from(problem: Problem) -> Self {
        use v1::problem::Kind;
        let kind = match problem {
            Problem::Total { .. } => Kind::Total(v1::Total {}),
            Problem::Fundamental { .. } => Kind::Fundamental(v1::Fundamental {}),
            Problem::Toroidal { .. } => Kind::Toroidal(v1::Toroidal {}),
            Problem::Superqueens { .. } => Kind::Superqueens(v1::Superqueens {}),
            Problem::Completions(given) => {
                let square = |queen: Square| v1::Square { column: queen.column, row: queen.row };
                Kind::Completions(v1::Completions { queens: given.queens().map(square).collect() })
            }
        };
        v1::Problem { n: problem.n(), kind: Some(kind) }
    }
}

impl From<MethodChoice> for v1::submit::Method {
    fn from(choice: MethodChoice) -> Self {
        use v1::submit::Method;
        match choice {
            MethodChoice::Rows { rows } => Method::Rows(v1::RowsRequest { rows }),
            MethodChoice::Prefixes { rows } => Method::Prefixes(v1::RowsRequest { rows }),
            MethodChoice::Ring { width } => Method::Ring(v1::RingRequest { width }),
            MethodChoice::Halves => Method::Halves(v1::HalvesMethod {}),
        }
    }
}

impl From<WorkerMessage> for v1::WorkRequest {
    fn from(message: WorkerMessage) -> Self {
        use v1::work_request::Message;
        let message = match message {
            WorkerMessage::Hello(hello) => Message::Hello(hello.into()),
            WorkerMessage::Credit(tasks) => Message::Credit(v1::Credit { tasks }),
            WorkerMessage::Report(report) => Message::Report(report.into()),
            WorkerMessage::Working(LeaseId(lease)) => Message::Working(v1::Working { lease }),
            WorkerMessage::Draining => Message::Draining(v1::Draining {}),
        };
        v1::WorkRequest { message: Some(message) }
    }
}

impl From<farm::Hello> for v1::Hello {
    fn from(hello: farm::Hello) -> Self {
        v1::Hello {
            protocol: crate::PROTOCOL,
            worker: hello.worker,
            machine: hello.machine,
            instance: hello.instance,
            threads: hello.threads,
            memory: hello.memory,
            credit: hello.credit,
            holding: hello.holding.into_iter().map(Into::into).collect(),
            build: hello.build,
            backend: hello.backend,
        }
    }
}

impl From<farm::Party> for v1::Party {
    fn from(party: farm::Party) -> Self {
        v1::Party { owner: party.owner, machine: party.machine }
    }
}

impl From<farm::Holding> for v1::Holding {
    fn from(holding: farm::Holding) -> Self {
        v1::Holding {
            lease: holding.lease.0,
            job: holding.job.0,
            fingerprint: bytes(holding.fingerprint),
            range: Some(holding.range.into()),
            token: holding.token.to_bytes().to_vec(),
        }
    }
}

impl From<farm::Report> for v1::Report {
    fn from(report: farm::Report) -> Self {
        v1::Report {
            lease: report.lease.0,
            job: report.job.0,
            fingerprint: bytes(report.fingerprint),
            range: Some(report.range.into()),
            token: report.token.to_bytes().to_vec(),
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
            CoordinatorMessage::Revoke(lease) => Message::Revoke(v1::Revoke { lease: lease.0 }),
            CoordinatorMessage::Pace(pace) => {
                Message::Pace(v1::Pace { report_ms: pace.report_ms() })
            }
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
            verdict: v1::Verdict::from(ack.verdict).into(),
        }
    }
}

impl From<farm::Lease> for v1::Lease {
    fn from(lease: farm::Lease) -> Self {
        v1::Lease {
            id: lease.id.0,
            job: lease.job.0,
            plan: Some((&lease.plan).into()),
            range: Some(lease.range.into()),
            token: lease.token.to_bytes().to_vec(),
            recount: lease.recount.map(|recount| v1::Recount {
                unlike: recount.unlike.to_string(),
                by_search: recount.by_search,
            }),
        }
    }
}

impl From<TasksBlock> for v1::Tasks {
    fn from(block: TasksBlock) -> Self {
        v1::Tasks {
            lease: block.lease.0,
            start: block.start,
            left: block.tasks.left,
            down: block.tasks.down,
            right: block.tasks.right,
            weight: block.tasks.weight,
        }
    }
}

impl From<Verdict> for v1::Verdict {
    fn from(verdict: Verdict) -> Self {
        match verdict {
            Verdict::Accepted => v1::Verdict::Accepted,
            Verdict::Agreed => v1::Verdict::Agreed,
            Verdict::Superseded => v1::Verdict::Superseded,
            Verdict::Disputed => v1::Verdict::Disputed,
            Verdict::Obsolete => v1::Verdict::Obsolete,
            Verdict::Foreign => v1::Verdict::Foreign,
            Verdict::Invalid => v1::Verdict::Invalid,
        }
    }
}

impl From<JobState> for v1::JobState {
    fn from(state: JobState) -> Self {
        match state {
            JobState::Running => v1::JobState::Running,
            JobState::Paused => v1::JobState::Paused,
            JobState::Cancelled => v1::JobState::Cancelled,
            JobState::Suspended => v1::JobState::Suspended,
            JobState::Done => v1::JobState::Done,
        }
    }
}

impl From<AuditScope> for v1::AuditScope {
    fn from(across: AuditScope) -> Self {
        match across {
            AuditScope::Machines => v1::AuditScope::Machines,
            AuditScope::Owners => v1::AuditScope::Owners,
        }
    }
}

impl From<AuditView> for v1::Audit {
    fn from(audit: AuditView) -> Self {
        let AuditView { share_ppm, by_search, across } = audit;
        let across = v1::AuditScope::from(across).into();
        v1::Audit { share_ppm, by_search, across }
    }
}

impl From<Answer> for v1::AskResponse {
    fn from(answer: Answer) -> Self {
        use v1::ask_response::Answer as Given;
        let answer = match answer {
            Answer::Job(job) => Given::Job((*job).into()),
            Answer::Jobs(jobs) => {
                Given::Submitted(v1::Jobs { jobs: jobs.into_iter().map(Into::into).collect() })
            }
            Answer::Owner(owner) => Given::Owner(owner.into()),
            Answer::Distrusted(parties) => {
                let parties = parties.into_iter().map(Into::into).collect();
                Given::Distrusted(v1::Parties { parties })
            }
        };
        v1::AskResponse { answer: Some(answer) }
    }
}

impl From<OwnerView> for v1::Owner {
    fn from(view: OwnerView) -> Self {
        let OwnerView { owner, share, hours, leased_us, live_jobs } = view;
        v1::Owner {
            owner,
            weight: share.weight,
            limit_us: share.limit_us,
            processor_us: hours.processor_us,
            gpu_us: hours.gpu_us,
            leased_us,
            live_jobs: live_jobs as u64,
        }
    }
}

impl From<JobView> for v1::Job {
    fn from(job: JobView) -> Self {
        v1::Job {
            id: job.id.0,
            plan: Some((&job.spec.plan).into()),
            priority: job.spec.priority,
            state: v1::JobState::from(job.state).into(),
            tasks_done: job.tasks_done,
            counted: job.counted.to_string(),
            total: job.total.map(|total| total.to_string()),
            workers: job.workers as u64,
            us_left: job.us_left,
            threads: job.threads,
            disputes: job.disputes as u64,
            disputed: job.disputed,
            thread_memory: job.thread_memory,
            able_workers: job.able_workers as u64,
            audit: job.audit.map(Into::into),
            suspended: job.suspended,
            audits_wanted: job.audits_wanted,
            audits_agreed: job.audits_agreed,
            audits_stranded: job.audits_stranded,
            shard: job.spec.slice.index(),
            shards: job.spec.slice.of(),
            failed: job.failed,
            failed_first: job.failed_first,
            owner: job.spec.origin.owner,
            key: job.spec.origin.key,
            submitted_at_ms: job.times.submitted_at_ms,
            begun_at_ms: job.times.begun_at_ms,
            ended_at_ms: job.times.ended_at_ms,
            tasks_per_second: job.rate.tasks_per_second,
            placements_per_second: job.rate.placements_per_second,
            processor_us: job.hours.processor_us,
            gpu_us: job.hours.gpu_us,
            is_over_limit: job.is_over_limit,
        }
    }
}

fn bytes(fingerprint: Fingerprint) -> Vec<u8> {
    fingerprint.0.to_vec()
}
