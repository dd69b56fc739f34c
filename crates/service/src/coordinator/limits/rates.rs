//! A rate limit for each of many keys, by the token buckets of the crate `ratelimit`.

use std::collections::HashMap;
use std::hash::Hash;
use std::net::IpAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ratelimit::{Ratelimiter, TryWaitError};

/// Counts the actions of each key. Clones count together.
#[derive(Clone, Debug)]
pub(in crate::coordinator) struct Rates<K> {
    buckets: Arc<Mutex<HashMap<K, Ratelimiter>>>,
    per_second: u32,
    at_once: u32,
}

impl<K: Clone + Eq + Hash> Rates<K> {
    /// The number of keys at which those that have done nothing lately are forgotten.
    const MOST: usize = 16_384;

    /// At most `per_second` a second and `at_once` at once for each key. Neither is 0.
    pub(in crate::coordinator) fn new(per_second: u32, at_once: u32) -> Rates<K> {
        assert!(per_second > 0 && at_once > 0, "a rate is not 0");
        Rates { buckets: Arc::default(), per_second, at_once }
    }

    /// Counts one more, unless it is one too many.
    pub(in crate::coordinator) fn allow(&self, key: &K) -> bool {
        self.take(key).is_ok()
    }

    /// Counts one more, as soon as it is not one too many.
    pub(in crate::coordinator) async fn wait(&self, key: &K) {
        while let Err(pause) = self.take(key) {
            tokio::time::sleep(pause).await;
        }
    }

    /// Counts one more, or returns the time to wait.
    fn take(&self, key: &K) -> Result<(), Duration> {
        let mut buckets = self.buckets.lock().expect("nothing panics while it is locked");
        if !buckets.contains_key(key) {
            let most = u64::from(self.at_once);
            if buckets.len() >= Self::MOST {
                // A bucket that is full forgets nothing by being made anew.
                buckets.retain(|_, bucket| bucket.try_wait_n(most).is_err());
            }
            let bucket = Ratelimiter::builder(self.per_second.into());
            let bucket = bucket.max_tokens(most).initial_available(most).build();
            buckets.insert(key.clone(), bucket.expect("no rate is 0"));
        }
        buckets[key].try_wait().map_err(|error| match error {
            TryWaitError::Insufficient(pause) => pause,
            _ => Duration::from_secs(1),
        })
    }
}

/// The key of the machine with this address. For IPv6 it is the first half, because one machine has all of the rest.
pub(in crate::coordinator) fn machine(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => IpAddr::V6((address.to_bits() >> 64 << 64).into()),
        address => address,
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;

    #[tokio::test]
    async fn what_is_too_much_of_one_waits_or_is_refused_and_others_have_their_own() {
        let rates = Rates::new(20, 3);
        assert!((0..3).all(|_| rates.allow(&"ann")));
        assert!(!rates.allow(&"ann"), "a fourth at once");
        assert!(rates.allow(&"bob"));

        let begun = Instant::now();
        rates.wait(&"bob").await;
        assert!(begun.elapsed() < Duration::from_millis(40), "{:?}", begun.elapsed());
        rates.wait(&"ann").await;
        rates.wait(&"ann").await;
        assert!(begun.elapsed() >= Duration::from_millis(50), "{:?}", begun.elapsed());
    }

    #[test]
    fn who_was_there_long_ago_is_forgotten() {
        let rates = Rates::new(1_000_000, 1);
        for key in 0..2 * Rates::<usize>::MOST {
            rates.allow(&key);
        }
        std::thread::sleep(Duration::from_millis(1));
        rates.allow(&usize::MAX);
        let known = rates.buckets.lock().expect("nothing has panicked").len();
        assert!(known <= Rates::<usize>::MOST, "{known}");
    }

    #[test]
    fn a_machine_is_one_address() {
        let at = |text: &str| machine(text.parse().expect("it is an address"));
        assert_eq!(at("2001:db8::1"), at("2001:db8::ffff:2"));
        assert_ne!(at("2001:db8::1"), at("2001:db8:0:1::1"));
        assert_eq!(at("10.0.0.1"), at("::ffff:10.0.0.1"));
        assert_ne!(at("10.0.0.1"), at("10.0.0.2"));
    }
}
