//! The last life of a ledger, in which nothing goes wrong: all jobs are completed.

use disk::{Batch, Content, End};
use farm::{Across, JobState, LedgerAnswer, LedgerCommand, Range, RestoredJob, Row};

use crate::clients::{CHECKER, JUDGE};
use crate::counts::{TASKS, author, report, total, truth};
use crate::history::History;

impl History {
    /// The last life, in which nothing goes wrong: all jobs are completed.
    pub(super) fn last_life(&mut self) -> Result<(), End> {
        self.ledger.open()?;
        for _ in 0..20 {
            let content = self.ledger.content()?;
            let mut commands: Vec<_> =
                content.restored.jobs.iter().flat_map(|job| self.next(&content, job)).collect();
            // It may take back what the others are about.
            let settles = |command: &LedgerCommand| matches!(command, LedgerCommand::Settle { .. });
            if let Some(at) = commands.iter().position(settles) {
                commands = vec![commands.swap_remove(at)];
            }
            let audits: Vec<_> = content.restored.jobs.iter().flat_map(audit).collect();
            let commands = if commands.is_empty() { audits } else { commands };
            if commands.is_empty() {
                return self.is_complete(&content);
            }
            let confirming = self.write_last(commands)?;
            if !confirming.is_empty() {
                self.write_last(confirming)?;
            }
        }
        panic!("the jobs are never done");
    }

    /// Writes commands, and returns those that follow from their answers.
    fn write_last(&mut self, commands: Vec<LedgerCommand>) -> Result<Vec<LedgerCommand>, End> {
        let answers = self.ledger.write(Batch::Commands(commands.clone()))?;
        Ok(commands.iter().zip(answers).flat_map(follow).collect())
    }

    /// What is to be done next for a job, but for its audits and its end.
    fn next(&self, content: &Content, job: &RestoredJob) -> Vec<LedgerCommand> {
        let id = job.id;
        let by = "client".to_string();
        if job.state == JobState::Paused {
            return vec![LedgerCommand::SetState { job: id, state: JobState::Running, by }];
        }
        if job.state != JobState::Running {
            return Vec::new();
        }
        let settle = |(range, wrong)| LedgerCommand::Settle {
            report: report(id, "avx2", range, 0),
            author: author(JUDGE),
            wrong,
        };
        let disputes = job.disputes.iter().map(|dispute| {
            let wrong = dispute.votes.iter().filter(|vote| vote.claim != truth(dispute.range));
            let wrong = wrong.filter_map(|vote| vote.maker.as_ref());
            (dispute.range, wrong.map(|maker| maker.party(Across::Machines)).collect())
        });
        let settlements: Vec<_> = disputes.map(settle).collect();
        if !settlements.is_empty() {
            return settlements;
        }
        let present = self.ledger.present();
        let is_lie = |row: &&Row| row.tally.claim() != truth(row.range) && present.holds(id, row);
        let lies = content.rows[&id].iter().filter(is_lie);
        let lies = lies.map(|lie| LedgerCommand::Dispute {
            report: report(id, "search", lie.range, 0),
            author: author(CHECKER),
        });
        let missing = missing(job).into_iter().map(|range| LedgerCommand::Accept {
            report: report(id, "avx2", range, 0),
            author: author("machine 9"),
            audit: false,
        });
        lies.chain(missing).collect()
    }

    fn is_complete(&mut self, content: &Content) -> Result<(), End> {
        self.says_right_totals(content);
        self.ledger.close()?;
        self.ledger.open()?;
        let again = self.ledger.content()?;
        match self.ledger.has_lied() {
            true => self.says_right_totals(&again),
            false => assert_eq!(again, *content),
        }
        Ok(())
    }

    fn says_right_totals(&mut self, content: &Content) {
        for job in &content.restored.jobs {
            assert!(matches!(job.state, JobState::Done | JobState::Cancelled), "{job:?}");
            if job.state == JobState::Done {
                assert_eq!(job.total, total(), "a wrong total of job {}", job.id);
                self.tally.jobs_done += 1;
            }
        }
    }
}

/// What nobody has counted of a job.
fn missing(job: &RestoredJob) -> Vec<Range> {
    let mut missing = Vec::new();
    let mut start = 0;
    let ends = job.accepted.iter().map(|range| (range.start(), range.end()));
    for (first, past) in ends.chain([(TASKS, TASKS)]) {
        missing.extend(Range::new(start, first));
        start = past;
    }
    missing
}

/// Asks for the audits of a running job, or says its total.
fn audit(job: &RestoredJob) -> Option<LedgerCommand> {
    let id = job.id;
    (job.state == JobState::Running).then_some(match job.audits_wanted {
        0 => LedgerCommand::Finish { job: id, tasks: TASKS, total: job.total },
        _ => LedgerCommand::FindAudits { job: id, most: 1_000 },
    })
}

/// Confirms what an answer asks for.
fn follow((command, answer): (&LedgerCommand, LedgerAnswer)) -> Vec<LedgerCommand> {
    match (command, answer) {
        (LedgerCommand::FindAudits { job, .. }, LedgerAnswer::AuditsFound(found)) => {
            let confirm = |range: Range| LedgerCommand::Confirm {
                report: report(*job, "search", range, 0),
                author: author(CHECKER),
            };
            found.into_iter().map(|unaudited| confirm(unaudited.range)).collect()
        }
        _ => Vec::new(),
    }
}
