//! The header of a bundle: its first line.

use anyhow::{Context, Result, ensure};
use board::{Method, Problem};
use farm::{JobState, Plan};
use serde::{Deserialize, Serialize};

use crate::canonical::text;
use crate::format::Lines;

/// The first line of a bundle.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
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
    /// The parameter of the method: the number of rows for `rows` and `prefixes`.
    pub parameter: Option<u32>,
    /// The number of tasks of the plan.
    pub tasks: u64,
    /// The fingerprint of the plan, hexadecimal.
    pub fingerprint: String,
    /// The number of the shard of the plan that was to be counted. The first shard has number 1.
    pub shard: u32,
    /// Number of shards that the plan is divided into.
    pub shards: u32,
    /// The state of the job.
    pub state: JobState,
    /// The number of tasks in all ranges.
    pub covered: u64,
    /// The sum over all ranges.
    #[serde(with = "text")]
    pub counted: u128,
    /// The numbers of the lines that follow.
    #[serde(flatten)]
    pub lines: Lines,
}

impl Header {
    /// The plan that was counted. It must have the same fingerprint in this version of the program.
    pub(super) fn plan(&self) -> Result<Plan> {
        let problem = Problem::from_text(&self.problem, self.n);
        let problem = problem.with_context(|| format!("an unknown problem, {}", self.problem))?;
        ensure!(problem.text() == self.problem, "the problem is not spelled {}", problem.text());
        let method = Method::from_name(&self.method, self.parameter);
        let method = method
            .with_context(|| format!("an unknown method, {}, or parameter of it", self.method))?;
        ensure!(method.cuts(problem), "{problem} cannot be cut by {method}");
        let plan = Plan { problem, method, tasks: self.tasks };
        let ours = plan.fingerprint().to_string();
        ensure!(
            ours == self.fingerprint,
            "the plan {plan} has the fingerprint {} in the bundle and {ours} here: another version numbered its \
             tasks",
            self.fingerprint
        );
        Ok(plan)
    }
}
