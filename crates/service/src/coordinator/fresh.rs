//! What is made for readers is made once for all of them.

use std::collections::HashMap;
use std::hash::Hash;
use std::time::Duration;

use tokio::sync::Mutex;
use tokio::time::Instant;

/// How long something that was made is shown to further readers, unless something was changed.
const FRESH: Duration = Duration::from_secs(1);

/// The most values that are kept. Whoever asks for more at a time has them made again.
const MOST: usize = 256;

/// Values by their keys, each with when it was made and after how many changes.
#[derive(Debug)]
pub(super) struct Fresh<K, V>(Mutex<HashMap<K, (Instant, u64, V)>>);

impl<K, V> Default for Fresh<K, V> {
    fn default() -> Fresh<K, V> {
        Fresh(Mutex::default())
    }
}

impl<K: Eq + Hash, V: Clone> Fresh<K, V> {
    /// The value of `key`. It is made again if there is none that is fresh, and if there were other
    /// `changes` when it was made, so that a client finds what it was told before. Callers that
    /// come while it is being made wait for it, so that nothing is made twice.
    pub(super) async fn get<E>(
        &self,
        key: K,
        changes: u64,
        make: impl Future<Output = Result<V, E>>,
    ) -> Result<V, E> {
        let mut values = self.0.lock().await;
        let now = Instant::now();
        values.retain(|_, &mut (at, after, _)| now.duration_since(at) < FRESH && after >= changes);
        if let Some((.., value)) = values.get(&key) {
            return Ok(value.clone());
        }
        let value = make.await?;
        if values.len() >= MOST {
            values.clear();
        }
        values.insert(key, (now, changes, value.clone()));
        Ok(value)
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_value_is_made_once_a_second_however_many_ask() {
        let (values, made) = (Fresh::default(), AtomicU32::new(0));
        let make = || async { Ok::<_, Infallible>(made.fetch_add(1, Ordering::Relaxed)) };
        for second in 0..3 {
            for _ in 0..200 {
                assert_eq!(values.get("page", 0, make()).await, Ok(second));
                tokio::time::sleep(FRESH / 400).await;
            }
            tokio::time::sleep(FRESH).await;
        }
        assert_eq!(values.0.lock().await.len(), 1);
        values.get("other", 0, make()).await.expect("it cannot fail");
        assert_eq!(values.0.lock().await.len(), 1, "what nobody looks at is forgotten");
    }

    #[tokio::test(start_paused = true)]
    async fn a_value_that_was_made_before_a_change_is_made_again() {
        let (values, made) = (Fresh::default(), AtomicU32::new(0));
        let make = || async { Ok::<_, Infallible>(made.fetch_add(1, Ordering::Relaxed)) };
        for (changes, expected) in [(0, 0), (0, 0), (1, 1), (1, 1), (3, 2)] {
            assert_eq!(values.get("page", changes, make()).await, Ok(expected));
        }
    }
}
