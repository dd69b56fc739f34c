//! Who counts what: plans, leases, acceptance of results, totals.
//!
//! This crate knows what a plan is, which ordinals are leased to whom, when a partial count may
//! enter the total, and what both ends of a session owe each other. It is a pure state machine:
//! events and the time go in, effects come out. It deliberately knows nothing of sockets, disks,
//! clocks, threads or randomness, and nothing of how a task is counted; so a simulation can lose,
//! repeat and reorder every message, kill either end between any two effects, and still demand the
//! exact total.
//!
//! ```text
//!                 events                                  effects
//!   Joined, Said, Left          ──►  ┌────────┐  ──►  Tell, Dismiss (to workers)
//!   Asked                       ──►  │  Farm  │  ──►  Reply, AtRest (to clients)
//!   Ledger, Tick                ──►  └────────┘  ──►  Ledger (to the ledger)
//!                                                ──►  Contradicted, Lost, RangeFailed (to people)
//!
//!   leased, revoked, acked      ──►  ┌────────┐  ──►  Hello, Report, Credit, Working, Draining
//!   finished, stop, poll        ──►  │ Agent  │       (the worker's end of a session,
//!                                    └────────┘        to the coordinator)
//! ```
//!
//! Counting is a pure function of (plan, range). Hence leases only save work, and are forgotten
//! when the coordinator ends. But a report counts only for ordinals that were leased to its owner,
//! which its token proves ([`LeaseToken`]). A first count may fill uncovered ordinals. A recount
//! may confirm or dispute the count of covered ordinals, if it was asked for.
#![forbid(unsafe_code)]

mod account;
mod agent;
mod audit;
mod checked_count;
mod command;
mod config;
mod costs;
mod dispute;
mod effect;
mod event;
mod ids;
mod interval_set;
mod job;
mod job_spec;
mod job_view;
pub mod json;
mod kernel_name;
mod known;
mod lease;
mod machine;
mod message;
mod named;
mod overview;
mod pace;
mod plan;
mod policy;
mod principal;
mod range;
mod report;
mod request;
mod rows;
mod scheduler;
mod session;
mod shard;
mod stage;
mod stats;
mod task_counts;
mod text;
mod timeouts;
mod token;

pub use board::{Method, NoShard, Problem, Shard};

pub use account::{Hours, OwnerView};
pub use agent::{Agent, AgentConfig};
pub use checked_count::{CheckedCount, CountResult, Digest};
pub use command::{Asker, LedgerAnswer, LedgerCommand, Withdrawn};
pub use config::Config;
pub use costs::Spent;
pub use dispute::{Dispute, Ground, Vote};
pub use effect::{Dismissal, Effect, Refusal};
pub use event::Event;
pub use ids::{JobId, LeaseId, Millis, RequestId, SessionId};
pub use interval_set::IntervalSet;
pub use job_spec::{JobSpec, JobState, Milestone, Origin, Times};
pub use job_view::JobView;
pub use kernel_name::KernelName;
pub use known::{Fact, Known, answer};
pub use lease::{Lease, Recount};
pub use machine::{Farm, Restored, RestoredJob, StoredJob};
pub use message::{Ack, CoordinatorMessage, Hello, Holding, TasksBlock, Verdict, WorkerMessage};
pub use overview::{Cell, Credit, CreditOf, Incident, Overview, PlanMap, Progress};
pub use pace::Pace;
pub use plan::{Fingerprint, Plan, PlanText, problem_of};
pub use policy::AuditPolicy;
pub use principal::{
    AuditScope, Distrusted, IdentifiedBy, Party, Principal, Provenance, TrustChange,
    is_second_opinion, program_of,
};
pub use range::Range;
pub use report::Report;
pub use request::{Answer, Change, Request, Submission};
pub use rows::{Check, CountedRange, DisputeState, EvidenceRecord, Row, tiled};
pub use session::{Rate, WorkerView};
pub use stats::Stats;
pub use task_counts::TaskCounts;
pub use text::{MAX_TEXT, is_name, is_text, reason, rule_of_names, visible};
pub use token::{LeaseKey, LeaseKind, LeaseToken};
