//! Which ledger a coordinator has, and whether a later state of it was served before.
//!
//! ```text
//!   ledger   opened 1 ──── opened 2 ──── decides, decides ──── a worker keeps the mark (2, 2 decisions)
//!                              └─ copy ── opened 3 ── the worker shows its mark: the copy lacks two decisions
//! ```
//!
//! A ledger can be copied, and its copy can be served after the ledger itself went on. Counts that the copy lacks are
//! only counted again. But it also lacks what was decided since: whom nobody believes any more, how a dispute ended,
//! which credential was revoked. So a coordinator gives workers and clients a [`Mark`] of what is durable, and they
//! show the latest one whenever they connect. A mark that the ledger's own [`History`] does not contain proves that
//! there is a later state. Nobody can invent one, because it is sealed with the farm's key.
//!
//! Two stand-bys may take over from one coordinator at a time, and neither of their ledgers contains what the other one
//! decides. Which of them goes on is decided by their [`Term`]s, of which one is the later one for everybody.

use std::fmt;

use crate::{LoanKey, hexadecimal};

/// The identity of a ledger, which its copies share.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LedgerId(pub [u8; 16]);

/// What an opening begins that gives up later states, as taking over does. The openings after it belong to it until the next
/// one that does. Of two terms the later one goes on: that of the higher opening; of the same number, the one that knew
/// of more decisions; and if these are as many, chance decides.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Term {
    /// The number of the opening that began it; 0 if there was none.
    pub epoch: u32,
    /// How many transactions with decisions the ledger had seen before, as far as that can be told.
    pub decisions: u32,
    /// A random number.
    pub chance: u32,
}

/// A durable state of a ledger.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Mark {
    /// The ledger.
    pub ledger: LedgerId,
    /// The number of the opening.
    pub epoch: u32,
    /// What tells the opening from one of the same number of a copy.
    pub nonce: u64,
    /// How many transactions with decisions the ledger had seen in all.
    pub decisions: u64,
    /// The term of the opening.
    pub term: Term,
}

/// One opening of a ledger.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Opening {
    /// Its number. Numbers rise, and may leave some out.
    pub epoch: u32,
    /// What tells it from an opening of the same number of a copy.
    pub nonce: u64,
    /// How many transactions with decisions the ledger had seen before.
    pub decisions: u64,
    /// Whether all states with lower numbers that the ledger does not contain were given up.
    pub gives_up: bool,
}

/// All openings of a ledger.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct History {
    /// The ledger.
    pub ledger: LedgerId,
    /// The openings, the oldest first.
    pub openings: Vec<Opening>,
    /// How many transactions with decisions it has seen.
    pub decisions: u64,
}

/// What a mark says about the ledger that it is shown to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// The ledger contains this state.
    Contained,
    /// The ledger does not contain this state, which was given up when somebody took over or served an older copy.
    GivenUp,
    /// It is a state of another ledger.
    OfAnother,
    /// The ledger does not contain this state: it is an older copy of the one that was marked.
    Later,
}

impl Mark {
    /// Bytes of a sealed mark.
    pub const LEN: usize = 64;
    /// Bytes of one of earlier versions.
    const LEN_BEFORE: usize = 52;
    /// Bytes of the seal.
    const SEAL: usize = 16;

    /// The mark as it is sent: ledger, epoch, nonce, decisions and the three numbers of the term, numbers lowest byte first,
    /// and a keyed hash over them.
    #[must_use]
    pub fn sealed(&self, key: &LoanKey) -> [u8; Mark::LEN] {
        let mut bytes = [0; Mark::LEN];
        bytes[..16].copy_from_slice(&self.ledger.0);
        bytes[16..20].copy_from_slice(&self.epoch.to_le_bytes());
        bytes[20..28].copy_from_slice(&self.nonce.to_le_bytes());
        bytes[28..36].copy_from_slice(&self.decisions.to_le_bytes());
        let Term { epoch, decisions, chance } = self.term;
        for (at, number) in [epoch, decisions, chance].into_iter().enumerate() {
            let at = 36 + 4 * at;
            bytes[at..at + 4].copy_from_slice(&number.to_le_bytes());
        }
        let (sealed, seal) = bytes.split_at_mut(Mark::LEN - Mark::SEAL);
        seal.copy_from_slice(&key.seal_mark(sealed));
        bytes
    }

    /// The mark that was sent as these bytes. `None` if it was not sealed with `key`.
    #[must_use]
    pub fn unsealed(bytes: &[u8], key: &LoanKey) -> Option<Mark> {
        let (sealed, seal) = bytes.split_last_chunk::<{ Mark::SEAL }>()?;
        // Whether all bytes are alike takes the same time wherever they differ.
        if blake3::hash(&key.seal_mark(sealed)) != blake3::hash(seal) {
            return None;
        }
        let long = |at: usize| u64::from_le_bytes(sealed[at..at + 8].try_into().expect("eight"));
        let short = |at: usize| u32::from_le_bytes(sealed[at..at + 4].try_into().expect("four"));
        let term = match bytes.len() {
            Mark::LEN => Term { epoch: short(36), decisions: short(40), chance: short(44) },
            // An earlier version tells no term. It went by the number of the opening.
            Mark::LEN_BEFORE => Term { epoch: short(16), ..Term::default() },
            _ => return None,
        };
        let ledger = LedgerId(sealed[..16].try_into().expect("sixteen"));
        Some(Mark { ledger, epoch: short(16), nonce: long(20), decisions: long(28), term })
    }
}

impl Opening {
    /// The term that it begins, if it gives up later states.
    fn term(&self) -> Term {
        Term {
            epoch: self.epoch,
            decisions: u32::try_from(self.decisions).unwrap_or(u32::MAX),
            // A nonce has 63 bits.
            chance: (self.nonce >> 31) as u32,
        }
    }
}

impl History {
    /// The state that the ledger is in. `None` if it was never opened.
    #[must_use]
    pub fn mark(&self) -> Option<Mark> {
        let Opening { epoch, nonce, .. } = *self.openings.last()?;
        let decisions = self.decisions;
        Some(Mark { ledger: self.ledger, epoch, nonce, decisions, term: self.term() })
    }

    /// What a mark says about this ledger.
    #[must_use]
    pub fn standing(&self, mark: &Mark) -> Standing {
        if mark.ledger != self.ledger {
            return Standing::OfAnother;
        }
        if self.contains(mark) {
            return Standing::Contained;
        }
        if mark.term < self.term() { Standing::GivenUp } else { Standing::Later }
    }

    /// The term that the ledger is in.
    fn term(&self) -> Term {
        let latest = self.openings.iter().rfind(|opening| opening.gives_up);
        latest.map(Opening::term).unwrap_or_default()
    }

    /// Whether the ledger has been in this state.
    fn contains(&self, mark: &Mark) -> bool {
        let ends = self.openings.iter().skip(1).map(|next| next.decisions);
        let mut lives = self.openings.iter().zip(ends.chain([self.decisions]));
        lives.any(|(opening, end)| {
            (opening.epoch, opening.nonce) == (mark.epoch, mark.nonce) && mark.decisions <= end
        })
    }
}

impl fmt::Display for LedgerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        hexadecimal::write(f, &self.0)
    }
}

impl std::str::FromStr for LedgerId {
    type Err = std::num::ParseIntError;

    fn from_str(text: &str) -> Result<LedgerId, Self::Err> {
        u128::from_str_radix(text, 16).map(|number| LedgerId(number.to_be_bytes()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: LoanKey = LoanKey::new([7; 32]);

    fn opened(history: &History, nonce: u64, gives_up: bool) -> History {
        let last = history.openings.last().map_or(0, |opening| opening.epoch);
        let epoch = if gives_up { last + 1_000 } else { last + 1 };
        let mut history = history.clone();
        let decisions = history.decisions;
        history.openings.push(Opening { epoch, nonce, decisions, gives_up });
        history
    }

    fn decided(history: &History) -> History {
        History { decisions: history.decisions + 1, ..history.clone() }
    }

    fn mark(history: &History) -> Mark {
        history.mark().expect("it was opened")
    }

    #[test]
    fn a_ledger_contains_all_of_its_own_states_and_a_copy_not_the_later_ones() {
        let first = opened(&History::default(), 11, false);
        let decided_once = decided(&first);
        let second = decided(&opened(&decided_once, 12, false));
        for state in [&first, &decided_once, &second] {
            assert_eq!(second.standing(&mark(state)), Standing::Contained);
        }

        // A copy of the first state, before and after it is opened.
        for copy in [first.clone(), opened(&first, 13, false), decided(&opened(&first, 13, false))]
        {
            assert_eq!(copy.standing(&mark(&first)), Standing::Contained);
            assert_eq!(copy.standing(&mark(&decided_once)), Standing::Later);
            assert_eq!(copy.standing(&mark(&second)), Standing::Later, "of the same number");
        }
        let other = History { ledger: LedgerId([1; 16]), ..second.clone() };
        assert_eq!(second.standing(&mark(&other)), Standing::OfAnother);
    }

    #[test]
    fn later_states_can_be_given_up_and_the_next_ones_are_noticed() {
        let first = opened(&History::default(), 11, false);
        let lost = decided(&opened(&decided(&first), 12, false));
        let restored = opened(&first, 13, true);
        assert_eq!(restored.standing(&mark(&lost)), Standing::GivenUp);
        assert_eq!(restored.standing(&mark(&first)), Standing::Contained, "it goes on from there");

        let went_on = decided(&opened(&restored, 14, false));
        assert_eq!(went_on.standing(&mark(&lost)), Standing::GivenUp);
        assert_eq!(restored.standing(&mark(&went_on)), Standing::Later);
    }

    /// One line of openings after another one, which both begin with `first`, as coordinators do that take over, decide, and are
    /// started again.
    fn taken_over(first: &History, nonce: u64, restarts: u64) -> History {
        let taken = decided(&opened(first, nonce, true));
        (0..restarts)
            .fold(taken, |line, restart| decided(&opened(&line, nonce + 1 + restart, false)))
    }

    #[test]
    fn of_two_that_take_over_at_the_same_moment_the_same_one_ends_whatever_it_is_shown() {
        let first = decided(&opened(&History::default(), 11, false));
        let nonces = [5 << 31, 9 << 31];
        for restarts in [[0, 0], [0, 3], [3, 0], [2, 3]] {
            let lines = [0, 1].map(|at| {
                let states = 0..=restarts[at];
                states.map(|times| taken_over(&first, nonces[at], times)).collect::<Vec<_>>()
            });
            for lower in &lines[0] {
                for higher in &lines[1] {
                    assert_eq!(lower.standing(&mark(higher)), Standing::Later);
                    assert_eq!(higher.standing(&mark(lower)), Standing::GivenUp);
                }
            }
        }
    }

    #[test]
    fn who_knew_of_more_decisions_goes_on() {
        let first = opened(&History::default(), 11, false);
        let lagging = taken_over(&first, 9 << 31, 1);
        let whole = taken_over(&decided(&first), 5 << 31, 0);
        assert_eq!(lagging.standing(&mark(&whole)), Standing::Later);
        assert_eq!(whole.standing(&mark(&lagging)), Standing::GivenUp);
    }

    #[test]
    fn a_mark_of_an_earlier_version_is_understood() {
        let first = decided(&opened(&History::default(), 11, false));
        let sealed_before = |history: &History| {
            let mut bytes = mark(history).sealed(&KEY)[..Mark::LEN_BEFORE - Mark::SEAL].to_vec();
            bytes.extend(KEY.seal_mark(&bytes));
            Mark::unsealed(&bytes, &KEY).expect("it has a seal")
        };
        let later = decided(&opened(&first, 12, false));
        assert_eq!(later.standing(&sealed_before(&first)), Standing::Contained);
        assert_eq!(first.standing(&sealed_before(&later)), Standing::Later);
        let taken = taken_over(&first, 13, 0);
        assert_eq!(taken.standing(&sealed_before(&later)), Standing::GivenUp);
        assert_eq!(later.standing(&sealed_before(&taken)), Standing::Later);
        assert_eq!(taken.standing(&sealed_before(&taken_over(&taken, 14, 0))), Standing::Later);
    }

    #[test]
    fn a_mark_arrives_as_it_was_sealed_and_cannot_be_invented() {
        let term = Term { epoch: 7, decisions: 8, chance: 9 };
        let mark = Mark { ledger: LedgerId([3; 16]), epoch: 4, nonce: 5, decisions: 6, term };
        assert_eq!(
            mark.sealed(&KEY).len(),
            crate::Hello::MAX_MARK,
            "earlier versions refuse longer ones"
        );
        let sealed = mark.sealed(&KEY);
        assert_eq!(Mark::unsealed(&sealed, &KEY), Some(mark));
        assert_eq!(Mark::unsealed(&sealed, &LoanKey::new([8; 32])), None);
        assert_eq!(Mark::unsealed(&sealed[1..], &KEY), None);
        for at in 0..Mark::LEN {
            let mut altered = sealed;
            altered[at] ^= 1;
            assert_eq!(Mark::unsealed(&altered, &KEY), None, "byte {at}");
        }
    }

    #[test]
    fn the_name_of_a_ledger_is_read_back() {
        let id = LedgerId([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 255]);
        assert_eq!(id.to_string(), "000102030405060708090a0b0c0d0eff");
        assert_eq!(id.to_string().parse(), Ok(id));
    }
}
