//! Who is trusted, and what becomes of the counts of those who are not any more.

use super::Farm;
use crate::stage::Stage;
use crate::{
    Answer, Asker, Dismissal, Effect, LedgerCommand, Milestone, Party, RequestId, SessionId, Vote,
    Withdrawn,
};

impl Farm {
    /// Somebody decided whether a party is trusted. The sessions of a party that is distrusted end
    /// at once. Its counts are taken back once the ledger has the decision.
    pub(super) fn change_trust(
        &mut self,
        request: RequestId,
        party: Party,
        trusted: bool,
        reason: String,
    ) {
        if trusted {
            self.distrusted.0.remove(&party);
        } else {
            self.distrust(std::iter::once(party.clone()));
        }
        self.settling += 1;
        self.command(Asker::Client(request), LedgerCommand::Trust { party, trusted, reason });
    }

    pub(super) fn trust_written(
        &mut self,
        request: RequestId,
        party: &Party,
        trusted: bool,
        withdrawn: &[Withdrawn],
    ) {
        self.settling -= 1;
        self.taken_back(withdrawn);
        let still = self.distrusted().filter(|other| trusted && other.overlaps(party));
        let answer = Ok(Answer::Distrusted(still.cloned().collect()));
        self.effects.push(Effect::Reply(request, answer));
    }

    pub(super) fn distrust(&mut self, parties: impl IntoIterator<Item = Party>) {
        self.distrusted.0.extend(parties);
        let is_theirs = |id: &SessionId| self.distrusted.includes(self.sessions[id].principal());
        let theirs: Vec<SessionId> = self.sessions.keys().copied().filter(is_theirs).collect();
        theirs.into_iter().for_each(|id| self.dismiss(id, Dismissal::Distrusted));
    }

    /// Takes in which rows the ledger has taken back. Afterwards it ends the jobs that waited for
    /// this, as far as no other settlement is under way.
    pub(super) fn taken_back(&mut self, withdrawn: &[Withdrawn]) {
        for withdrawn in withdrawn {
            self.withdraw(withdrawn);
        }
        for id in self.jobs.keys().copied().collect::<Vec<_>>() {
            self.end_if_certain(id);
            self.finish_if_covered(id);
        }
    }

    /// Puts the rows of one job that the ledger has taken back into the job's pool.
    fn withdraw(&mut self, withdrawn: &Withdrawn) {
        let Withdrawn { job: id, ranges, total, audits_wanted, audits_agreed } = withdrawn;
        let job = self.jobs.get_mut(id).expect("the ledger knows no other jobs");
        job.take_back(ranges);
        job.tasks_done -= ranges.len();
        job.total = job.total.checked_sub(*total).expect("the total includes its rows");
        let is_gone = |range| ranges.intersects(range);
        let mut leases = job.audits.drop(is_gone);
        let is_wrong = |vote: &Vote| self.distrusted.includes(&vote.principal);
        let is_over = |range, votes: &[Vote]| is_gone(range) || votes.iter().any(is_wrong);
        let disputes =
            job.disputes.extract_if(.., |&range, dispute| is_over(range, &dispute.votes));
        leases.extend(disputes.filter_map(|(_, dispute)| dispute.recount));
        job.audits.forget(*audits_wanted, *audits_agreed);
        for lease in leases {
            self.revoke(lease);
        }
        let is_suspended = matches!(self.jobs[id].stage, Stage::Suspended(_));
        if !ranges.is_empty() || is_suspended && *audits_wanted > 0 {
            self.reopen(*id);
        }
        if !ranges.is_empty() {
            self.reached(*id, Milestone::TakenBack);
            self.begin_wait(*id);
        }
        self.requeue(*id);
        self.find_audits(*id);
    }
}
