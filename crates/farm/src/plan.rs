//! Plans: what is counted, and how it is cut into tasks.

use std::fmt;

/// What is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Problem {
    /// All placements of `n` queens on an `n` x `n` board, none attacking another (A000170).
    Total {
        /// Board size, 0 to 32.
        n: u32,
    },
}

impl Problem {
    /// The problem's name in messages, ledgers and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Problem::Total { .. } => "total",
        }
    }

    /// Board size.
    pub fn n(self) -> u32 {
        match self {
            Problem::Total { n } => n,
        }
    }
}

/// How a problem is cut and counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Method {
    /// A task is the state after the first `rows` rows; the rest is searched (the seed design).
    Rows {
        /// M, 0 to N.
        rows: u32,
    },
}

impl Method {
    /// The method's name in messages, ledgers and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Method::Rows { .. } => "rows",
        }
    }

    /// M, the number of rows that a task has placed.
    pub fn rows(self) -> u32 {
        match self {
            Method::Rows { rows } => rows,
        }
    }
}

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
    /// The name under which coordinator, worker, ledger and strangers know this plan: BLAKE3 over
    /// everything that decides what the ordinals mean.
    pub fn fingerprint(&self) -> Fingerprint {
        let identity = format!(
            "queens plan; enumeration {}; problem {}; n {}; method {}; rows {}; tasks {}",
            board::ENUMERATION_VERSION,
            self.problem.name(),
            self.problem.n(),
            self.method.name(),
            self.method.rows(),
            self.tasks,
        );
        Fingerprint(*blake3::hash(identity.as_bytes()).as_bytes())
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} N={} by {} M={}",
            self.problem.name(),
            self.problem.n(),
            self.method.name(),
            self.method.rows()
        )
    }
}

/// A plan's identity, 32 bytes. Results under another fingerprint are never mixed.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Fingerprint(pub [u8; 32]);

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", &self.to_string()[..8])
    }
}
