//! Measures where the time of tasks goes, and draws blocks that stand for all.

pub(crate) mod draws;
pub(crate) mod phases;

use self::draws::Draws;
use self::phases::Phases;

/// What is measured while tasks are counted.
pub(crate) struct Gauges {
    /// The time of each phase.
    pub(crate) phases: Phases,
    /// Which blocks are joined.
    pub(crate) draws: Draws,
}

impl Default for Gauges {
    fn default() -> Gauges {
        Gauges { phases: Phases::default(), draws: Draws::ALL }
    }
}
