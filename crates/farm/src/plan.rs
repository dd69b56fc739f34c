//! Plans: what is counted, and how it is cut into tasks.

use std::fmt;

use board::{Method, Problem};

/// A problem, a method and their parameters: the ordered list of tasks, without the list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
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

    /// Whether the count of each task is reported beside the sums of ranges: see
    /// [`crate::TaskCounts`]. Tasks of the other methods are many and short.
    pub fn reports_tasks(&self) -> bool {
        self.method == Method::Colours
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
