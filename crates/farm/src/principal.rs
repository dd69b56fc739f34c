//! Principals: owners and machines that answer for counts.
//!
//! ```text
//!   owner "rack7" ──a credential, checked by the coordinator
//!     └── machine "node12" ──what the worker says of itself
//!           └── worker "node12-4f1a" ──one process, for people
//! ```
//!
//! A machine is identified by its name, which its owner is trusted to give:
//!
//! ```text
//!   node12              declared when the worker was started
//!   boot-7c1f09a2b3d4   of the number that Linux draws at each start, which all containers of a host share
//!   unknown             neither: such a machine may be any that is not declared
//! ```
//!
//! Bundles have the fields of these types as they are.
//!
//! The holder of a credential can invent machines. So the machines of an owner are only its word:
//! they decide about each other, and about machines of other owners only together with another
//! owner.

use std::collections::BTreeSet;
use std::fmt;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::{JobId, KernelName, Range};

/// An owner of a credential, and one of its machines.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, ToSchema)]
pub struct Principal {
    /// The owner of the credential under which the count came.
    pub owner: String,
    /// The machine, as its worker names it.
    pub machine: String,
}

/// How a machine is identified.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum IdentifiedBy {
    /// By the name that was declared when its workers were started.
    Name,
    /// By the number of its latest start.
    Boot,
    /// Not at all.
    Nothing,
}

/// Who made a count, with all that is kept of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Provenance {
    /// Who answers for it.
    #[serde(flatten)]
    pub principal: Principal,
    /// The worker's name, for people.
    pub worker: String,
    /// Its program and its machine, as it says.
    pub build: String,
}

impl Provenance {
    /// Version and commit of the worker's program.
    pub fn program(&self) -> &str {
        program_of(&self.build)
    }
}

/// Version and commit of a build, which are its first two parts: tables have no room for all seven.
pub fn program_of(build: &str) -> &str {
    build.match_indices('/').nth(1).map_or(build, |(end, _)| &build[..end])
}

crate::named! {
    /// What must differ between a count and a second opinion about it.
    #[derive(Default, Serialize, Deserialize, ToSchema)]
    #[serde(rename_all = "snake_case")]
    pub enum AuditScope {
        /// Between machines. It protects against broken hardware.
        #[default]
        Machines = "machines",
        /// Between owners. It protects against owners that lie, unless they collude.
        Owners = "owners",
    }
}

/// Those who are taken for one: a machine, or all machines of an owner.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, ToSchema)]
pub struct Party {
    /// The owner.
    pub owner: String,
    /// The machine; `None` for all of the owner's machines.
    pub machine: Option<String>,
}

impl Principal {
    /// Who is taken for one with this principal.
    pub fn party(&self, across: AuditScope) -> Party {
        let machine = (across == AuditScope::Machines).then(|| self.machine.clone());
        Party { owner: self.owner.clone(), machine }
    }

    /// The name of a machine of which nothing is known.
    pub const UNKNOWN: &str = "unknown";
    /// What the names of machines begin with that are identified by their starts.
    pub const BOOT: &str = "boot-";

    /// How its machine is identified.
    pub fn identified_by(&self) -> IdentifiedBy {
        match self.machine.as_str() {
            Principal::UNKNOWN => IdentifiedBy::Nothing,
            name if name.starts_with(Principal::BOOT) => IdentifiedBy::Boot,
            _ => IdentifiedBy::Name,
        }
    }

    /// Whether the two may check each other. A machine of which nothing is known may be any that is
    /// not declared.
    pub fn is_apart_from(&self, other: &Principal, across: AuditScope) -> bool {
        let are_two = || {
            let both = [self.identified_by(), other.identified_by()];
            let may_be_one =
                both.contains(&IdentifiedBy::Nothing) && !both.contains(&IdentifiedBy::Name);
            self.machine != other.machine && !may_be_one
        };
        self.owner != other.owner || across == AuditScope::Machines && are_two()
    }
}

impl Party {
    /// Whether some machine belongs to both.
    pub fn overlaps(&self, other: &Party) -> bool {
        let is_whole = self.machine.is_none() || other.machine.is_none();
        self.owner == other.owner && (is_whole || self.machine == other.machine)
    }

    /// Whether a confirmation by `second` of a count by `first` is void if this party was wrong.
    /// The confirmation holds if the two have different owners and only the machine of `second` is
    /// distrusted: a machine that miscounts does not confirm another owner's count by chance, and
    /// one of two owners alone cannot take back what both agreed on. The confirmation is void if
    /// the owner of `second` is distrusted as a whole.
    pub fn voids(&self, first: &Principal, second: &Principal) -> bool {
        self.includes(second) && (self.machine.is_none() || first.owner == second.owner)
    }

    /// Whether it answers for what `principal` counts.
    pub fn includes(&self, principal: &Principal) -> bool {
        let is_machine = self.machine.as_ref().is_none_or(|machine| *machine == principal.machine);
        self.owner == principal.owner && is_machine
    }
}

/// A party is distrusted, or trusted again. The latest change about a party holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrustChange {
    /// Who.
    #[serde(flatten)]
    pub party: Party,
    /// Whether it is trusted since.
    pub trusted: bool,
    /// The count that proved the party wrong, of whatever job; `None` if a person decided. A bundle
    /// does not have this field. If the count is of the bundle's job, the bundle has the line of
    /// the dispute.
    #[serde(skip)]
    pub proof: Option<(JobId, Range)>,
    /// Why, for people.
    pub reason: String,
    /// When, in Unix milliseconds.
    #[serde(rename = "at")]
    pub at_ms: i64,
}

/// Parties that are distrusted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Distrusted(pub BTreeSet<Party>);

impl Distrusted {
    /// Those who are distrusted after these changes, of which the newest is the last.
    pub fn after<'a>(changes: impl IntoIterator<Item = &'a TrustChange>) -> Distrusted {
        let mut distrusted = Distrusted::default();
        for TrustChange { party, trusted, .. } in changes {
            match trusted {
                true => distrusted.0.remove(party),
                false => distrusted.0.insert(party.clone()),
            };
        }
        distrusted
    }

    /// Whether this principal is distrusted.
    pub fn includes(&self, principal: &Principal) -> bool {
        let is_in = |across| self.0.contains(&principal.party(across));
        is_in(AuditScope::Machines) || is_in(AuditScope::Owners)
    }

    /// Whether this owner, or any of its machines, is distrusted.
    pub fn includes_any_of(&self, owner: &str) -> bool {
        let first = Party { owner: owner.into(), machine: None };
        self.0.range(first..).next().is_some_and(|party| party.owner == owner)
    }
}

/// Whether a count by one principal and kernel is a second opinion about the count by another. It
/// is not if the party or the kernel is the same, because neither can check itself.
pub fn is_second_opinion(
    (principal, kernel): (&Principal, KernelName),
    (other_principal, other_kernel): (&Principal, KernelName),
    across: AuditScope,
) -> bool {
    principal.is_apart_from(other_principal, across) && kernel != other_kernel
}

impl fmt::Display for Principal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.owner, self.machine)
    }
}

impl fmt::Display for Party {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.machine {
            Some(machine) => write!(f, "{}/{machine}", self.owner),
            None => f.write_str(&self.owner),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn principal(owner: &str, machine: &str) -> Principal {
        Principal { owner: owner.into(), machine: machine.into() }
    }

    #[test]
    fn a_program_is_the_version_and_the_commit_of_a_build() {
        assert_eq!(program_of("0.1.0/3f2a/rustc-1.95.0/x86_64/EPYC/0xa1/ecc"), "0.1.0/3f2a");
        assert_eq!(
            [program_of("0.1.0/3f2a"), program_of("0.1.0"), program_of("")],
            ["0.1.0/3f2a", "0.1.0", ""]
        );
    }

    #[test]
    fn a_machine_of_which_nothing_is_known_is_apart_from_declared_ones_alone() {
        let machines = [
            principal("o", "node1"),
            principal("o", "boot-1"),
            principal("o", "boot-2"),
            principal("o", "unknown"),
        ];
        let apart = |one: usize, two: usize| {
            machines[one].is_apart_from(&machines[two], AuditScope::Machines)
        };
        for (one, two, expected) in
            [(0, 1, true), (1, 2, true), (1, 1, false), (0, 3, true), (1, 3, false), (3, 3, false)]
        {
            assert_eq!((apart(one, two), apart(two, one)), (expected, expected), "{one} and {two}");
        }
        assert!(machines[3].is_apart_from(&principal("p", "unknown"), AuditScope::Machines));
    }
}
