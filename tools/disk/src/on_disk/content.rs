//! What a ledger must hold, by the farm's rules over rows in memory, and what it holds.

use std::collections::BTreeMap;

use farm::rules::{self, Jobs, MemoryStore};
use farm::{JobId, LedgerAnswer, LedgerCommand, Restored, Row, TaskCounts};
use ledger::{Credential, CredentialChange, Ledger, LedgerFault};

/// What is asked of a ledger in one transaction.
#[derive(Clone, Debug)]
pub enum Batch {
    /// The farm's commands.
    Commands(Vec<LedgerCommand>),
    /// A change of who may use the coordinator.
    Credential(CredentialChange),
}

/// The state of a ledger.
#[derive(Clone, Debug, Default)]
pub struct State {
    /// What the farm's commands have made.
    pub store: MemoryStore,
    /// Who may use the coordinator.
    pub credentials: Vec<Credential>,
}

/// What can be seen of a state from outside.
#[derive(Clone, Debug, PartialEq)]
pub struct Content {
    /// All jobs, those of the archive too.
    pub restored: Restored,
    /// The accepted rows of each job.
    pub rows: BTreeMap<JobId, Vec<Row>>,
    /// What each task of these rows counts, if that is told.
    pub task_counts: BTreeMap<JobId, Vec<TaskCounts>>,
    /// Who may use the coordinator.
    pub credentials: Vec<Credential>,
}

impl Batch {
    /// Has a ledger do it.
    pub(super) fn write(&self, ledger: &Ledger) -> Result<Vec<LedgerAnswer>, LedgerFault> {
        match self {
            Batch::Commands(commands) => ledger.apply(commands),
            Batch::Credential(change) => ledger.change_credential(change).map(|()| Vec::new()),
        }
    }
}

impl State {
    /// Does a batch that fits, and returns the answers.
    pub(super) fn execute(&mut self, batch: &Batch) -> Vec<LedgerAnswer> {
        match batch {
            Batch::Commands(commands) => {
                let execute = |command| rules::execute(&mut self.store, command);
                commands.iter().map(execute).collect::<Result<_, _>>().expect("it fits the rows")
            }
            Batch::Credential(CredentialChange::Add(credential)) => {
                self.credentials.push(credential.clone());
                Vec::new()
            }
            Batch::Credential(CredentialChange::Revoke { id, at_ms }) => {
                let credential = self.credentials.iter_mut().find(|known| known.id == *id);
                let credential = credential.expect("only what there is is revoked");
                credential.revoked_at_ms.get_or_insert(*at_ms);
                Vec::new()
            }
        }
    }

    /// The state after some batches, beginning with none.
    pub(super) fn after(batches: &[Batch]) -> State {
        let mut state = State::default();
        batches.iter().for_each(|batch| drop(state.execute(batch)));
        state
    }

    /// What a coordinator that starts is given of these jobs.
    pub(super) fn restored(&self, which: Jobs) -> Restored {
        rules::restore(&mut self.store.clone(), which).expect("the rows fit together")
    }

    pub(super) fn content(&self) -> Content {
        let store = &self.store;
        let rows = store
            .jobs
            .iter()
            .map(|(&id, job)| (id, job.rows.values().map(|counted| counted.row.clone()).collect()));
        let told = store.jobs.iter().map(|(&id, job)| {
            let ranges = job.rows.values().map(|counted| counted.row.range);
            (id, ranges.map(|range| job.task_counts_of(range)).collect())
        });
        Content {
            restored: self.restored(Jobs::All),
            rows: rows.collect(),
            task_counts: told.collect(),
            credentials: self.credentials.clone(),
        }
    }
}

impl Content {
    /// What of it does not follow from counts.
    pub(super) fn decisions(&self) -> impl PartialEq + use<> {
        let jobs = self.restored.jobs.iter();
        let jobs: Vec<_> = jobs
            .map(|job| {
                (
                    job.id,
                    job.state,
                    job.priority,
                    job.origin.clone(),
                    job.audit,
                    job.disputes.clone(),
                )
            })
            .collect();
        (jobs, self.restored.distrusted.clone(), self.credentials.clone())
    }

    /// Reads all of a ledger.
    pub(super) fn of(ledger: &Ledger) -> Result<Content, LedgerFault> {
        let restored = ledger.read_back(Jobs::All)?;
        let (mut rows, mut task_counts) = (BTreeMap::new(), BTreeMap::new());
        for job in &restored.jobs {
            let rows: &mut Vec<Row> = rows.entry(job.id).or_default();
            ledger.for_each_row(job.id, |row| rows.push(row))?;
            let told = rows.iter().map(|row| ledger.task_counts(job.id, &job.plan, row));
            task_counts.insert(job.id, told.collect::<Result<_, _>>()?);
        }
        Ok(Content { restored, rows, task_counts, credentials: ledger.credentials()? })
    }
}
