//! The marks of this coordinator's ledger: see [`farm::History`].
//!
//! A mark is given out only once its state is durable, so that a coordinator that is killed and goes on with the same
//! ledger never meets a mark that is later than the ledger.

use farm::{History, LoanKey, Mark, Standing};
use ledger::LedgerFault;
use tokio::sync::watch;

/// What the ledger has been through, and where its latest mark is told.
pub(super) struct Marks {
    key: LoanKey,
    history: History,
    /// The latest mark, sealed; empty if there is none.
    latest: watch::Sender<Vec<u8>>,
    /// Whether the log says that somebody showed a mark with another seal.
    is_foreign_told: bool,
}

impl Marks {
    /// The marks of a ledger with this history.
    pub(super) fn new(key: LoanKey, history: History) -> Marks {
        let marks =
            Marks { key, history, latest: watch::Sender::default(), is_foreign_told: false };
        marks.tell();
        marks
    }

    /// The latest mark, now and when it changes.
    pub(super) fn subscribe(&self) -> watch::Receiver<Vec<u8>> {
        self.latest.subscribe()
    }

    /// A transaction that changed more than counts became durable.
    pub(super) fn decided(&mut self) {
        self.history.decisions += 1;
        self.tell();
    }

    /// Somebody shows the last mark that it was given. Returns what that says of this ledger: of one that is sealed with
    /// another key, it is a mark of another ledger.
    ///
    /// # Errors
    ///
    /// [`LedgerFault::Older`], if it is of a later state of the ledger.
    pub(super) fn shown(&mut self, mark: &[u8], by: &str) -> Result<Standing, LedgerFault> {
        if mark.is_empty() {
            // Who was given none has seen nothing.
            return Ok(Standing::Contained);
        }
        let Some(mark) = Mark::unsealed(mark, &self.key) else {
            if !std::mem::replace(&mut self.is_foreign_told, true) {
                tracing::warn!(
                    by,
                    "somebody shows a mark of a ledger that was sealed with another key than that in \
                    the folder of this ledger's keys: it cannot tell whether this ledger is the latest one"
                );
            }
            return Ok(Standing::OfAnother);
        };
        match self.history.standing(&mark) {
            Standing::Later => {
                let Mark { epoch, decisions, .. } = mark;
                let here = self.history.mark().map_or((0, 0), |own| (own.epoch, own.decisions));
                Err(LedgerFault::Older(format!(
                    "{by} was served with it when it had been opened as number {epoch} and had made {decisions} \
                     decisions; here it is opened as number {} with {} decisions, and those are not among them",
                    here.0, here.1
                )))
            }
            standing => Ok(standing),
        }
    }

    fn tell(&self) {
        let sealed = self.history.mark().map(|mark| mark.sealed(&self.key).to_vec());
        self.latest.send_replace(sealed.unwrap_or_default());
    }
}

#[cfg(test)]
mod tests {
    use farm::{LedgerId, Opening};

    use super::*;

    fn history(decisions: u64) -> History {
        let opening = Opening { epoch: 1, nonce: 5, decisions: 0, gives_up: false };
        History { ledger: LedgerId([1; 16]), openings: vec![opening], decisions }
    }

    #[test]
    fn a_mark_of_a_later_state_stops_the_coordinator_and_others_do_not() {
        let key = LoanKey::new([3; 32]);
        let mut later = Marks::new(key, history(7));
        let mark = |marks: &Marks| marks.subscribe().borrow().clone();
        let early = mark(&later);
        later.decided();
        let late = mark(&later);
        later.shown(&early, "a worker").expect("it is contained");
        later.shown(&late, "a worker").expect("it is its own");

        let mut copy = Marks::new(key, history(7));
        copy.shown(&early, "a worker").expect("it is contained");
        for unknown in [&[][..], &[1, 2, 3], &[0; 52]] {
            copy.shown(unknown, "a worker").expect("anybody could say that");
        }
        let foreign = mark(&Marks::new(LoanKey::new([4; 32]), history(99)));
        copy.shown(&foreign, "a worker").expect("anybody could seal it with another key");
        let fault = copy.shown(&late, "the worker w1").expect_err("it lacks a decision");
        assert!(fault.to_string().contains("the worker w1"), "{fault}");
    }
}
