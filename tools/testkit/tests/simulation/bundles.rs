//! The bundles of a history: everything that its ledger says about each job at the end.

use blake3::{Hash, Hasher};
use evidence::Header;
use farm::StoredJob;
use ledger::{Evidence, LedgerFault};

use crate::ledger::Ledger;
use crate::rows::Rows;

/// The hash of the bundles of all jobs of a ledger.
pub fn hash(evidence: &Evidence) -> Hash {
    let mut all = Hasher::new();
    for job in evidence.jobs() {
        write(evidence, &job.stored, |bytes| _ = all.update(bytes));
    }
    all.finalize()
}

/// Checks that the bundles of a ledger have its rows.
pub fn check(evidence: &Evidence, ledger: &Ledger) {
    for job in evidence.jobs() {
        let (mut lines, stored) = (0, ledger.stored(job.stored.id));
        let header = write(evidence, &job.stored, |line| lines += u64::from(line.ends_with(b"\n")));
        let rows = Rows::of(&stored.rows);
        assert_eq!((header.state, header.counted), (stored.job.state, rows.total));
        assert_eq!(header.covered, rows.tasks);
        let told = header.lines;
        assert_eq!(told.ranges, stored.rows.len() as u64, "ranges of job {}", job.stored.id);
        assert_eq!(told.audits, stored.seconds.len() as u64, "audits of job {}", job.stored.id);
        assert_eq!(
            told.disputes,
            stored.evidence.len() as u64,
            "disputes of job {}",
            job.stored.id
        );
        assert_eq!(told.trust, stored.trust.len() as u64, "trust of job {}", job.stored.id);
        let told = told.ranges + told.audits + told.disputes + told.trust;
        assert!(lines > told, "the bundle of job {} ends early", job.stored.id);
    }
}

fn write(evidence: &Evidence, job: &StoredJob, mut write: impl FnMut(&[u8])) -> Header {
    let records = |see: &mut dyn FnMut(_) -> _| evidence.for_each(job.id, see);
    let header = evidence::summary::<LedgerFault>(job, 0, records).expect("it can be read");
    let mut pass = |bytes: &[u8]| {
        write(bytes);
        Ok(())
    };
    evidence::text::<LedgerFault>(&header, records, &mut pass).expect("it can be read");
    header
}
