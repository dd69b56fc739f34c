//! A limit of concurrent sessions for each owner.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// The places of each owner. Clones share them.
#[derive(Clone, Debug)]
pub(in crate::coordinator) struct Places {
    most: usize,
    owners: Arc<Mutex<HashMap<String, Arc<Semaphore>>>>,
}

impl Places {
    /// At most `most` places for each owner.
    pub(in crate::coordinator) fn new(most: usize) -> Places {
        Places { most, owners: Arc::default() }
    }

    /// Takes a place for the owner, until the value is dropped. `None` if all of the owner's places are taken.
    pub(in crate::coordinator) fn take(&self, owner: &str) -> Option<OwnedSemaphorePermit> {
        let mut owners = self.owners.lock().unwrap_or_else(PoisonError::into_inner);
        let places = owners.entry(owner.into()).or_insert_with(|| Semaphore::new(self.most).into());
        places.clone().try_acquire_owned().ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_owner_has_so_many_places_and_takes_none_of_another() {
        let places = Places::new(2);
        let first = places.take("ann");
        let second = places.take("ann");
        assert!(first.is_some() && second.is_some());
        assert!(places.take("ann").is_none());
        assert!(places.take("bob").is_some());
        drop(first);
        assert!(places.take("ann").is_some());
    }
}
