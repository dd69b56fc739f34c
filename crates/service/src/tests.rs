//! What tests of several modules begin with.

use farm::{
    Config, Hello, JobSpec, Known, LeaseKey, Method, Origin, Plan, Problem, Request, Shard,
    Submission,
};
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
        methods: Vec::new(),
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

/// Submits this number of jobs. An owner has a hundred of them.
pub(crate) async fn submit(farm: &FarmHandle, number: usize) {
    let (problem, method) = (Problem::Total { n: 20 }, Method::Rows { rows: 5 });
    let plan = Plan { problem, method, tasks: 64_000 };
    for first in (0..number).step_by(100) {
        let owner = format!("owner-{first}");
        let jobs = (first..number.min(first + 100)).map(|at| {
            let origin = Origin { key: Some(format!("night-{at}")), ..Origin::of(&owner) };
            let spec = JobSpec { origin, plan, shard: Shard::ALL, priority: 0 };
            Submission { spec, audit: None, known: Box::new(Known::nothing()) }
        });
        let ask = Request::Submit(jobs.collect());
        farm.ask(&owner, ask).await.expect("it runs").expect("it is granted");
    }
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
