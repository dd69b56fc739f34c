//! Identities of clients and workers, and their rights.

use farm::JobView;
use ledger::Role;

use super::refused::Refused;
use crate::api::Code;

/// The owner of all clients where no credential is needed, and of the worker of a count without a
/// server.
pub(crate) const LOCAL_OWNER: &str = "local";

/// The greatest priority that somebody who is no admin may give a job. The least one is the same
/// number with a minus sign.
const MOST_PRIORITY: i32 = 10;

/// The sender of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Identity {
    pub(super) owner: String,
    pub(super) role: Role,
    /// BLAKE3 of the credential's secret; `None` for open access.
    pub(super) credential: Option<blake3::Hash>,
}

/// A right that a request needs.
#[derive(Clone, Copy, Debug)]
pub(super) enum Right {
    /// To count.
    Count,
    /// To see jobs.
    See,
    /// To submit and change jobs.
    Change,
    /// To manage credentials and trust, and to copy the ledger.
    Decide,
}

impl Identity {
    /// Refuses a change of somebody else's job. An admin may change every job.
    pub(super) fn require_own(&self, job: &JobView) -> Result<(), Refused> {
        let (id, owner) = (job.id, &job.spec.origin.owner);
        if self.role == Role::Admin || *owner == self.owner {
            return Ok(());
        }
        Err(Refused::new(
            Code::Forbidden,
            format!(
                "job {id} is {owner:?}'s, and this credential is {:?}'s: only its owner and an admin may change it",
                self.owner
            ),
        ))
    }

    /// Refuses a priority that the role does not allow.
    pub(super) fn require_priority(&self, priority: i32) -> Result<(), Refused> {
        if self.role == Role::Admin || (-MOST_PRIORITY..=MOST_PRIORITY).contains(&priority) {
            return Ok(());
        }
        Err(Refused::new(
            Code::Forbidden,
            format!(
                "the priority {priority} is for admins only: give one from -{MOST_PRIORITY} to {MOST_PRIORITY}"
            ),
        ))
    }

    /// Refuses a request for which the role does not suffice.
    pub(super) fn require(&self, right: Right) -> Result<(), Refused> {
        let is_worker = matches!(self.role, Role::Worker | Role::TrustedWorker);
        let is_submitter = self.role == Role::Submitter;
        let (suffices, wanted) = match right {
            Right::Count => (is_worker, "a worker"),
            Right::See => (is_submitter || self.role == Role::Viewer, "a viewer or a submitter"),
            Right::Change => (is_submitter, "a submitter"),
            Right::Decide => (false, "an admin"),
        };
        if suffices || self.role == Role::Admin {
            return Ok(());
        }
        let role = self.role.name();
        Err(Refused::new(
            Code::Forbidden,
            format!(
                "this credential is a {role}'s, and this needs that of {wanted}; ask the farm's operator for one"
            ),
        ))
    }
}
