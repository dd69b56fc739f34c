//! What second counts are worth.
//!
//! ```text
//!   by another machine with another kernel        protects against broken hardware
//!     and by another owner                        protects against an owner that lies, unless the two collude
//!     which signs with the same key               is one owner with two names
//!   by the same kernel, or by somebody whom the
//!   farm itself believes no more                  confirms nothing
//!   a settled dispute                             confirms nothing: it says that somebody was wrong
//! ```

use anyhow::{Result, ensure};
use farm::{Across, Distrusted, Maker};

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
        self.join(Amount { ranges: 1, count: row.claim.count });
    }

    pub(super) fn join(&mut self, more: Amount) {
        self.ranges += more.ranges;
        // The sum over all ranges is checked.
        self.count = self.count.saturating_add(more.count);
    }
}

/// What the second counts of a bundle are worth, as far as its names are true.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Worth {
    /// Counted alike by another machine with another kernel.
    pub by_machine: Amount,
    /// These of them that an owner counted who is another one, too.
    pub by_owner: Amount,
    /// Second counts that are said to be by another owner, but are signed with the key of the first.
    pub same_key: Amount,
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
    /// Notes a range, and whether it is said to be counted twice; `second` is the count that follows it. Returns whether that
    /// confirms it by another owner.
    ///
    /// # Errors
    ///
    /// Says why the second count cannot be one of a farm: it differs, or those who counted may not check each other.
    pub(super) fn note(
        &mut self,
        (first, is_agreed): (&StatedRow, bool),
        second: Option<&StatedRow>,
        authors: &[StatedAuthor],
        (across, distrusted): (Across, &Distrusted),
    ) -> Result<bool> {
        let is_doubted =
            |of: &[&StatedAuthor]| of.iter().any(|one| distrusted.includes(&one.author.maker));
        let ones = of(first, authors);
        let Some(second) = second else {
            if is_agreed {
                self.missing.add(first);
            }
            if is_doubted(&ones) {
                self.only_distrusted.add(first);
            }
            return Ok(false);
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
        let others = of(second, authors);
        let apart = |across| all_apart(&ones, &others, across);
        let (one, other) = (maker(&ones), maker(&others));
        ensure!(
            apart(across),
            "{range} was counted by {one:?} and by {other:?}, who do not check each other",
        );
        if ones.iter().any(|one| others.iter().any(|other| one.kernel == other.kernel)) {
            self.same_kernel.add(first);
        } else if is_doubted(&others) {
            self.by_distrusted.add(first);
        } else {
            self.by_machine.add(first);
            let is_by_owner = apart(Across::Owners);
            if is_by_owner {
                self.by_owner.add(first);
            }
            return Ok(is_by_owner);
        }
        if is_doubted(&ones) {
            self.only_distrusted.add(first);
        }
        Ok(false)
    }

    /// Takes those ranges out of the share of other owners of which one key has signed both counts, because a key has one holder.
    pub(super) fn without_one_key(self, same_key: Amount) -> Worth {
        let Amount { ranges, count } = self.by_owner;
        let by_owner = Amount { ranges: ranges - same_key.ranges, count: count - same_key.count };
        Worth { by_owner, same_key, ..self }
    }
}

fn maker(authors: &[&StatedAuthor]) -> String {
    authors.first().map(|author| author.author.maker.to_string()).unwrap_or_default()
}

/// Whether those who counted first may check those who counted second, and the other way round.
pub(super) fn are_apart(
    first: &StatedRow,
    second: &StatedRow,
    authors: &[StatedAuthor],
    across: Across,
) -> bool {
    all_apart(&of(first, authors), &of(second, authors), across)
}

/// Who has counted a row.
fn of<'a>(row: &StatedRow, authors: &'a [StatedAuthor]) -> Vec<&'a StatedAuthor> {
    row.by.iter().map(|&author| &authors[author as usize]).collect()
}

/// Whether each of the one side may check each of the other.
fn all_apart(ones: &[&StatedAuthor], others: &[&StatedAuthor], across: Across) -> bool {
    let pairs = || ones.iter().flat_map(|one| others.iter().map(move |other| (one, other)));
    let is_apart = |one: &Maker, other: &Maker| one.is_apart_from(other, across);
    pairs().all(|(one, other)| is_apart(&one.author.maker, &other.author.maker))
}
