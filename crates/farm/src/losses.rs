//! How often an owner's lost processes say something about tasks.
//!
//! A process that is lost casts suspicion on what it held ([`crate::quarantine`]). Whoever holds a credential
//! could end sessions on purpose and so have task after task taken for poison. Therefore an owner's losses
//! count only one at a time, and the pause after which the next one counts doubles with every task that they
//! have poisoned. A task that really kills waits for its turn; a rack that loses power counts once.

use std::collections::BTreeMap;

use crate::Millis;

/// What each owner's losses have done.
#[derive(Debug, Default)]
pub(crate) struct Losses(BTreeMap<String, Record>);

#[derive(Debug, Default)]
struct Record {
    /// When the next loss counts.
    next: Option<Millis>,
    /// Tasks that were taken for poison by losses of this owner.
    poisoned: u32,
}

impl Losses {
    /// The first pause, ms.
    const PAUSE_MS: u64 = 1_000;
    /// Doublings of the pause, at most: to a little more than an hour.
    const DOUBLINGS: u32 = 12;

    /// Whether a loss of this owner counts now. If it does, the next one counts only after a pause.
    pub(crate) fn may_be_recorded(&mut self, owner: &str, now: Millis) -> bool {
        let record = self.0.entry(owner.into()).or_default();
        if record.next.is_some_and(|next| now < next) {
            return false;
        }
        let doublings = record.poisoned.min(Self::DOUBLINGS);
        record.next = Some(now.after(Self::PAUSE_MS << doublings));
        true
    }

    /// A task was taken for poison by a loss of this owner that counted.
    pub(crate) fn poisoned(&mut self, owner: &str) {
        let record = self.0.entry(owner.into()).or_default();
        record.poisoned = record.poisoned.saturating_add(1);
    }

    /// Poisoned tasks get another chance, and so do owners.
    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn losses_count_one_at_a_time_and_less_often_the_more_they_poison() {
        let mut losses = Losses::default();
        let mut poisoned = 0;
        for now in (0..3_600_000).step_by(100) {
            if losses.may_be_recorded("rack7", Millis(now)) {
                losses.poisoned("rack7");
                poisoned += 1;
            }
        }
        assert!((5..15).contains(&poisoned), "{poisoned} tasks in an hour");
    }

    #[test]
    fn the_losses_of_one_owner_do_not_hide_those_of_another() {
        let mut losses = Losses::default();
        assert!(losses.may_be_recorded("rack7", Millis(0)));
        assert!(!losses.may_be_recorded("rack7", Millis(999)));
        assert!(losses.may_be_recorded("rack8", Millis(999)));
        assert!(losses.may_be_recorded("rack7", Millis(1_000)));
    }
}
