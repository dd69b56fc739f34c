//! Sums up what the second counts of a bundle confirm.
//!
//! ```text
//!   by another machine with another kernel    protects against broken hardware
//!     and by another owner                    protects against an owner that lies, unless both
//!                                             collude
//!   by the same kernel                        confirms nothing: a fault of the kernel is in both
//!   by a distrusted owner, or by a            confirms nothing
//!     distrusted machine of the same owner
//!   by machines of one owner alone            rests on the word of that owner
//!   a settled dispute                         confirms nothing: one of the two was wrong
//! ```
//!
//! A distrusted machine still confirms the counts of other owners: if it miscounts, it finds an
//! equal count only by chance.

use anyhow::{Result, ensure};
use farm::{AuditScope, Distrusted};

use crate::format::{StatedAuthor, StatedRow};

/// A number of ranges and their count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Amount {
    /// Number of ranges.
    pub ranges: u64,
    /// The sum of their counts.
    pub count: u128,
}

impl Amount {
    pub(super) fn add(&mut self, row: &StatedRow) {
        self.ranges += 1;
        // The sum over all ranges is checked elsewhere.
        self.count = self.count.saturating_add(row.result.count);
    }
}

/// The sums over the second counts of a bundle. They are correct if the bundle names owners and
/// machines correctly.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Confirmations {
    /// Ranges that another machine confirmed with another kernel.
    pub by_machine: Amount,
    /// The part of `by_machine` that another owner confirmed.
    pub by_owner: Amount,
    /// Ranges that were counted twice according to the bundle, but have no second count, or one
    /// that confirms nothing: by the same kernel, or by a distrusted principal.
    pub unconfirmed: Amount,
    /// Ranges that were counted only by distrusted principals.
    pub only_distrusted: Amount,
}

impl Confirmations {
    /// Adds a range. `is_agreed` says whether the bundle calls the range counted twice, and
    /// `second` is the second count that follows the range. It fails if no farm accepts such a
    /// second count, because it differs from the first one, or because its author may not check the
    /// author of the first one.
    pub(super) fn note(
        &mut self,
        first: &StatedRow,
        is_agreed: bool,
        second: Option<&StatedRow>,
        authors: &[StatedAuthor],
        across: AuditScope,
        distrusted: &Distrusted,
    ) -> Result<()> {
        let one = &authors[first.by as usize];
        let mut is_confirmed = false;
        if let Some(second) = second {
            let range = first.range;
            ensure!(
                is_agreed,
                "there is a second count of {range}, but the bundle does not say that it was counted twice"
            );
            ensure!(
                second.range == range && first.result == second.result,
                "the second count of {range} differs from the first, although the bundle says that they agree"
            );
            let other = &authors[second.by as usize];
            let [principal, other_principal] = [one, other].map(|it| &it.provenance.principal);
            ensure!(
                principal.is_apart_from(other_principal, across),
                "{range} was counted by {principal:?} and by {other_principal:?}, who do not check each other",
            );
            let is_void = distrusted.0.iter().any(|party| party.voids(principal, other_principal));
            is_confirmed = one.kernel != other.kernel && !is_void;
            if is_confirmed && principal.is_apart_from(other_principal, AuditScope::Owners) {
                self.by_owner.add(first);
            }
        }
        if is_confirmed {
            self.by_machine.add(first);
            return Ok(());
        }
        if is_agreed {
            self.unconfirmed.add(first);
        }
        if distrusted.includes(&one.provenance.principal) {
            self.only_distrusted.add(first);
        }
        Ok(())
    }
}
