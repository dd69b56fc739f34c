//! Plans: what is counted, and how it is cut into tasks.

use std::fmt;

use board::{Method, Problem, Shard};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::{IntervalSet, Range};

/// A problem, a method and their parameters: the ordered list of tasks, without the list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(into = "PlanText", try_from = "PlanText")]
pub struct Plan {
    /// What is counted.
    pub problem: Problem,
    /// How it is cut.
    pub method: Method,
    /// How many tasks there are: ordinals are `0..tasks`.
    pub tasks: u64,
}

impl Plan {
    /// The name of this plan in messages, ledgers and bundles: BLAKE3 over everything that decides
    /// what the ordinals mean.
    pub fn fingerprint(&self) -> Fingerprint {
        let parameter = self.method.parameter();
        let parameter = parameter.map(|(name, value)| format!("; {name} {value}"));
        let identity = format!(
            "queens plan; enumeration {}; problem {}; n {}; method {}{}; tasks {}",
            self.method.enumeration_version(),
            self.problem.text(),
            self.problem.n(),
            self.method.name(),
            parameter.unwrap_or_default(),
            self.tasks,
        );
        Fingerprint(*blake3::hash(identity.as_bytes()).as_bytes())
    }

    /// The ordinals of a shard of it.
    pub fn ordinals(&self, shard: Shard) -> IntervalSet {
        let ranges = shard.ordinals(self.tasks);
        ranges.filter_map(|range| Range::new(range.start, range.end)).collect()
    }

    /// Thread time that the whole plan usually takes, microseconds: a nanosecond for each of
    /// 2 N! / 2.54^N placements, which is right for 10 to 27 queens to a factor of two. Each given
    /// queen leaves one in N of them.
    ///
    /// A worker may be ten times as slow or as fast, but N = 14 takes a millionth of N = 21.
    pub(crate) fn usual_us(&self) -> f64 {
        let n = self.problem.n();
        let given = self.problem.given().map_or(0, |given| given.queens().count());
        let placements = (1..=n).fold(2.0, |all, row| all * f64::from(row) / 2.54);
        placements / f64::from(n.max(1)).powi(given as i32) / 1e3
    }

    /// Whether the count of each task is reported beside the sums of ranges: see
    /// [`crate::TaskCounts`]. Tasks of the other methods are many and short.
    pub fn reports_tasks(&self) -> bool {
        self.method == Method::Colours
    }
}

/// A plan as JSON.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[schema(as = Plan)]
pub struct PlanText {
    /// The name of what is counted, such as `total`.
    problem: String,
    /// The size of the board.
    #[schema(minimum = 0, maximum = 64)]
    n: u32,
    /// The given queens as squares with commas between them, if the problem has any.
    given: Option<String>,
    /// The name of the method, such as `colours`.
    method: String,
    /// How many rows a prefix fills, if the method has prefixes.
    rows: Option<u32>,
    /// How many tasks there are.
    tasks: u64,
    /// BLAKE3 over everything that decides what the tasks mean, 64 hexadecimal digits.
    fingerprint: String,
}

/// The problem of this name, with these given queens, on a board of size `n`. `None` if there is no
/// such problem. A board that is too large for its problem passes here for problems without given
/// queens: making the plan's index refuses it.
pub fn problem_of(name: &str, given: Option<&str>, n: u32) -> Option<Problem> {
    match given {
        Some(given) => Problem::from_text(&format!("{name} {given}"), n),
        None => Problem::from_text(name, n),
    }
}

impl From<Plan> for PlanText {
    fn from(plan: Plan) -> PlanText {
        PlanText {
            problem: plan.problem.name().into(),
            n: plan.problem.n(),
            given: plan.problem.given().map(ToString::to_string),
            method: plan.method.name().into(),
            rows: plan.method.parameter().map(|(_, rows)| rows),
            tasks: plan.tasks,
            fingerprint: plan.fingerprint().to_string(),
        }
    }
}

impl TryFrom<PlanText> for Plan {
    type Error = String;

    /// Reads a plan. It fails if there is no such plan, and if its fingerprint is another one here:
    /// then the program that wrote it numbers the tasks in another way.
    fn try_from(text: PlanText) -> Result<Plan, String> {
        let PlanText { problem, n, given, method, rows, tasks, fingerprint } = text;
        let problem = problem_of(&problem, given.as_deref(), n)
            .ok_or_else(|| format!("there is no problem {problem:?} with N = {n}"))?;
        let method = Method::from_name(&method, rows)
            .filter(|method| method.cuts(problem))
            .ok_or_else(|| format!("no method {method:?} cuts {problem}"))?;
        let plan = Plan { problem, method, tasks };
        if plan.fingerprint().to_string() != fingerprint {
            return Err(format!(
                "the other end's fingerprint for the plan {plan} is not ours; run versions of this program that \
                 enumerate tasks alike at both ends"
            ));
        }
        Ok(plan)
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} by {}", self.problem, self.method)
    }
}

/// A plan's identity, 32 bytes. Results under another fingerprint are never mixed.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Fingerprint(pub [u8; 32]);

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        blake3::Hash::from_bytes(self.0).fmt(f)
    }
}

impl fmt::Debug for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", &self.to_string()[..8])
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// Existing ledgers hold such fingerprints.
    #[test]
    fn a_fingerprint_stays_what_it_was() {
        let (problem, method) = (Problem::Total { n: 8 }, Method::Rows { rows: 2 });
        assert_eq!(
            Plan { problem, method, tasks: 21 }.fingerprint().to_string(),
            "699aae3782482f54d2417dc17a1911eb7adac09b9264cb4780a9b3b3c6c3bb32"
        );
    }

    #[test]
    fn no_two_problems_and_no_two_methods_have_one_fingerprint() {
        let given = |queens| {
            let queens = board::squares::parse_squares(queens).expect("they are squares");
            Problem::Completions(board::Given::new(8, &queens).expect("they can stand so"))
        };
        let n = 8;
        let problems = [
            Problem::Total { n },
            Problem::Fundamental { n },
            Problem::Toroidal { n },
            Problem::Superqueens { n },
            given(""),
            given("a1"),
            given("a2"),
            given("a1,b3"),
        ];
        let methods = [
            Method::Rows { rows: 1 },
            Method::Rows { rows: 2 },
            Method::Prefixes { rows: 1 },
            Method::Prefixes { rows: 2 },
            Method::Colours,
        ];
        let plans = problems
            .iter()
            .flat_map(|&problem| methods.map(|method| Plan { problem, method, tasks: 21 }));
        let fingerprints: BTreeSet<_> = plans.map(|plan| plan.fingerprint()).collect();
        assert_eq!(fingerprints.len(), problems.len() * methods.len());
    }
}
