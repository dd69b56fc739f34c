//! What tests of several modules begin with.

use farm::{Config, Hello, LeaseKey};
use ledger::{CheckedLedger, Credential, Ledger, Role};

use crate::KeyFolder;
use crate::coordinator::{EventLoop, FarmHandle};
use crate::tls::Authority;

/// The first words of a worker. Its machine and its program have its name, too.
pub(crate) fn hello(worker: &str) -> Hello {
    Hello {
        worker: worker.into(),
        machine: worker.into(),
        build: worker.into(),
        backend: worker.into(),
        instance: 1,
        threads: 1,
        credit: 100,
        holding: Vec::new(),
    }
}

/// A ledger in memory.
pub(crate) fn ledger() -> Ledger {
    CheckedLedger::in_memory().and_then(CheckedLedger::begin).expect("there is memory")
}

/// A farm with this ledger, which does not run yet.
pub(crate) fn farm(ledger: Ledger) -> (EventLoop, FarmHandle) {
    EventLoop::new(Config::default(), LeaseKey::new([0; 32]), ledger)
}

/// A credential that never expires. Its owner is `owner ID`.
pub(crate) fn credential(id: u64, secret: &str, role: Role) -> Credential {
    Credential {
        id,
        owner: format!("owner {id}"),
        role,
        hash: *blake3::hash(secret.as_bytes()).as_bytes(),
        created_at_ms: 0,
        expires_at_ms: None,
        revoked_at_ms: None,
    }
}

/// An authority of its own.
pub(crate) fn authority() -> Authority {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let keys = KeyFolder::beside(&folder.path().join("ledger.db"));
    Authority::read_or_make(&keys).expect("it can be made")
}
