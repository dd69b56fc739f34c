//! Who pays for what connections cost: an owner for all connections with its credentials, or, where no
//! credential is needed, an address for all of its connections.
//!
//! What a payer has left is remembered after its last connection has ended, until it would have everything
//! again, so that nobody gains by connecting anew.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex};

use tokio::time::Instant;

use super::allowance::Pool;
use super::budget::Budget;

/// Who pays.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Payer {
    /// The owner of a credential.
    Owner(String),
    /// An address where no credential is needed; of IPv6 the first half, because one machine has all of the rest.
    Address(IpAddr),
}

impl Payer {
    /// The payer for connections without a credential from this address.
    pub(super) fn at(address: IpAddr) -> Payer {
        Payer::Address(match address.to_canonical() {
            IpAddr::V6(address) => IpAddr::V6((address.to_bits() >> 64 << 64).into()),
            address => address,
        })
    }
}

/// What a payer has for all of its connections.
#[derive(Clone, Debug, Default)]
pub(super) struct Purse {
    /// For what is read, and for messages of sessions.
    pub(super) pool: Pool,
    /// For requests.
    pub(super) budget: Budget,
}

impl Purse {
    /// Whether no connection uses it, and a new purse would be no better.
    fn is_as_new(&self, now: Instant) -> bool {
        self.pool.is_as_new(now) && self.budget.is_as_new(now)
    }
}

/// The purses of all payers.
#[derive(Clone, Debug, Default)]
pub(super) struct Payers(Arc<Mutex<HashMap<Payer, Purse>>>);

impl Payers {
    /// The number of purses above which those that are as new are forgotten.
    const MOST: usize = 4_096;

    /// The purse of a payer.
    pub(super) fn purse(&self, payer: Payer) -> Purse {
        let mut purses = self.0.lock().expect("nobody panics while holding it");
        if purses.len() >= Payers::MOST && !purses.contains_key(&payer) {
            let now = Instant::now();
            purses.retain(|_, purse| !purse.is_as_new(now));
        }
        purses.entry(payer).or_default().clone()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::coordinator::budget::Cost;

    fn owner(number: usize) -> Payer {
        Payer::Owner(format!("owner {number}"))
    }

    #[tokio::test(start_paused = true)]
    async fn who_connects_anew_has_no_more_than_before() {
        let payers = Payers::default();
        payers.purse(owner(1)).budget.spend(Cost::Jobs(10_000));

        let begun = Instant::now();
        payers.purse(owner(1)).budget.begin_request().await;
        assert!(begun.elapsed() > Duration::from_secs(1), "{:?}", begun.elapsed());

        let begun = Instant::now();
        payers.purse(owner(2)).budget.begin_request().await;
        assert_eq!(begun.elapsed(), Duration::ZERO, "others have their own");
    }

    #[tokio::test(start_paused = true)]
    async fn only_purses_that_are_as_new_are_forgotten() {
        let payers = Payers::default();
        let held = |payers: &Payers| payers.0.lock().expect("nobody panics").len();
        for number in 0..10 {
            payers.purse(owner(number)).budget.spend(Cost::Jobs(10_000));
        }
        (10..2 * Payers::MOST).for_each(|number| drop(payers.purse(owner(number))));
        assert!(held(&payers) <= Payers::MOST, "{}", held(&payers));
        let begun = Instant::now();
        payers.purse(owner(9)).budget.begin_request().await;
        assert!(begun.elapsed() > Duration::from_secs(1), "it is remembered");
    }

    #[test]
    fn a_machine_is_one_payer() {
        let at = |text: &str| Payer::at(text.parse().expect("it is an address"));
        assert_eq!(at("2001:db8::1"), at("2001:db8::ffff:2"));
        assert_ne!(at("2001:db8::1"), at("2001:db8:0:1::1"));
        assert_eq!(at("10.0.0.1"), at("::ffff:10.0.0.1"));
        assert_ne!(at("10.0.0.1"), at("10.0.0.2"));
    }
}
