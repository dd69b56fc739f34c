//! What agents report of a lease, as rows of the ledger.

use farm::rules::{self, MemoryStore};
use farm::{
    Ack, Author, JobId, LeaseId, LedgerCommand, Maker, Millis, Origin, Report, Signature, Signed,
    Slice, Verdict,
};

use crate::agents::{agent, loan, part, reported};
use crate::{pieces, plan, signer};

/// The signatures of each row that the reports of one task each of a lease become, if one of them is to be counted again.
fn signatures(reports: u64, kept_apart: u64) -> Vec<usize> {
    let (mut store, mut agent) = (MemoryStore::default(), agent());
    let (id, loan) = (JobId(1), loan(LeaseId(1), reports));
    let write = |store: &mut MemoryStore, command| {
        rules::execute(store, &command).expect("it fits the rows");
    };
    let (origin, slice, plan) = (Origin::default(), Slice::ALL, plan(reports));
    let create =
        LedgerCommand::CreateJob { job: id, origin, plan, slice, priority: 0, audit: None };
    write(&mut store, create);
    agent.lent(loan);
    for range in pieces(loan.range, 1) {
        agent.finished(Millis(0), part(loan, range, 1));
        let poll = agent.poll(Millis(1_000 * (1 + range.start())));
        let [mut report] = <[Report; 1]>::try_from(reported(poll)).expect("it is due");
        agent.acked(&Ack::of(&report, Verdict::Accepted));
        let signature = Signature([7; 64]);
        report.signed = Some(Signed { signer: signer(), signature });
        report.stretches.iter_mut().for_each(|stretch| stretch.signature = Some(signature));
        let (maker, audit) =
            (Maker { owner: "o".into(), machine: "m".into() }, range.start() == kept_apart);
        let author = Author { maker, worker: "w".into(), build: "1.0".into() };
        write(&mut store, LedgerCommand::Accept { report, author, audit });
    }
    let rows = store.jobs[&id].rows.values();
    rows.map(|counted| counted.row.signatures.as_ref().expect("all are signed").parts.len())
        .collect()
}

/// An audit may draw any report. Those before it are one row of one signature. Those behind it are one row, too, with no more
/// than two signatures of each length of which there are stretches.
#[test]
fn few_signatures_are_left_whichever_report_is_kept_apart() {
    for reports in [2_u64, 5, 32, 64] {
        for kept_apart in 0..reports {
            let all = signatures(reports, kept_apart);
            let sides = usize::from(kept_apart > 0) + usize::from(kept_apart + 1 < reports);
            assert_eq!(all.len(), 1 + sides, "{kept_apart} of {reports}: {all:?}");
            let behind = all.last().expect("there is one");
            assert!(*behind <= 2 * reports.ilog2() as usize, "{kept_apart} of {reports}: {all:?}");
            let before = &all[..all.len() - 1];
            assert!(
                before.iter().all(|&signatures| signatures == 1),
                "{kept_apart} of {reports}: {all:?}"
            );
        }
    }
}
