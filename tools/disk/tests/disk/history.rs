//! A history of one ledger: its lives, what is written in each, and what befalls it.

use disk::{End, LedgerOnDisk};
use histories::{Both, Random, mix};

use crate::clients;
use crate::tally::Tally;

pub struct History {
    random: Random,
    pub(super) ledger: LedgerOnDisk,
    pub(super) tally: Tally,
}

impl History {
    pub fn new(seed: u64, traced: bool) -> History {
        let mut random = Random::new(mix(seed));
        let ledger = LedgerOnDisk::new(&mut random, traced);
        History { random, ledger, tally: Tally::default() }
    }

    /// Lives through all of it.
    ///
    /// # Panics
    ///
    /// If anything is not as it should be.
    pub fn live(mut self) -> Both<disk::Tally, Tally> {
        // A ledger that was refused has no more lives.
        let finished = self.lives().and_then(|()| self.last_life());
        self.tally.finished += u64::from(finished.is_ok());
        Both(self.ledger.tally(), self.tally)
    }

    fn lives(&mut self) -> Result<(), End> {
        for _ in 0..self.random.between(2, 5) {
            self.ledger.plan_trouble(&mut self.random, 3);
            match self.life() {
                Ok(true) => {}
                Ok(false) | Err(End::Failed) => self.ledger.die(&mut self.random),
                Err(End::Refused) => return Err(End::Refused),
            }
            self.ledger.befall(&mut self.random)?;
        }
        self.ledger.calm();
        Ok(())
    }

    /// A life of the coordinator. Returns whether it came to a good end.
    fn life(&mut self) -> Result<bool, End> {
        self.ledger.open()?;
        for _ in 0..self.random.scaled(1, 12) {
            // What fits a ledger that holds something else nobody knows.
            if self.ledger.is_mixed() {
                break;
            }
            let batch = clients::batch(&mut self.random, self.ledger.present());
            self.ledger.write(batch)?;
        }
        if !self.random.percent(30) {
            return Ok(false);
        }
        self.ledger.close()?;
        // It may have been stopped where nothing depended on it any more.
        Ok(!(self.ledger.has_failed() || self.random.percent(50)))
    }
}
