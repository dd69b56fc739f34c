//! The addresses of the pages about owners and workers, relative to the farm's first page.

use farm::Principal;
use form_urlencoded::byte_serialize;

/// The address of an owner's page.
pub(crate) fn of_owner(owner: &str) -> String {
    format!("owner?owner={}", encoded(owner))
}

/// The address of a worker's page.
pub(crate) fn of_worker(Principal { owner, machine }: &Principal, worker: &str) -> String {
    let [owner, machine, worker] = [owner, machine, worker].map(encoded);
    format!("worker?owner={owner}&machine={machine}&worker={worker}")
}

fn encoded(name: &str) -> String {
    byte_serialize(name.as_bytes()).collect()
}
