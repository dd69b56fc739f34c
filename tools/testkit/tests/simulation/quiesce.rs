//! The end of a history: the faults end, and every job must end soon.

use farm::{AuditPolicy, AuditScope, Change, Check, CountedRange, Event, JobId, JobState, JobView};

use crate::agenda::Happening;
use crate::bundles;
use crate::coverage::Coverage;
use crate::ledger::Ledger;
use crate::rows::Rows;
use crate::scenario::{ClientRequest, FaultRates, policy};
use crate::truth::HUGE_N;
use crate::world::World;

/// The time from the end of the faults to the end of the world, in the world's time.
const PATIENCE_MS: u64 = 60 * 60 * 1000;

impl World {
    pub fn quiesce(&mut self) {
        self.trace(|| "the faults end".into());
        self.quiet_since = Some(self.agenda.now);
        let stormy = std::mem::replace(&mut self.scenario.faults, FaultRates::none());
        self.scenario.deadly = self.scenario.deadly.filter(|deadly| deadly.stays);
        self.agenda.plan(self.agenda.now, Happening::Look);
        self.clock.thaw();
        self.scenario.is_copied = false;
        // Lost messages are sent again only in a new session, so sessions that may have lost some
        // are cut. Real messages are lost only with their session, too.
        let broken: Vec<_> = self
            .network
            .links
            .iter()
            .filter(|(_, link)| link.epoch == self.epoch && !link.left)
            .filter(|(_, link)| link.cut || !stormy.in_order)
            .map(|(&session, _)| session)
            .collect();
        for session in broken {
            self.network.links.get_mut(&session).expect("it was found").cut = true;
            let (here, there) = (self.soon(1, 50), self.soon(1, 50));
            self.agenda.plan(here, Happening::WorkerLosesSession { session });
            self.agenda.plan(there, Happening::FarmLosesSession { session });
        }
        for nth in 0..self.ledger.jobs.len() as u64 {
            if self.random.per_mille(500) {
                let at = self.soon(1, 1_000);
                self.ask(at, ClientRequest::Change(nth, Change::Resume));
            }
            if self.scenario.audited && self.random.per_mille(200) {
                let (at, policy) =
                    (self.soon(1, 60_000), policy(&mut self.random, self.scenario.across));
                self.ask(at, ClientRequest::Change(nth, Change::Audit { policy, narrows: true }));
            }
        }
    }

    /// A client reads the jobs and does what `queens jobs` recommends. Suspended jobs are audited
    /// if there are enough workers for that. If only failed tasks are left, the workers get a
    /// program that these tasks do not kill, and the jobs are resumed.
    pub fn look(&mut self) {
        let at = self.agenda.now + 5_000;
        self.agenda.plan(at, Happening::Look);
        let Some(farm) = &self.farm else { return };
        let views: Vec<JobView> = farm.jobs(.., |_| true).collect();
        let held =
            views.iter().filter(|view| view.state == JobState::Suspended && self.scenario.audited);
        let held: Vec<_> = held.map(|view| view.id).collect();
        let running: Vec<_> = views.iter().filter(|view| view.state == JobState::Running).collect();
        let is_stuck = |view: &JobView| {
            let tasks = view.spec.plan.ordinals(view.spec.shard).len();
            view.failed > 0 && view.tasks_done + view.failed == tasks
        };
        let is_stuck = running.iter().all(|view| is_stuck(view));
        let running: Vec<_> = running.iter().map(|view| view.id).collect();
        for id in held {
            let policy = AuditPolicy {
                share_ppm: AuditPolicy::ALL,
                seed: 3,
                by_reference: false,
                across: self.scenario.across,
            };
            self.ask_about(id, at - 4_500, Change::Audit { policy, narrows: true });
        }
        if !is_stuck {
            return;
        }
        if !running.is_empty() {
            self.trace(|| "the workers get another program".into());
            self.scenario.deadly = None;
        }
        self.coverage.stuck_on_failed += running.len() as u64;
        for id in running {
            self.ask_about(id, at - 4_000, Change::Resume);
        }
    }

    fn ask_about(&mut self, job: JobId, at: u64, change: Change) {
        let nth = self.ledger.jobs.keys().position(|&id| id == job);
        let nth = nth.expect("every job that the farm shows is durable") as u64;
        self.ask(at, ClientRequest::Change(nth, change));
    }

    pub fn check_progress(&self) {
        let Some(since) = self.quiet_since else { return };
        if self.agenda.now > since + PATIENCE_MS {
            let jobs: Vec<_> = self.farm.iter().flat_map(|farm| farm.jobs(.., |_| true)).collect();
            let restless: Vec<_> = self.workers.iter().map(|w| w.agent.as_ref()).collect();
            panic!("an hour has passed and it is not over: {jobs:#?}\n{restless:?}");
        }
    }

    /// Whether nothing is left to do.
    pub fn is_over(&self) -> bool {
        let goes_on = |state| match state {
            JobState::Running => true,
            JobState::Suspended => self.scenario.audited,
            JobState::Paused | JobState::Cancelled | JobState::Done => false,
        };
        self.quiet_since.is_some()
            && self.farm.is_some()
            && self.wishes_to_come == 0
            && self.ledger.queue.is_empty()
            && self.ledger.answers.is_empty()
            && self.workers.iter().all(|worker| worker.hung || worker.is_settled())
            && !self.ledger.jobs.keys().any(|&id| {
                let state = self.ledger.state(id);
                let is_audited = || self.ledger.stored(id).waits();
                goes_on(state) || state == JobState::Done && is_audited()
            })
    }

    /// Checks the final state.
    pub fn judge(&mut self) {
        self.model.end();
        for view in self.farm.as_ref().expect("it is up").jobs(.., |_| true) {
            assert_eq!(view.workers, 0, "a lease remains: {view:?}");
        }
        let hours = |farm: &Option<farm::Farm>| {
            let farm = farm.as_ref().expect("it is up");
            (farm.owners(), farm.jobs(.., |_| true).map(|view| view.hours).collect::<Vec<_>>())
        };
        let taken = hours(&self.farm);
        // The ledger must report the same without the farm.
        self.ledger.disk.close();
        self.farm_starts();
        self.step(Event::Tick);
        assert_eq!(hours(&self.farm), taken, "what jobs and owners have taken");
        let world = self;
        let farm = world.farm.as_ref().expect("it is up");
        world.coverage += world.ledger.coverage;
        if world.exports {
            bundles::check(&world.ledger.disk.evidence(), &world.ledger);
        }
        for (&id, job) in &world.ledger.jobs {
            let view = farm.job(id).expect("every durable job");
            let (state, rows) = (world.ledger.state(id), Rows::of(&world.ledger.stored(id).rows));
            assert_eq!((view.state, view.counted), (state, rows.total), "job {id}");
            let audits = (view.audits_wanted, view.audits_agreed);
            assert_eq!(audits, (rows.wanted, rows.agreed), "job {id}");
            match state {
                JobState::Running => panic!("job {id} is not over"),
                JobState::Paused => world.coverage.jobs_resting += 1,
                JobState::Suspended => world.coverage.jobs_suspended += 1,
                JobState::Cancelled => world.coverage.jobs_cancelled += 1,
                JobState::Done => {
                    world.ledger.check_end(id, &mut world.coverage);
                    world.coverage.jobs_over_64_bits += u64::from(view.counted > u64::MAX.into());
                    assert!(job.plan.problem.n() == HUGE_N || view.counted < 1 << 64);
                }
            }
        }
    }
}

impl Ledger {
    /// Checks that a job that is done has the exact total, except for lies that nothing checked.
    fn check_end(&self, id: JobId, coverage: &mut Coverage) {
        let (job, stored) = (&self.jobs[&id], self.stored(id));
        let mut trusted = 0;
        for CountedRange { row, check } in stored.rows.values() {
            if job.truth.checked_count(row.range) == Some(row.checked_count) {
                continue;
            }
            trusted += 1;
            let owner = |row: &farm::Row| row.provenance.principal.owner.clone();
            let second = stored.seconds.get(&row.range.start());
            let policy = stored.job.policy;
            let is_across = policy.is_some_and(|policy| policy.across == AuditScope::Owners);
            if self.lying > 0 && *check == Check::Agreed && !is_across {
                assert_eq!(second.map(owner), Some(owner(row)), "two owners agreed: {row:?}");
                continue;
            }
            if self.lying > 0 && *check == Check::NotChosen {
                continue; // Its owner may have lied there before, under another name.
            }
            let mut evidence = self.evidence.iter();
            let found_out =
                evidence.find(|&&(of, range)| of == id && range.intersect(row.range).is_some());
            assert!(found_out.is_none(), "{row:?} stayed, against {found_out:?}");
            assert_eq!(*check, Check::NotChosen, "a lie that was counted twice: {row:?}");
            assert!(
                !self.is_distrusted(&row.provenance.principal),
                "of one that was proven wrong: {row:?}"
            );
        }
        let (total, sum) = (job.truth.total(&job.ordinals), Rows::of(&stored.rows).total);
        if stored.job.policy.is_some_and(|policy| policy.share_ppm == AuditPolicy::ALL) {
            let is_own_word = self.lying > 0
                && stored.job.policy.is_some_and(|policy| policy.across == AuditScope::Machines);
            assert!((trusted, sum) == (0, total) || is_own_word, "job {id} was counted twice");
            let mut rows = stored.rows.values();
            assert!(rows.all(|counted| counted.check == Check::Agreed), "job {id}");
            coverage.certified += 1;
            coverage.certified_against_liars += u64::from(!self.distrusted().0.is_empty());
        }
        if trusted == 0 {
            assert_eq!(sum, total, "the total of job {id}");
            coverage.jobs_done += 1;
        }
        coverage.trusted += trusted;
        coverage.shards += u64::from(!job.shard.is_all());
        coverage.jobs_without_tasks += u64::from(job.ordinals.is_empty());
    }
}
