//! What a process that died has left in the log, and had not synced, while the next one writes and the power fails.
//!
//! ```text
//!   log   │ synced │ of the dead process, not synced │ of the next one, not synced │
//!                                  └── lost                └── there
//! ```
//!
//! Such a log would be taken for a damaged one although the disk has not lied.

use std::path::Path;

use disk::{Disk, Fault};
use farm::{JobId, LedgerCommand, Origin, Slice};
use ledger::{CheckedLedger, Ledger, LedgerFault};

use crate::counts::{author, plan, range, report};

const JOB: JobId = JobId(1);
/// How often the power fails while an opening waits for the disk, for each time that it does.
const POWER_CUTS: u64 = 100;

#[test]
fn nothing_is_written_behind_what_a_dead_process_has_not_synced() {
    let mut syncs = 0;
    while (0..POWER_CUTS).filter(|&seed| fails_while_it_opens(syncs, seed)).count() > 0 {
        syncs += 1;
    }
    assert!(syncs > 2, "an opening waits {syncs} times for the disk");
}

/// The power fails when the opening behind such a log waits for the disk, but for so many times. Returns `false` if it does
/// not wait so often.
fn fails_while_it_opens(spared: u64, seed: u64) -> bool {
    let folder = disk::folder();
    let disk = Disk::under(folder.path(), seed);
    let path = folder.path().canonicalize().expect("it is there").join("ledger.db");
    let ledger = open(&path).expect("it is new");
    let (origin, slice) = (Origin::default(), Slice::ALL);
    let create = LedgerCommand::CreateJob {
        job: JOB,
        origin,
        plan: plan(),
        slice,
        priority: 0,
        audit: None,
    };
    ledger.apply(&[create, accept(0)]).expect("it is written");

    // The process dies when all of a transaction is in the log and not on the disk.
    disk.plan(Fault::SyncError, 0);
    ledger.apply(&[accept(10), accept(20)]).expect_err("its sync fails");
    disk.stop();
    drop(ledger);
    disk.restart();

    disk.plan(Fault::SyncError, spared);
    let opened = open(&path);
    let has_failed = opened.is_err();
    disk.stop();
    drop(opened);
    disk.restart_after_power_cut();
    disk.calm();

    let ledger = CheckedLedger::open_again(&path)
        .unwrap_or_else(|fault| panic!("refused after {spared} syncs, seed {seed}: {fault}"));
    let accepted: Vec<_> = ledger.jobs()[0].accepted.iter().collect();
    let is_whole = [vec![range(0, 10)], vec![range(0, 30)]].contains(&accepted);
    assert!(is_whole, "after {spared} syncs, seed {seed}: {accepted:?}");
    has_failed
}

fn accept(start: u64) -> LedgerCommand {
    let (report, author) = (report(JOB, "avx2", range(start, start + 10), 0), author("machine 1"));
    LedgerCommand::Accept { report, author, audit: false }
}

fn open(path: &Path) -> Result<Ledger, LedgerFault> {
    CheckedLedger::open_again(path)?.begin()
}
