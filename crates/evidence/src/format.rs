//! The lines of a bundle, as JSON objects.

use anyhow::{Context, Result, ensure};
use farm::{
    Across, AuditPolicy, AuditView, Author, Check, JobState, KernelName, LeaseId, Maker, Method,
    Plan, Problem, Range, Row, Slice, Tally, TrustChange,
};
use serde::{Deserialize, Serialize};

/// The version of the format.
pub(super) const VERSION: u32 = 2;

/// The first line.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Header {
    pub(super) queens_bundle: u32,
    /// The program that wrote the bundle, with its version.
    pub program: String,
    /// Time of the export, in milliseconds since 1970.
    pub exported_at: i64,
    /// The problem, as `Problem::text` writes it.
    pub problem: String,
    /// The size of the board.
    pub n: u32,
    /// The name of the method.
    pub method: String,
    /// The parameter of the method: the number of rows for `rows`, the width for `ring`.
    pub parameter: Option<u32>,
    /// The number of tasks of the plan.
    pub tasks: u64,
    /// The fingerprint of the plan, hexadecimal.
    pub fingerprint: String,
    /// Number of the part of the plan that was to be counted, from 1 on.
    pub shard: u32,
    /// Number of parts that the plan is divided into.
    pub shards: u32,
    /// The state of the job.
    pub state: String,
    /// The sum over all ranges, decimal.
    pub counted: String,
    /// Number of lines that say which ranges were to be counted twice.
    pub policies: u64,
    /// Number of lines of accepted ranges.
    pub ranges: u64,
    /// Number of lines of second counts.
    pub audits: u64,
    /// Number of lines of counts that were contradicted, overruled or taken back.
    pub disputes: u64,
    /// Number of lines that say who was believed no more, or again.
    pub trust: u64,
    /// The Merkle root of the lines that follow, hexadecimal.
    pub merkle_root: String,
}

impl Header {
    /// The plan that was counted. It must have the same fingerprint in this version of the program.
    pub(super) fn plan(&self) -> Result<Plan> {
        let problem = Problem::from_text(&self.problem, self.n);
        let problem = problem.with_context(|| format!("an unknown problem, {}", self.problem))?;
        let method = Method::from_name(&self.method, self.parameter);
        let method = method.with_context(|| format!("an unknown method, {}", self.method))?;
        ensure!(problem.suits(method), "{problem} cannot be cut by {method}");
        let plan = Plan { problem, method, tasks: self.tasks };
        let ours = plan.fingerprint().to_string();
        ensure!(
            ours == self.fingerprint,
            "the plan {plan} has the fingerprint {} in the bundle and {ours} here: another version \
             numbered its tasks",
            self.fingerprint
        );
        Ok(plan)
    }

    pub(super) fn slice(&self) -> Result<Slice> {
        Ok(Slice::new(self.shard, self.shards)?)
    }

    pub(super) fn state(&self) -> Result<JobState> {
        JobState::named(&self.state).with_context(|| format!("an unknown state, {}", self.state))
    }

    pub(super) fn counted(&self) -> Result<u128> {
        self.counted.parse().with_context(|| format!("{:?} is not a sum", self.counted))
    }
}

/// Any line but the first.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "line", rename_all = "snake_case", deny_unknown_fields)]
pub(super) enum Line {
    Policy(Policy),
    Range { at: i64, audit: Audit, count: Count },
    Audit { at: i64, count: Count },
    Dispute { at: i64, state: DisputeState, count: Count },
    Trust { at: i64, owner: String, machine: Option<String>, trusted: bool, reason: String },
}

/// Which ranges were to be counted twice.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Policy {
    share_ppm: u32,
    by_search: bool,
    /// Between whom the second opinion lies: machines or owners.
    across: String,
    /// What was published when the audit was ordered, hexadecimal: see [`AuditPolicy::commitment`].
    commitment: String,
    /// What was committed to; not before the job is over.
    revealed: Option<Revealed>,
    asked_at: i64,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Revealed {
    /// Decimal.
    seed: String,
    /// 32 hexadecimal digits.
    salt: String,
}

impl Policy {
    /// A policy of a job in this state.
    pub(super) fn new(policy: AuditPolicy, state: JobState, asked_at: i64) -> Policy {
        let AuditView { share_ppm, by_search, across, commitment, revealed } =
            AuditView::of(policy, state);
        let reveal = |policy: AuditPolicy| Revealed {
            seed: policy.seed.to_string(),
            salt: format!("{:032x}", policy.salt),
        };
        let (commitment, revealed) = (commitment.to_string(), revealed.map(reveal));
        let across = across.name().into();
        Policy { share_ppm, by_search, across, commitment, revealed, asked_at }
    }

    /// Between whom the second opinion lies.
    pub(super) fn across(&self) -> Result<Across> {
        let across = Across::named(&self.across);
        across.with_context(|| format!("the audit is across unknown {:?}", self.across))
    }

    /// The policy that was committed to, if it is revealed.
    pub(super) fn committed(&self) -> Result<Option<AuditPolicy>> {
        let Policy { share_ppm, by_search, .. } = *self;
        ensure!(
            share_ppm <= AuditPolicy::ALL,
            "the audited share is {share_ppm} millionths, which is more than all"
        );
        let Some(Revealed { seed, salt }) = &self.revealed else { return Ok(None) };
        let seed = seed.parse().context("the seed is not a number")?;
        let salt = u128::from_str_radix(salt, 16).context("the salt is not hexadecimal")?;
        let across = self.across()?;
        let policy = AuditPolicy { share_ppm, seed, salt, by_search, across };
        ensure!(
            policy.commitment().to_string() == self.commitment,
            "seed and salt of the audit are not what was committed to when it was ordered"
        );
        Ok(Some(policy))
    }
}

/// Whether a range was chosen to be counted twice, and whether that has happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Audit {
    NotChosen,
    Wanted,
    Agreed,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum DisputeState {
    Open,
    Settled,
    TakenBack,
}

impl From<Check> for Audit {
    fn from(check: Check) -> Audit {
        match check {
            Check::NotChosen => Audit::NotChosen,
            Check::Wanted => Audit::Wanted,
            Check::Agreed => Audit::Agreed,
        }
    }
}

impl From<farm::DisputeState> for DisputeState {
    fn from(state: farm::DisputeState) -> DisputeState {
        match state {
            farm::DisputeState::Open => DisputeState::Open,
            farm::DisputeState::Settled => DisputeState::Settled,
            farm::DisputeState::TakenBack => DisputeState::TakenBack,
        }
    }
}

/// A count of a range, with its author and its kernel. Large numbers are decimal strings.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Count {
    first: u64,
    past: u64,
    count: String,
    residue: String,
    digest: String,
    kernel: String,
    owner: String,
    machine: String,
    worker: String,
    build: String,
    lease: String,
    busy_us: u64,
}

impl From<&Row> for Count {
    fn from(entry: &Row) -> Count {
        let Row { range, tally, kernel, author, lease, busy_us } = entry;
        Count {
            first: range.start(),
            past: range.end(),
            count: tally.count.to_string(),
            residue: tally.residue.to_string(),
            digest: tally.digest.to_string(),
            kernel: kernel.to_string(),
            owner: author.maker.owner.clone(),
            machine: author.maker.machine.clone(),
            worker: author.worker.clone(),
            build: author.build.clone(),
            lease: lease.to_string(),
            busy_us: *busy_us,
        }
    }
}

impl TryFrom<Count> for Row {
    type Error = anyhow::Error;

    fn try_from(count: Count) -> Result<Row> {
        let Count { first, past, .. } = count;
        let range =
            Range::new(first, past).with_context(|| format!("[{first}, {past}) is empty"))?;
        let number = |text: &str| {
            text.parse().with_context(|| format!("{text:?} at ordinal {first} is not a number"))
        };
        let tally = Tally {
            count: number(&count.count)?,
            residue: number(&count.residue)?,
            digest: count.digest.parse().context("the digest is not 32 hexadecimal digits")?,
        };
        ensure!(tally.is_sound(), "the sum and its residue disagree at ordinal {first}");
        Ok(Row {
            range,
            tally,
            kernel: KernelName::new(&count.kernel).with_context(|| {
                format!(
                    "no kernel of this program is named {:?}; use the version that wrote the bundle",
                    count.kernel
                )
            })?,
            author: Author {
                maker: Maker { owner: count.owner, machine: count.machine },
                worker: count.worker,
                build: count.build,
            },
            lease: LeaseId(number(&count.lease)?),
            busy_us: count.busy_us,
        })
    }
}

impl Line {
    pub(super) fn trust(change: TrustChange) -> Line {
        let TrustChange { party, trusted, proof, reason, at_ms } = change;
        // Which range proved somebody wrong stands on the line of its dispute, if it is of this job.
        let reason = if proof.is_some() { "proven wrong".into() } else { reason };
        let (owner, machine) = (party.owner, party.machine);
        Line::Trust { at: at_ms, owner, machine, trusted, reason }
    }
}
