//! Logins: who a browser's cookie belongs to. They are gone when the coordinator ends.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use tokio::time::Instant;

use crate::Token;
use crate::coordinator::Identity;

/// How long a login lasts.
pub(super) const LIFETIME: Duration = Duration::from_hours(12);
/// The most logins with one credential; the oldest ends when there would be more.
const MOST: usize = 32;

/// All logins, by the BLAKE3 hashes of their secrets.
#[derive(Clone, Default)]
pub(super) struct Logins(Arc<Mutex<HashMap<[u8; 32], Login>>>);

struct Login {
    identity: Identity,
    begun: Instant,
}

impl Logins {
    /// Begins a login. Returns its secret.
    pub(super) fn begin(&self, identity: Identity) -> Token {
        let secret = Token::random();
        let mut logins = self.lock();
        logins.retain(|_, login| login.begun.elapsed() < LIFETIME);
        let same = logins.iter().filter(|(_, login)| login.identity == identity);
        if same.clone().count() >= MOST
            && let Some(oldest) = same.min_by_key(|(_, login)| login.begun).map(|(&key, _)| key)
        {
            logins.remove(&oldest);
        }
        logins.insert(*secret.hash().as_bytes(), Login { identity, begun: Instant::now() });
        secret
    }

    /// Who logged in with this secret.
    pub(super) fn find(&self, secret: &str) -> Option<Identity> {
        let logins = self.lock();
        let login = logins.get(blake3::hash(secret.as_bytes()).as_bytes())?;
        (login.begun.elapsed() < LIFETIME).then(|| login.identity.clone())
    }

    /// Ends a login, if there is one with this secret.
    pub(super) fn end(&self, secret: &str) {
        self.lock().remove(blake3::hash(secret.as_bytes()).as_bytes());
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<[u8; 32], Login>> {
        self.0.lock().expect("nobody panics while holding it")
    }
}

#[cfg(test)]
mod tests {
    use ledger::Role;

    use super::*;

    fn viewer(id: u8) -> Identity {
        Identity { owner: "ann".into(), role: Role::Viewer, credential: Some(blake3::hash(&[id])) }
    }

    #[tokio::test(start_paused = true)]
    async fn a_login_lasts_for_its_lifetime_or_until_it_is_ended() {
        let logins = Logins::default();
        let (first, second) = (logins.begin(viewer(1)), logins.begin(viewer(2)));
        assert_eq!(logins.find(first.secret()), Some(viewer(1)));
        assert_eq!(logins.find("no such secret"), None);

        logins.end(first.secret());
        assert_eq!(logins.find(first.secret()), None);
        tokio::time::advance(LIFETIME - Duration::from_secs(1)).await;
        assert_eq!(logins.find(second.secret()), Some(viewer(2)));
        tokio::time::advance(Duration::from_secs(1)).await;
        assert_eq!(logins.find(second.secret()), None);
    }

    #[tokio::test(start_paused = true)]
    async fn a_credential_has_a_bounded_number_of_logins_and_takes_none_from_others() {
        let logins = Logins::default();
        let other = logins.begin(viewer(2));
        let mut own = Vec::new();
        for _ in 0..=MOST {
            own.push(logins.begin(viewer(1)));
            tokio::time::advance(Duration::from_secs(1)).await;
        }
        assert_eq!(logins.find(own[0].secret()), None, "the oldest has ended");
        assert!(own[1..].iter().all(|login| logins.find(login.secret()).is_some()));
        assert!(logins.find(other.secret()).is_some());
    }
}
