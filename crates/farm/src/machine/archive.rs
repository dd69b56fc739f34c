//! Jobs that are over and leave the farm: into the archive, or for good. Those in the archive are the ledger's alone.

use super::{Farm, Pending};
use crate::{Counted, Effect, JobId, LedgerCommand, Refusal, Removal, RequestId, RestoredJob};

/// Rows that the ledger removes at a time, which is some milliseconds' work.
const ROWS_AT_A_TIME: usize = 2_000;

impl Farm {
    pub(super) fn archive_asked(&mut self, request: RequestId, id: JobId) {
        match self.let_go(id) {
            Ok(counted) => {
                let command = LedgerCommand::Archive { job: id, counted };
                self.command(command, Pending::Archive { request, job: id });
            }
            Err(refusal) => self.effects.push(Effect::Reply { request, answer: Err(refusal) }),
        }
    }

    /// The job is another one from the moment on at which the ledger has let it out.
    pub(super) fn unarchive_asked(&mut self, request: RequestId, id: JobId) {
        if self.jobs.contains_key(&id) {
            return self.effects.push(Effect::Reply { request, answer: Ok(id) });
        }
        if self.awaits(|pending| matches!(pending, Pending::Remove { job, .. } if *job == id)) {
            let answer = Err(Refusal::Unsettled(id));
            return self.effects.push(Effect::Reply { request, answer });
        }
        let command = LedgerCommand::Unarchive { job: id };
        self.command(command, Pending::Unarchive { request, job: id });
    }

    pub(super) fn unarchived(
        &mut self,
        request: RequestId,
        id: JobId,
        job: Option<Box<RestoredJob>>,
    ) {
        let is_there = job.is_some() || self.jobs.contains_key(&id);
        job.into_iter().for_each(|job| self.take_in(*job));
        let answer = if is_there { Ok(id) } else { Err(Refusal::NoSuchJob(id)) };
        self.effects.push(Effect::Reply { request, answer });
    }

    /// A job that the farm does not have may be in the archive, or on its way out of it: if it were removed now, the farm
    /// would take it in after the ledger has removed it.
    pub(super) fn removal_asked(&mut self, request: RequestId, id: JobId) {
        let returns =
            |pending: &Pending| matches!(pending, Pending::Unarchive { job, .. } if *job == id);
        let refusal = match self.jobs.contains_key(&id) {
            _ if self.proofs.contains(&id) => Some(Refusal::Proof(id)),
            true => self.let_go(id).err(),
            false => self.awaits(returns).then_some(Refusal::Unsettled(id)),
        };
        match refusal {
            Some(refusal) => self.effects.push(Effect::Reply { request, answer: Err(refusal) }),
            None => self.remove_some(request, id),
        }
    }

    fn remove_some(&mut self, request: RequestId, id: JobId) {
        let command = LedgerCommand::Remove { job: id, most: ROWS_AT_A_TIME };
        self.command(command, Pending::Remove { request, job: id });
    }

    pub(super) fn removed(&mut self, request: RequestId, id: JobId, removal: Removal) {
        let answer = match removal {
            Removal::Begun => return self.remove_some(request, id),
            Removal::Gone => Ok(id),
            Removal::Missing => Err(Refusal::NoSuchJob(id)),
        };
        self.effects.push(Effect::Reply { request, answer });
    }

    /// Forgets a job that is over and of which nothing is on its way into the ledger.
    fn let_go(&mut self, id: JobId) -> Result<Counted, Refusal> {
        let job = self.jobs.get(&id).ok_or(Refusal::NoSuchJob(id))?;
        if !job.state.is_over() || !job.durable_state.is_over() {
            return Err(Refusal::NotOver(id, job.durable_state));
        }
        if self.is_unsettled(id) {
            return Err(Refusal::Unsettled(id));
        }
        for lease in self.leases.of_job(id) {
            self.revoke(lease);
        }
        let job = self.jobs.remove(&id).expect("it was found");
        self.keys.remove(&job.origin);
        self.progressed.remove(&id);
        Ok(Counted {
            tasks: job.tasks_done,
            total: job.total,
            audits_wanted: job.audits.wanted,
            audits_agreed: job.audits_agreed,
        })
    }

    /// Whether something of a job is on its way into the ledger, or may be: the end of a dispute may take rows of any job
    /// back.
    pub(super) fn is_unsettled(&self, id: JobId) -> bool {
        self.settling > 0 || self.awaits(|pending| pending.is_of(id))
    }

    /// Whether such a command is on its way into the ledger.
    fn awaits(&self, is_such: impl Fn(&Pending) -> bool) -> bool {
        self.pending.values().any(is_such)
    }
}

impl Pending {
    /// Whether the answer is about this job, which the farm must have then.
    fn is_of(&self, id: JobId) -> bool {
        match self {
            Pending::Job { id: job, .. }
            | Pending::State { job, .. }
            | Pending::Done { job }
            | Pending::Hold { job, .. }
            | Pending::Priority { job, .. }
            | Pending::Audit { job, .. }
            | Pending::FindAudits { job }
            | Pending::Archive { job, .. }
            | Pending::Unarchive { job, .. }
            | Pending::Remove { job, .. } => *job == id,
            Pending::Range { report, .. }
            | Pending::Compare { report, .. }
            | Pending::Doubt { report, .. }
            | Pending::Confirm { report, .. }
            | Pending::Dispute { report, .. }
            | Pending::Settle { report, .. } => report.job == id,
            Pending::Trust { .. } | Pending::Distrust { .. } => false,
        }
    }
}
