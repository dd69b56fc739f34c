//! What the farm is told about its ledger, and so the books.

use farm::{JobState, Record, Withdrawn};

use super::Witness;
use crate::books::Book;
use crate::ledger::{Answer, row};
use crate::rows::Check;
use crate::tally::Tally;

impl Witness {
    /// What the farm is told about its ledger.
    pub fn told(&mut self, answer: &Answer, tally: &mut Tally) {
        match answer {
            Answer::Written(record) => self.told_written(record, tally),
            Answer::Noted(record, wanted) => {
                let Record::Audit { job, policy } = record else {
                    panic!("{record:?} asks nothing")
                };
                let book = self.book(*job);
                let plan = book.fingerprint;
                (book.asked, book.ended) = (book.asked - 1, false);
                book.rows.check(|row| {
                    let is_new = row.check == Check::None && policy.chooses(plan, row.range);
                    is_new.then_some(Check::Wanted)
                });
                assert_eq!(book.rows.wanted, *wanted, "audits of job {job}");
                if book.state == JobState::Done {
                    book.state = JobState::Running;
                }
            }
            Answer::Settled(record, withdrawn) => self.told_settled(record, withdrawn),
            Answer::Compared(_) | Answer::AuditsFound(_) => {}
        }
    }

    fn told_written(&mut self, record: &Record, tally: &mut Tally) {
        match record {
            Record::Job { job, plan, slice, priority, audit } => {
                self.books.insert(*job, Book::new(plan, *slice, *priority, *audit));
            }
            Record::Done { job, .. } => {
                tally.put_off += u64::from(self.settling);
                let book = self.book(*job);
                book.ended = book.is_complete();
                self.conclude();
            }
            Record::Range { report, author, audit } => {
                let check = if *audit { Check::Wanted } else { Check::None };
                self.book(report.job).rows.put(row(report, author, check));
            }
            Record::Confirm { report, author } => {
                let book = self.book(report.job);
                book.confirming.remove(&report.range);
                let mut row = book.rows.take(report.range);
                row.check = Check::Confirmed(author.worker.clone());
                book.rows.put(row);
            }
            Record::State { .. } | Record::Dispute { .. } => {}
            Record::Audit { .. } | Record::Settle { .. } => {
                panic!("more is to be told: {record:?}")
            }
        }
    }

    /// Of a worker that was wrong nothing is left that nobody confirmed.
    fn told_settled(&mut self, record: &Record, withdrawn: &[Withdrawn]) {
        let Record::Settle { report, author, wrong } = record else {
            panic!("{record:?} ends nothing")
        };
        self.settling = false;
        let book = self.book(report.job);
        book.disputes.remove(&report.range).expect("it was disputed");
        let tiles = book.rows.tiles(report.range).expect("rows that are disputed stay");
        tiles.iter().for_each(|row| drop(book.rows.take(row.range)));
        book.rows.put(row(report, author, Check::Settled));
        assert!(withdrawn.iter().any(|of| of.job == report.job), "{withdrawn:?}");
        for Withdrawn { job, ranges, total, audits_wanted, audits_agreed } in withdrawn {
            let book = self.book(*job);
            book.rows.check(|row| {
                let is_void = matches!(&row.check, Check::Confirmed(by) if wrong.contains(by));
                is_void.then_some(Check::Wanted)
            });
            let before = book.rows.total;
            book.withdraw(ranges);
            assert_eq!(before - book.rows.total, *total, "the sum of what goes");
            let audits = (book.rows.wanted, book.rows.agreed);
            assert_eq!(audits, (*audits_wanted, *audits_agreed), "audits of job {job}");
            book.ended &= book.is_complete();
            if book.state == JobState::Done && !book.is_complete() {
                book.state = JobState::Running;
            }
        }
        let live = self.books.iter().filter(|(_, book)| book.state != JobState::Cancelled);
        for (id, book) in live {
            for row in book.rows.iter() {
                let is_theirs = wrong.contains(&row.worker) && row.is_unconfirmed();
                let is_void = matches!(&row.check, Check::Confirmed(by) if wrong.contains(by));
                assert!(!is_theirs && !is_void, "still in job {id}: {row:?}");
            }
            let mut votes = book.disputes.values().flatten();
            let vote = votes.find(|vote| wrong.contains(&vote.worker));
            assert!(vote.is_none(), "still counts in job {id}: {vote:?}");
        }
        self.conclude();
    }

    /// Jobs whose end is durable are done, once it is known that their rows stay.
    fn conclude(&mut self) {
        let settling = self.settling;
        for book in self.books.values_mut().filter(|book| book.ended && !settling) {
            (book.ended, book.state) = (false, JobState::Done);
        }
    }
}
