//! Where the time of tasks goes.

use std::fmt;
use std::time::{Duration, Instant};

/// A step of the method `halves`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Quarter-boards are placed and numbered.
    Quarters,
    /// The code of a split is chosen from a sample of its half-boards.
    Code,
    /// Pairs of quarter-boards become half-boards, and their keys are read.
    Lists,
    /// Half-boards are sorted into buckets, and filtered for a task.
    Buckets,
    /// Upper half-boards are gathered in blocks, and their tables are made.
    Blocks,
    /// Lanes are opened to lower half-boards, and these are looked up.
    Join,
    /// Tied upper half-boards are compared one by one.
    Ties,
}

impl Phase {
    /// All phases, in their order.
    pub const ALL: [Phase; 7] = [
        Phase::Quarters,
        Phase::Code,
        Phase::Lists,
        Phase::Buckets,
        Phase::Blocks,
        Phase::Join,
        Phase::Ties,
    ];
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Phase::Quarters => "quarters",
            Phase::Code => "code",
            Phase::Lists => "lists",
            Phase::Buckets => "buckets",
            Phase::Blocks => "blocks",
            Phase::Join => "join",
            Phase::Ties => "ties",
        })
    }
}

/// The time that each phase took, if somebody wants to know.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Phases {
    /// The end of the phase before. Nothing is measured without it.
    since: Option<Instant>,
    times: [Duration; Phase::ALL.len()],
}

impl Phases {
    /// Starts to measure, from zero.
    pub(crate) fn start(&mut self) {
        *self = Phases { since: Some(Instant::now()), ..Phases::default() };
    }

    /// Counts the time since the phase before as this phase's.
    #[inline]
    pub(crate) fn end(&mut self, phase: Phase) {
        if let Some(since) = &mut self.since {
            let now = Instant::now();
            self.times[phase as usize] += now - *since;
            *since = now;
        }
    }

    /// The time of each phase since the start; `None` if nothing is measured.
    pub(crate) fn times(&self) -> Option<[(Phase, Duration); Phase::ALL.len()]> {
        self.since.map(|_| Phase::ALL.map(|phase| (phase, self.times[phase as usize])))
    }
}
