//! What every store of rows must do.

use farm::{LedgerAnswer, LedgerCommand, Restored};

/// A store behind the farm's rules.
pub trait Subject {
    /// Executes commands in order, all of them or none.
    ///
    /// # Errors
    ///
    /// Why one of them does not fit the rows.
    fn apply(&mut self, commands: &[LedgerCommand]) -> Result<Vec<LedgerAnswer>, String>;
    /// What a farm would go on from. The epoch and the memory that threads need are left at 0.
    fn restored(&mut self) -> Restored;
}
