//! Reads a [`Row`] from SQLite, and its standing.

#![cfg_attr(not(test), warn(clippy::arithmetic_side_effects))]

use farm::{
    Check, CheckedCount, Digest, DisputeState, JobId, KernelName, LeaseId, Principal, Provenance,
    Range, Row,
};

use super::{LedgerFault, Result};

/// The number of columns that [`read_row`] reads. It is also the index of the first column after
/// them.
pub(super) const WIDTH: usize = 13;

/// The place of an accepted count among those that begin with one ordinal.
pub(super) const ACCEPTED: u64 = 0;
/// The place of a second count.
pub(super) const SECOND: u64 = 1;

/// The standing of a count: whether it is in the total. Its name is in the column `standing`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Standing {
    /// It is in the total.
    Accepted(Check),
    /// It confirms an accepted count.
    Second,
    /// It is in no total.
    Evidence(DisputeState),
}

impl Standing {
    pub(super) fn name(self) -> &'static str {
        match self {
            Standing::Accepted(check) => check.name(),
            Standing::Second => "second",
            Standing::Evidence(state) => state.name(),
        }
    }

    /// The place of a count with this standing among the counts that begin with the same ordinal.
    /// `None` means that it comes after all others.
    pub(super) fn place(self) -> Option<u64> {
        match self {
            Standing::Accepted(_) => Some(ACCEPTED),
            Standing::Second => Some(SECOND),
            Standing::Evidence(_) => None,
        }
    }

    /// The fault for a count with this standing that is not at the place for such counts.
    pub(super) fn misplaced(self, job: JobId, range: Range) -> LedgerFault {
        let text =
            format!("job {job}: the standing of a count of {range} was altered to {}", self.name());
        LedgerFault::Content(text)
    }

    /// Reads the standing from a column.
    pub(super) fn read(columns: &rusqlite::Row<'_>, at: usize) -> Result<Standing> {
        let name: String = columns.get(at)?;
        let accepted = Check::named(&name).map(Standing::Accepted);
        let second = || (name == "second").then_some(Standing::Second);
        let evidence = || DisputeState::named(&name).map(Standing::Evidence);
        let standing = accepted.or_else(second).or_else(evidence);
        standing.ok_or_else(|| {
            LedgerFault::Content(format!("a count has the unknown standing {name:?}"))
        })
    }
}

/// Reads a row of `job` from the first columns of a query of [`queries`](super::queries). Fails if
/// the row no longer matches its checksum.
pub(super) fn read_row(job: JobId, columns: &rusqlite::Row<'_>) -> Result<Row> {
    let (first, past): (u64, u64) = (columns.get(0)?, columns.get(1)?);
    let (count, digest): (String, String) = (columns.get(2)?, columns.get(4)?);
    let kernel: String = columns.get(5)?;
    let fault = || LedgerFault::Content(format!("the row [{first}, {past}) = {count} is no count"));
    let checked_count = CheckedCount {
        count: count.parse().map_err(|_| fault())?,
        residue: columns.get(3)?,
        digest: digest.parse::<Digest>().map_err(|_| fault())?,
    };
    let unknown_kernel = || {
        LedgerFault::Version(format!(
            "job {job} has a count at ordinal {first} by a kernel named {kernel:?}, which it does not have"
        ))
    };
    let row = Row {
        range: Range::new(first, past).ok_or_else(fault)?,
        checked_count,
        kernel: KernelName::new(&kernel).ok_or_else(unknown_kernel)?,
        provenance: Provenance {
            principal: Principal { owner: columns.get(6)?, machine: columns.get(7)? },
            worker: columns.get(8)?,
            build: columns.get(9)?,
        },
        lease: LeaseId(columns.get(10)?),
        busy_us: columns.get(11)?,
    };
    if columns.get::<_, i64>(12)? != checksum(job, &row) || !checked_count.is_sound() {
        let text = format!("job {job} has a row at ordinal {first} that was altered");
        return Err(LedgerFault::Content(text));
    }
    Ok(row)
}

/// The checksum of a row: the first eight bytes of the BLAKE3 hash over the range, the count, the
/// kernel, the provenance and the lease. SQLite checks the structure of its pages and not their
/// content. If the disk changes a digit of a count, SQLite reads the wrong digit without an error.
pub(super) fn checksum(job: JobId, row: &Row) -> i64 {
    let Row { range, checked_count, kernel, lease, provenance, .. } = row;
    let text = format!(
        "job {job}; range {range}; count {}; residue {}; digest {}; kernel {kernel}; owner {}; \
         machine {}; worker {}; build {}; lease {lease}",
        checked_count.count,
        checked_count.residue,
        checked_count.digest,
        provenance.principal.owner,
        provenance.principal.machine,
        provenance.worker,
        provenance.build
    );
    let hash = blake3::hash(text.as_bytes());
    let (first, _) = hash.as_bytes().split_first_chunk().expect("it has 32 bytes");
    i64::from_le_bytes(*first)
}

#[cfg(test)]
mod tests {
    use farm::{AuditScope, Ground, JobState};

    use super::*;
    use crate::Role;
    use crate::tests::empty;

    /// Ledgers store these names. Changing a name changes the format.
    #[test]
    fn enums_are_stored_by_these_names() {
        let checks = Check::ALL.map(|check| Standing::Accepted(check).name());
        assert_eq!(checks, ["not_chosen", "wanted", "agreed"]);
        assert_eq!(Standing::Second.name(), "second");
        let evidence = DisputeState::ALL.map(|state| Standing::Evidence(state).name());
        assert_eq!(evidence, ["open", "settled", "taken_back"]);
        let states = JobState::ALL.map(JobState::name);
        assert_eq!(states, ["running", "paused", "suspended", "done", "cancelled"]);
        assert_eq!(AuditScope::ALL.map(AuditScope::name), ["machines", "owners"]);
        let grounds = [
            "two owners counted otherwise",
            "a trusted worker counted otherwise",
            "two machines of its owner counted otherwise",
        ];
        assert_eq!(Ground::ALL.map(Ground::name), grounds);
        let roles = ["admin", "submitter", "viewer", "worker", "trusted worker"];
        assert_eq!(Role::ALL.map(Role::name), roles);
    }

    #[test]
    fn a_standing_is_read_as_it_is_written_and_has_its_place() {
        let ledger = empty();
        let accepted = Check::ALL.map(Standing::Accepted);
        let evidence = DisputeState::ALL.map(Standing::Evidence);
        for standing in accepted.into_iter().chain([Standing::Second]).chain(evidence) {
            let read = |row: &rusqlite::Row<'_>| Ok(Standing::read(row, 0));
            let read = ledger.db.query_row("SELECT ?", [standing.name()], read).expect("it is SQL");
            assert_eq!(read.expect("it is known"), standing);
            let add = |place: u64| {
                let add = "INSERT INTO counts SELECT 1, ?1, ?1 + 1, ?1, '1', 1, '', '', '', '', '', 1, 1, 1, 1, 1, ?2, NULL";
                ledger.db.execute_batch("PRAGMA foreign_keys = false").expect("it is SQL");
                ledger.db.execute(add, (place, standing.name())).is_ok()
            };
            let places: Vec<u64> = (0..4).filter(|&place| add(place)).collect();
            assert_eq!(places, standing.place().map_or(vec![2, 3], |place| vec![place]));
            ledger.db.execute_batch("DELETE FROM counts").expect("it is SQL");
        }
    }
}
