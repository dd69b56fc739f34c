//! What clients and the coordinator say to each other under `/api/v1`: JSON over HTTP.
//!
//! The answers about jobs, workers and credentials are the types of the farm and the ledger
//! themselves. Here are the requests, the lists, and what is said of a request that fails.

#![cfg_attr(not(test), warn(clippy::arithmetic_side_effects))]

use axum::http::StatusCode;
use board::MethodChoice;
use farm::{
    AuditPolicy, AuditScope, Change, JobId, JobView, Party, Problem, WorkerView, is_name,
    problem_of, rule_of_names,
};
use ledger::{Credential, Role};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Where the API begins.
pub const ROOT: &str = "/api/v1";

/// The most jobs in one answer.
pub const MOST_LISTED: usize = 1_000;

/// The event of a job that is over has this id, and nothing follows it.
pub const LAST_EVENT: &str = "end";

/// A job to be added.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"n": 12}))]
pub struct Submit {
    /// The size of the board: at most 32, or 64 with given queens.
    #[schema(minimum = 0, maximum = 64)]
    pub n: u32,
    /// What is counted: `total` (the default), `fundamental`, `toroidal`, `superqueens` or
    /// `completions`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
    /// The squares of given queens with commas between them, as in `a1,c2`, for `completions`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub given: Option<String>,
    /// How it is cut: `rows`, `prefixes` or `colours`. If it is absent, the coordinator chooses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub method: Option<String>,
    /// How many rows a task of `rows` or `prefixes` fills. If it is absent, the coordinator
    /// chooses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 0, maximum = 64)]
    pub rows: Option<u32>,
    /// Jobs of higher priority are served first. Owners of jobs with the same priority take turns,
    /// and jobs of one owner are served in the order of their submission. It is from -10 to 10, and
    /// an admin may give any.
    #[serde(default)]
    pub priority: i32,
    /// What is counted twice while the job runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub audit: Option<AuditWish>,
    /// A name for the job: 1 to 128 visible ASCII characters. If the owner of the credential has a
    /// job of this name already, no job is added, and the answer is that job. So a submission whose
    /// answer was lost can be repeated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(pattern = "^[!-~]{1,128}$")]
    pub name: Option<String>,
}

impl Submit {
    /// The problem, and how it is to be cut. The error is a sentence for people.
    pub fn problem(&self) -> Result<(Problem, MethodChoice), String> {
        let name = self.problem.as_deref().unwrap_or("total");
        let problem = problem_of(name, self.given.as_deref(), self.n).ok_or_else(|| {
            let given = self.given.as_ref().map(|given| format!(" and the queens {given:?}"));
            format!("there is no problem {name:?} with N = {}{}", self.n, given.unwrap_or_default())
        })?;
        let choice = match (self.method.as_deref(), self.rows) {
            (None, None) => MethodChoice::suggested(problem),
            (method, _) => {
                let name = method.unwrap_or(MethodChoice::Rows { rows: None }.name());
                let named = MethodChoice::all().find(|choice| choice.name() == name);
                named.ok_or_else(|| format!("there is no method {name:?}"))?
            }
        };
        match (choice.parameter(), self.rows) {
            (None, Some(_)) => Err(format!("the method {} takes no `rows`", choice.name())),
            (_, None) => Ok((problem, choice)),
            (Some(_), rows) => Ok((problem, choice.with(rows))),
        }
    }

    /// The name of the job, if it has one. The error is a sentence for people.
    pub fn key(&self) -> Result<Option<String>, String> {
        match &self.name {
            Some(name) if !is_name(name) => Err(rule_of_names()),
            name => Ok(name.clone()),
        }
    }
}

/// Which accepted ranges are to be counted again. The coordinator draws them at random, and does
/// not say which they are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct AuditWish {
    /// The share of the ranges, from 0 to 1. 1 means every range, and 0 withdraws what was ordered
    /// before.
    #[schema(minimum = 0, maximum = 1)]
    pub share: f64,
    /// Whether ranges of plans by `colours` are counted again by the kernel `reference`.
    #[serde(default)]
    pub by_reference: bool,
    /// Who must count a range again: another one of the `machines`, which protects against broken
    /// hardware, or another one of the `owners` of credentials, which also protects against owners
    /// that lie, unless they collude. If it is absent, it is `owners` if two owners have a valid
    /// credential of a worker, or if the job's earlier audit was between owners.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub across: Option<AuditScope>,
}

impl AuditWish {
    /// A share of a million ranges, as the farm's policies have it.
    pub fn of_ppm(share_ppm: u32) -> AuditWish {
        let share = f64::from(share_ppm) / f64::from(AuditPolicy::ALL);
        AuditWish { share, ..AuditWish::default() }
    }

    /// The policy with this seed. Its scope is `usual` unless the wish names one. The error is a
    /// sentence for people.
    pub fn with(self, seed: u64, usual: AuditScope) -> Result<AuditPolicy, String> {
        let AuditWish { share, by_reference, across } = self;
        if !(0.0..=1.0).contains(&share) {
            return Err("the share of an audit is from 0 to 1".into());
        }
        let share_ppm = (share * f64::from(AuditPolicy::ALL)).round() as u32;
        if share_ppm == 0 && share > 0.0 {
            return Err("the least share of an audit is 0.000001".into());
        }
        Ok(AuditPolicy { share_ppm, seed, by_reference, across: across.unwrap_or(usual) })
    }
}

/// A change of a job that a word does not say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"priority": 5}))]
pub struct Patch {
    /// The new priority.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority: Option<i32>,
    /// What is to be counted again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub audit: Option<AuditWish>,
}

impl Patch {
    /// The change. An audit has this seed, and this scope unless it names one. The error is a
    /// sentence for people.
    pub fn change(self, seed: u64, usual: AuditScope) -> Result<Change, String> {
        match (self.priority, self.audit) {
            (Some(priority), None) => Ok(Change::Priority(priority)),
            (None, Some(wish)) => Ok(Change::Audit {
                policy: wish.with(seed, usual)?,
                narrows: wish.across.is_some(),
            }),
            _ => Err("give either `priority` or `audit`".into()),
        }
    }
}

/// One of something, or several in an array.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(untagged)]
pub enum OneOrMore<T> {
    /// One.
    One(T),
    /// Several.
    More(Vec<T>),
}

/// A page of jobs.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct Jobs {
    /// The jobs, the oldest first unless the newest were asked for.
    pub jobs: Vec<JobView>,
    /// The job after which the next page begins; null on the last page.
    pub next: Option<JobId>,
}

/// Who counts, and who is distrusted.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct Workers {
    /// The connected workers.
    pub workers: Vec<WorkerView>,
    /// Machines, and owners with all machines, whose counts are not trusted.
    pub distrusted: Vec<Party>,
    /// How many threads the farm could keep busy for the length of a lease, with what is left to
    /// count of its running jobs.
    pub leasable_threads: u64,
}

/// A decision to distrust a party, or to trust it again. When a party is distrusted, its sessions
/// end, and those of its counts that nobody else has confirmed are counted again.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"owner": "lab", "machine": "node7", "trusted": false, "reason": "its memory is broken"}))]
pub struct Trust {
    /// The owner.
    #[schema(pattern = "^[!-~]{1,128}$")]
    pub owner: String,
    /// The machine; absent for all machines of the owner.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(pattern = "^[!-~]{1,128}$")]
    pub machine: Option<String>,
    /// Whether it is trusted from now on.
    pub trusted: bool,
    /// The reason, for people: one line of at most 1,024 bytes that is not blank. It is written
    /// into the ledger.
    pub reason: String,
}

/// The answer to a decision about trust.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct Distrusted {
    /// After a party was trusted again: the parties that are still distrusted and have machines in
    /// common with it. They are the owner of that machine as a whole, or single machines of that
    /// owner.
    pub distrusted: Vec<Party>,
}

/// The workers that are leased nothing more.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct Drained {
    /// All connected ones of the name that the credential may drain.
    pub workers: Vec<WorkerView>,
}

/// A credential to be made.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"role": "viewer", "owner": "lab"}))]
pub struct NewToken {
    /// What it allows.
    pub role: Role,
    /// Who answers for what is done with it: 1 to 128 visible ASCII characters without a slash.
    /// Several credentials may have one owner.
    #[schema(pattern = "^[!-.0-~]{1,128}$")]
    pub owner: String,
    /// For how many seconds it is valid. Absent if it is valid for ever.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lifetime_s: Option<u64>,
}

/// A credential that was just made.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct MadeToken {
    /// The credential.
    #[serde(flatten)]
    pub token: Credential,
    /// The secret, which is told only here. Requests show it in the header `Authorization: Bearer
    /// SECRET`.
    pub secret: String,
}

/// All credentials, without their secrets.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct Tokens {
    /// The oldest first.
    pub tokens: Vec<Credential>,
}

/// What is said of a request that failed, as RFC 9457 has it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ProblemDetails {
    /// The name of the HTTP status.
    pub title: String,
    /// The HTTP status.
    #[schema(minimum = 400, maximum = 599)]
    pub status: u16,
    /// What went wrong, as a word that stays the same from version to version.
    pub code: String,
    /// What went wrong and what to do about it, for people.
    pub detail: String,
}

/// Declares [`Code`] from a list of the codes with their HTTP statuses.
macro_rules! codes {
    ($($(#[$doc:meta])* $name:ident = $text:literal, $status:ident;)*) => {
        farm::named! {
            /// Why a request fails.
            pub enum Code { $($(#[$doc])* $name = $text,)* }
        }

        impl Code {
            /// The HTTP status of an answer with this code.
            pub fn status(self) -> StatusCode {
                match self { $(Code::$name => StatusCode::$status,)* }
            }
        }
    };
}

codes! {
    /// The request cannot be read.
    Malformed = "malformed", BAD_REQUEST;
    /// The credential is wrong or missing, or is not valid any more.
    Unauthenticated = "unauthenticated", UNAUTHORIZED;
    /// The credential does not allow this.
    Forbidden = "forbidden", FORBIDDEN;
    /// There is nothing at this address.
    NotFound = "not_found", NOT_FOUND;
    /// There is no such job.
    NoSuchJob = "no_such_job", NOT_FOUND;
    /// There is no such credential.
    NoSuchToken = "no_such_token", NOT_FOUND;
    /// No worker of this name is connected.
    NoSuchWorker = "no_such_worker", NOT_FOUND;
    /// The address does not answer such a method.
    WrongMethod = "wrong_method", METHOD_NOT_ALLOWED;
    /// Another job of the owner has the name.
    NameTaken = "name_taken", CONFLICT;
    /// The job is over.
    JobOver = "job_over", CONFLICT;
    /// The job is not over.
    JobNotOver = "job_not_over", CONFLICT;
    /// The job is suspended.
    JobSuspended = "job_suspended", CONFLICT;
    /// The job proved that somebody counts wrong.
    JobIsProof = "job_is_proof", CONFLICT;
    /// The job has just been changed, and the ledger is not done with that.
    Unsettled = "unsettled", CONFLICT;
    /// The body is too long.
    TooLarge = "too_large", PAYLOAD_TOO_LARGE;
    /// The body is not JSON.
    WrongType = "wrong_type", UNSUPPORTED_MEDIA_TYPE;
    /// The request can be read, and asks for something that there is not.
    Invalid = "invalid", UNPROCESSABLE_ENTITY;
    /// There are too many jobs that have not ended.
    TooManyJobs = "too_many_jobs", TOO_MANY_REQUESTS;
    /// Too many ask for the same at a time.
    Busy = "busy", TOO_MANY_REQUESTS;
    /// The coordinator is beginning or ending.
    Unavailable = "unavailable", SERVICE_UNAVAILABLE;
    /// The coordinator has a fault.
    Internal = "internal", INTERNAL_SERVER_ERROR;
}
