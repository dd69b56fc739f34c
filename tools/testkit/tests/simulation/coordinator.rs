//! The coordinator around the farm core: its clock, ledger, clients and crashes.

use std::num::NonZero;

use farm::{
    Asker, Dismissal, Effect, Event, Farm, JobSpec, Known, LeaseKey, LedgerCommand, Millis, Origin,
    Plan, Request, RequestId,
};

use testkit::{Random, mix};

use crate::agenda::Happening;
use crate::ledger::Done;
use crate::scenario::{ClientRequest, Submission};
use crate::world::World;

/// The key of lease tokens, in all lives of the coordinator.
const KEY: LeaseKey = LeaseKey::new([6; 32]);

/// The coordinator's clock, which is sometimes wrong.
#[derive(Default)]
pub struct Clock {
    /// How far it is ahead of the world's time, in ms.
    ahead: u64,
    /// While the clock stands still: until which time of the world it does (`.0`), and the time
    /// that it shows (`.1`).
    frozen: Option<(u64, u64)>,
    /// The latest time that was passed to the farm.
    reported: u64,
    /// The time at which the farm must have begun to lease.
    grace_ends: u64,
}

impl Clock {
    fn read(&mut self, now: u64) -> u64 {
        self.frozen = self.frozen.filter(|&(until, _)| until > now);
        self.frozen.map_or(now + self.ahead, |(_, time)| time)
    }

    pub fn thaw(&mut self) {
        self.frozen = None;
    }
}

impl World {
    pub fn farm_starts(&mut self) {
        if self.scenario.is_copied && self.random.per_mille(500) && self.ledger.go_back() {
            self.coverage.restored += 1;
            self.trace(|| "an older copy takes the place of the ledger".into());
        }
        let restored = self.ledger.reopen();
        self.epoch = restored.epoch;
        self.trace(|| format!("coordinator starts, {restored:?}"));
        self.clock = Clock { ahead: self.random.below(10_000), ..Clock::default() };
        let now = Millis(self.clock.read(self.agenda.now));
        self.clock.grace_ends = now.0 + self.scenario.config.grace_ms;
        let known = |plan: &Plan, shard| Known {
            task_ms: self.scenario.task_ms(plan),
            ..self.truths.known(plan, shard)
        };
        self.farm = Some(Farm::restore(self.scenario.config, KEY, now, restored, known));
        self.farm_wakes_at = None;
        self.model.restart(now.0, &self.ledger);
        for wanted in std::mem::take(&mut self.unanswered).into_values() {
            self.ask(self.agenda.now + 1, wanted);
        }
        self.step(Event::Tick);
    }

    /// Runs one step of the farm and its effects. The coordinator may crash after any of them.
    pub fn step(&mut self, event: Event) {
        let Some(mut farm) = self.farm.take() else { return };
        let now = self.strange_clock();
        self.trace(|| format!("  {event:?}"));
        self.coverage.steps += 1;
        self.model.event(now, &event, &mut self.coverage);
        let effects = farm.step(Millis(now), event.clone());
        self.model.step(&farm, &event, &effects, &mut self.coverage);
        self.clock.reported = self.clock.reported.max(now);
        let count = effects.len();
        for (index, effect) in effects.into_iter().enumerate() {
            self.trace(|| format!("    {effect:?}"));
            self.coverage.effects += 1;
            self.model.effect(&event, &effect, &self.ledger, &mut self.coverage);
            self.carry_out(effect);
            if self.random.below(100_000) < self.scenario.faults.crash_per_100k {
                self.coverage.cut_steps += u64::from(index + 1 < count);
                return self.crash();
            }
        }
        if self.clock.reported >= self.clock.grace_ends {
            self.model.check_idle();
        }
        let wakeup = farm.next_wakeup();
        self.farm = Some(farm);
        wakeup.into_iter().for_each(|at| self.wake_farm(at));
    }

    fn carry_out(&mut self, effect: Effect) {
        match effect {
            Effect::Tell(session, _) => {
                let (network, mut via) = self.network();
                network.send_down(session, &effect, &mut via);
                self.echo(&effect);
            }
            Effect::Dismiss(session, reason) => {
                let link = self.network.links.get_mut(&session).expect("it was opened");
                (link.cut, link.left) = (true, true);
                link.sent_away = reason == Dismissal::Distrusted;
                link.disowned = reason == Dismissal::Unproven;
                let at = self.soon(1, 100);
                self.agenda.plan(at, Happening::WorkerLosesSession { session });
            }
            Effect::Ledger(asker, command) => self.order(asker, command),
            Effect::Reply(request, _) => drop(self.unanswered.remove(&request)),
            Effect::RangeFailed { .. }
            | Effect::Lost { .. }
            | Effect::AtRest(..)
            | Effect::Contradicted(..) => {}
        }
    }

    fn order(&mut self, asker: Asker, command: LedgerCommand) {
        if self.ledger.queue.is_empty() {
            let at = self.soon(1, self.scenario.faults.commit_ms);
            self.agenda.plan(at, Happening::Commit { epoch: self.epoch });
        }
        self.ledger.queue.push_back((asker, command));
    }

    pub fn commit(&mut self, epoch: u64) {
        if epoch != self.epoch || self.farm.is_none() {
            return;
        }
        let batch = self.random.between(1, self.ledger.queue.len() as u64);
        self.ledger.commit(batch as usize, self.agenda.now);
        if self.scenario.is_copied {
            self.ledger.keep_copy();
        }
        self.trace(|| format!("ledger: {batch} durable"));
        if !self.ledger.queue.is_empty() {
            let at = self.soon(1, self.scenario.faults.commit_ms);
            self.agenda.plan(at, Happening::Commit { epoch });
        }
        for _ in 0..batch {
            let at = self.soon(0, 5);
            self.agenda.plan(at, Happening::Answer { epoch });
        }
    }

    pub fn deliver_answer(&mut self, epoch: u64) {
        if epoch != self.epoch || self.farm.is_none() {
            return;
        }
        let done = self.ledger.answers.pop_front().expect("one for each answer");
        self.model.reported(&done, &mut self.coverage);
        let Done { asker, command, answer, .. } = done;
        self.step(Event::Ledger { asker, command, answer, at_ms: 0 });
    }

    /// Crashes the coordinator. Its last writes may just have become durable.
    fn crash(&mut self) {
        self.coverage.crashes += 1;
        if self.random.per_mille(500) {
            self.ledger.disk.fades();
            let durable = self.random.below(self.ledger.queue.len() as u64 + 1);
            self.ledger.commit(durable as usize, self.agenda.now);
        }
        self.die();
    }

    /// Removes the coordinator, which will be started again.
    fn die(&mut self) {
        self.farm = None;
        self.coverage.omitted += self.ledger.answers.len() as u64;
        self.coverage.forgotten += self.ledger.queue.len() as u64;
        self.trace(|| format!("coordinator crashes, {} writes are lost", self.ledger.queue.len()));
        let commands = self.ledger.queue.iter().map(|(_, command)| command);
        let mut random = Random::new(mix(self.epoch ^ self.agenda.now));
        self.coverage.lost_sectors += self.ledger.disk.die(commands, &mut random);
        let at = self.soon(1, self.scenario.faults.down_ms);
        self.agenda.plan(at, Happening::FarmStarts);
        let links = self.network.links.iter_mut().filter(|(_, link)| link.epoch == self.epoch);
        for (&session, link) in links {
            link.cut = true;
            let at = self.agenda.now + self.random.scaled(1, 500);
            self.agenda.plan(at, Happening::WorkerLosesSession { session });
        }
    }

    pub fn requested(&mut self, request: RequestId, wanted: ClientRequest) {
        self.wishes_to_come -= 1;
        if self.farm.is_none() {
            // A client finds no coordinator, and tries again.
            let at = self.soon(10, 100);
            return self.ask(at, wanted);
        }
        let (job, ask) = match wanted {
            ClientRequest::Submit(Submission { plan, shard, priority, audit }) => {
                self.unanswered.insert(request, wanted);
                let spec = JobSpec { origin: Origin::default(), plan, shard, priority };
                let known = self.truths.known(&plan, shard);
                let known = Known { task_ms: self.scenario.task_ms(&plan), ..known }.into();
                (None, Request::Submit(vec![farm::Submission { spec, audit, known }]))
            }
            ClientRequest::Change(nth, change) => {
                let Some(count) = NonZero::new(self.ledger.jobs.len() as u64) else { return };
                let job = self.ledger.jobs.keys().nth((nth % count) as usize).copied();
                let job = job.expect("one of those that there are");
                (Some(job), Request::Change(job, change))
            }
        };
        self.model.asked(request, wanted, job);
        let by = format!("client-{}", request.0);
        self.step(Event::Asked(request, by, ask));
    }

    pub fn farm_wakes(&mut self, epoch: u64) {
        if epoch == self.epoch && self.farm_wakes_at.is_some_and(|at| at <= self.agenda.now) {
            self.farm_wakes_at = None;
            self.step(Event::Tick);
        }
    }

    fn wake_farm(&mut self, wakeup: Millis) {
        assert!(wakeup.0 > self.clock.reported, "{wakeup:?} is over: the coordinator would spin");
        let at = wakeup.0.saturating_sub(self.clock.ahead).max(self.agenda.now + 1);
        if self.farm_wakes_at.is_none_or(|planned| planned > at) {
            self.farm_wakes_at = Some(at);
            self.agenda.plan(at, Happening::FarmWakes { epoch: self.epoch });
        }
    }

    /// The time that is passed to the farm.
    fn strange_clock(&mut self) -> u64 {
        let now = self.agenda.now;
        if self.random.per_mille(self.scenario.faults.clock_per_mille) {
            match self.random.below(3) {
                0 => {
                    self.coverage.clock_jumps += 1;
                    self.clock.ahead += self.random.scaled(1, 20_000);
                }
                1 => {
                    self.coverage.clock_freezes += 1;
                    let time = self.clock.read(now);
                    self.clock.frozen = Some((now + self.random.scaled(1, 300), time));
                }
                _ => {
                    self.coverage.clock_freezes += 1;
                    return self.clock.read(now).saturating_sub(self.random.scaled(1, 1_000));
                }
            }
        }
        self.clock.read(now)
    }
}
