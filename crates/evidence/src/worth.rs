//! What second counts are worth.
//!
//! ```text
//!   by another machine with another kernel        protects against broken hardware
//!     and by another owner                        protects against an owner that lies, unless the two collude
//!   by the same kernel, or by somebody whom the
//!   farm itself believes no more                  confirms nothing; but a machine that miscounts has not confirmed
//!                                                 another owner's count by chance
//!   by machines of one owner alone                is that owner's word
//!   a settled dispute                             confirms nothing: it says that somebody was wrong
//! ```

use anyhow::{Result, ensure};
use farm::{AuditScope, Distrusted, Principal};

use crate::format::{StatedAuthor, StatedRow};

/// A number of ranges, and what they count together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Amount {
    /// How many ranges.
    pub ranges: u64,
    /// The sum of their counts.
    pub count: u128,
}

impl Amount {
    fn add(&mut self, row: &StatedRow) {
        self.ranges += 1;
        // The sum over all ranges is checked.
        self.count = self.count.saturating_add(row.claim.count);
    }
}

/// What the second counts of a bundle are worth, as far as its names are true.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Worth {
    /// Counted alike by another machine with another kernel.
    pub by_machine: Amount,
    /// These of them that an owner counted who is another one, too.
    pub by_owner: Amount,
    /// Second counts by the same kernel, which confirm nothing.
    pub same_kernel: Amount,
    /// Second counts by somebody whom the farm believes no more, which confirm nothing.
    pub by_distrusted: Amount,
    /// Said to be counted twice, but without a second count.
    pub missing: Amount,
    /// Counted only by somebody whom the farm believes no more.
    pub only_distrusted: Amount,
}

impl Worth {
    /// Notes a range, and whether it is said to be counted twice; `second` is the count that
    /// follows it.
    ///
    /// # Errors
    ///
    /// Says why the second count cannot be one of a farm: it differs, or those who counted may not check each other.
    pub(super) fn note(
        &mut self,
        first: &StatedRow,
        is_agreed: bool,
        second: Option<&StatedRow>,
        authors: &[StatedAuthor],
        across: AuditScope,
        distrusted: &Distrusted,
    ) -> Result<()> {
        let is_doubted = |by: &StatedAuthor| distrusted.includes(&by.author.principal);
        let is_void = |first: &Principal, second: &Principal| {
            distrusted.0.iter().any(|party| party.voids(first, second))
        };
        let one = author(first, authors);
        let Some(second) = second else {
            if is_agreed {
                self.missing.add(first);
            }
            if is_doubted(one) {
                self.only_distrusted.add(first);
            }
            return Ok(());
        };
        let range = first.range;
        ensure!(
            is_agreed,
            "there is a second count of {range}, but the bundle does not say that it was counted twice"
        );
        ensure!(
            second.range == range && first.claim == second.claim,
            "the second count of {range} differs from the first, although the bundle says that they agree"
        );
        let other = author(second, authors);
        let (principal, other_principal) = (&one.author.principal, &other.author.principal);
        ensure!(
            principal.is_apart_from(other_principal, across),
            "{range} was counted by {principal:?} and by {other_principal:?}, who do not check each other",
        );
        if one.kernel == other.kernel {
            self.same_kernel.add(first);
        } else if is_void(principal, other_principal) {
            self.by_distrusted.add(first);
        } else {
            self.by_machine.add(first);
            if principal.is_apart_from(other_principal, AuditScope::Owners) {
                self.by_owner.add(first);
            }
            return Ok(());
        }
        if is_doubted(one) {
            self.only_distrusted.add(first);
        }
        Ok(())
    }
}

/// Who has counted a row.
fn author<'a>(row: &StatedRow, authors: &'a [StatedAuthor]) -> &'a StatedAuthor {
    &authors[row.by as usize]
}
