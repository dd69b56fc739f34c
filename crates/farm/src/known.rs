//! What is known of a job's counts before anybody counts them, and so what cannot be true.
//!
//! ```text
//!   a report     its count is at most tasks x the most that one task can count      or it is refused
//!   a total      it is the published value, and symmetry allows it                  or its job is suspended
//! ```
//!
//! A fact may be wrong as well: somebody may have published another number than the right one, or it was
//! copied wrongly. Therefore every fact names its source.

use std::fmt;

use board::Census;

use crate::Range;

/// What is known of the counts of a plan, or of a slice of it, and of the time that they take.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Known {
    /// Milliseconds that a thread of a slow worker takes for a task on average, by an estimate; 0 if nobody knows.
    pub task_ms: u64,
    /// The most that one task contributes to the sum.
    pub most_per_task: u128,
    /// What the sum over the whole plan must satisfy; nothing for a slice.
    pub facts: Vec<Fact>,
    /// What the sum over the whole plan says.
    pub question: Question,
}

/// What a job asks, and so what the sum over its plan says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Question {
    /// How many placements there are: the sum is the total.
    Placements,
    /// How many there are up to symmetry, on a board of size `n`.
    Orbits {
        /// The size.
        n: u32,
        /// How many placements the half turn fixes.
        half_turn: u64,
        /// How many placements the quarter turn fixes.
        quarter_turn: u64,
    },
    /// A sum of which nothing follows: that of a slice of a plan, or of placements whose symmetry is not known.
    Nothing,
}

impl Question {
    /// The answer, by the sum over the whole plan; `None` if there is none, or if no board has such a sum.
    pub fn answer(self, counted: u128) -> Option<u128> {
        match self {
            Question::Placements => Some(counted),
            Question::Orbits { n, half_turn, quarter_turn } => {
                let census = Census::from_counts(n, counted, half_turn.into(), quarter_turn.into());
                census.ok().map(|census| census.fundamental)
            }
            Question::Nothing => None,
        }
    }
}

/// Something that the sum over all tasks of a problem must satisfy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fact {
    /// Others have counted it.
    Published {
        /// What they have published.
        value: u128,
        /// Where.
        source: &'static str,
    },
    /// The symmetries of the square make orbits of eight placements, but for those that a half turn fixes:
    /// see [`board::Census`].
    Orbits {
        /// How many the half turn fixes.
        fixed: u128,
        /// Where that is published.
        source: &'static str,
    },
    /// Symmetry makes it a multiple of this number: see [`board::symmetry::divisor`].
    Multiple {
        /// More than 1.
        of: u32,
    },
}

impl Known {
    /// Nothing is known: every count may be true.
    pub fn nothing() -> Known {
        Known {
            task_ms: 0,
            most_per_task: u128::MAX,
            facts: Vec::new(),
            question: Question::Placements,
        }
    }

    /// Whether tasks of this range can count so much together.
    #[must_use]
    pub fn allows(&self, range: Range, count: impl Into<u128>) -> bool {
        count.into() <= u128::from(range.len()).saturating_mul(self.most_per_task)
    }

    /// What is wrong with a total, for people; `None` if it contradicts nothing.
    #[must_use]
    pub fn contradiction(&self, total: u128) -> Option<String> {
        Fact::contradiction(&self.facts, total)
    }
}

impl Fact {
    /// What is wrong with a total of which these facts are known, for people; `None` if it contradicts
    /// nothing.
    #[must_use]
    pub fn contradiction(facts: &[Fact], total: u128) -> Option<String> {
        let fact = facts.iter().find(|fact| !fact.allows(total))?;
        Some(format!("the total comes to {total}, but {fact}"))
    }

    /// Whether a total satisfies it.
    #[must_use]
    pub fn allows(&self, total: u128) -> bool {
        match *self {
            Fact::Published { value, .. } => total == value,
            Fact::Orbits { fixed, .. } => {
                total.checked_sub(fixed).is_some_and(|rest| rest.is_multiple_of(8))
            }
            Fact::Multiple { of } => total.is_multiple_of(of.into()),
        }
    }
}

impl fmt::Display for Fact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fact::Published { value, source } => {
                write!(f, "the published value is {value} ({source}, in vectors/counts.json)")
            }
            Fact::Orbits { fixed, source } => write!(
                f,
                "all placements come in orbits of eight, except the {fixed} that a half turn leaves as they \
                 are ({source}, in vectors/counts.json)"
            ),
            Fact::Multiple { of } => write!(f, "symmetry makes the total a multiple of {of}"),
        }
    }
}
