//! The workers around the agent: their sessions, threads and faults.

use farm::{CoordinatorMessage, Effect, Event, Millis, Report, SessionId, WorkerMessage};

use crate::agenda::Happening;
use crate::world::World;

impl World {
    /// Delivers a message to the coordinator.
    pub fn up(&mut self, session: SessionId, serial: u64, message: WorkerMessage) {
        let link = self.network.arrived_up(session, serial, &mut self.coverage);
        if link.epoch != self.epoch || link.left || self.farm.is_none() {
            return;
        }
        match message {
            // The coordinator opens a session once, even if the message is repeated.
            WorkerMessage::Hello(_) if link.joined => {}
            WorkerMessage::Hello(hello) => {
                link.joined = true;
                let owner = self.workers[link.worker].traits.owner.clone();
                let is_trusted = self.workers[link.worker].traits.is_trusted;
                self.step(Event::Joined { session, owner, is_trusted, hello });
            }
            WorkerMessage::Credit(credit) => {
                self.step(Event::Said(session, WorkerMessage::Credit(credit)))
            }
            WorkerMessage::Working(lease) => {
                self.coverage.signs_of_life += 1;
                self.step(Event::Said(session, WorkerMessage::Working(lease)));
            }
            WorkerMessage::Draining => self.step(Event::Said(session, WorkerMessage::Draining)),
            WorkerMessage::Report(report) => {
                let worker = link.worker;
                self.check_report(worker, &report);
                if self.random.per_mille(self.scenario.faults.nonsense_per_mille) {
                    let report = self.mangled(report.clone());
                    self.step(Event::Said(session, WorkerMessage::Report(report)));
                }
                self.step(Event::Said(session, WorkerMessage::Report(report)));
            }
        }
    }

    /// Checks that the counts of a report are right after the agent has cut and joined its
    /// ranges.
    fn check_report(&mut self, worker: usize, report: &Report) {
        let job = &self.ledger.jobs[&report.job];
        let honest = self.workers[worker].traits.lies_per_mille == 0;
        let right = job.truth.checked_count(report.range) == Some(report.checked_count);
        assert!(right || !honest, "worker {worker} reports what its threads have not counted");
    }

    fn mangled(&mut self, mut report: Report) -> Report {
        self.coverage.nonsense += 1;
        report.checked_count.count ^= 1;
        match self.random.below(4) {
            0 => report.fingerprint.0[0] ^= 1,
            1 => report.job.0 += 1_000,
            2 => {}
            _ => {
                let tasks = self.ledger.jobs[&report.job].plan.tasks;
                let range = farm::Range::new(report.range.start(), tasks + 1);
                report.range = range.expect("it starts in the plan");
            }
        }
        report
    }

    /// Delivers a message to a worker.
    pub fn down(&mut self, session: SessionId, serial: u64, effect: Effect) {
        let worker = self.network.links[&session].worker;
        let Some(there) = self.workers.get_mut(worker).filter(|w| w.session == Some(session))
        else {
            return;
        };
        if there.hung {
            // The message waits in a buffer, which only the hanging process reads.
            let at = self.agenda.now + 100;
            if !there.traits.hopeless {
                self.agenda.plan(at, Happening::Down { session, serial, effect });
            }
            return;
        }
        self.network.arrived_down(session, serial, &mut self.coverage);
        match effect {
            Effect::Tell(_, CoordinatorMessage::Lease(lease)) => there.leased(lease),
            Effect::Tell(_, CoordinatorMessage::Revoke(lease)) => {
                there.revoked(&mut self.random, lease)
            }
            Effect::Tell(_, CoordinatorMessage::Ack(ack)) => there.acked(&ack),
            _ => unreachable!("nothing else is sent to workers"),
        }
        self.go_on(worker);
    }

    /// Gives a lease to a second worker as well. Without a second count, no lie would be found.
    pub fn echo(&mut self, effect: &Effect) {
        let Effect::Tell(session, CoordinatorMessage::Lease(lease)) = *effect else {
            return;
        };
        let holder = self.network.links[&session].worker;
        let other = self.random.below(self.workers.len() as u64) as usize;
        if self.random.per_mille(self.workers[holder].traits.echo_per_mille)
            && other != holder
            && !self.workers[other].hung
        {
            self.workers[other].leased(lease);
            self.occupy(other);
        }
    }

    pub fn farm_loses(&mut self, session: SessionId) {
        let link = self.network.links.get_mut(&session).expect("links are never removed");
        let known = link.epoch == self.epoch && link.joined && !link.left;
        link.left = true;
        if known {
            self.step(Event::Left(session));
        }
    }

    pub fn worker_loses(&mut self, session: SessionId) {
        let index = self.network.links[&session].worker;
        let worker = &mut self.workers[index];
        if worker.session != Some(session) {
            return;
        }
        if self.network.links[&session].sent_away {
            self.trace(|| format!("w{index} is sent away"));
            self.coverage.sent_away += 1;
            return self.end_worker(index);
        }
        let disowned = self.network.links[&session].disowned;
        let worker = &mut self.workers[index];
        worker.session = None;
        worker.agent.as_mut().expect("a session has an agent").disconnected();
        if disowned {
            worker.disowned();
        }
        let life = worker.life;
        let at = self.soon(1, 300);
        self.agenda.plan(at, Happening::WorkerConnects { worker: index, life });
    }

    pub fn worker_starts(&mut self, worker: usize) {
        if self.workers[worker].agent.is_none() {
            let owner = self.workers[worker].traits.owner.clone();
            let instance = self.instances.entry(owner).or_default();
            *instance += 1;
            self.workers[worker].start(*instance);
            self.worker_connects(worker, self.workers[worker].life);
        }
    }

    pub fn worker_connects(&mut self, index: usize, life: u64) {
        let worker = &mut self.workers[index];
        let Some(agent) = worker.agent.as_mut().filter(|_| worker.life == life) else { return };
        if worker.session.is_some() || worker.hung {
            return;
        }
        if self.farm.is_none() {
            let at = self.soon(10, 200);
            return self.agenda.plan(at, Happening::WorkerConnects { worker: index, life });
        }
        let session = self.network.open(index, self.epoch);
        worker.session = Some(session);
        let hello = agent.connected();
        if let WorkerMessage::Hello(hello) = &hello {
            worker.check_hello(hello);
        }
        self.trace(|| format!("w{index} connects as {session}"));
        let (network, mut via) = self.network();
        network.send_up(session, hello, &mut via);
        self.go_on(index);
    }

    pub fn worker_wakes(&mut self, index: usize, life: u64) {
        if self.workers[index].life == life {
            self.go_on(index);
        }
    }

    pub fn counted(&mut self, index: usize, life: u64, thread: usize) {
        if self.workers[index].life == life {
            if self.is_killed(index, thread) {
                self.trace(|| format!("w{index} is killed by its task"));
                self.coverage.killed_by_tasks += 1;
                return self.end_worker(index);
            }
            let (now, worker) = (self.agenda.now, &mut self.workers[index]);
            self.coverage.lies += worker.counted(now, thread, &mut self.random, &mut self.truths);
            self.go_on(index);
        }
    }

    fn is_killed(&self, index: usize, thread: usize) -> bool {
        if self.workers[index].traits.is_broken && self.quiet_since.is_none() {
            return true;
        }
        let counting = self.workers[index].counting(thread).zip(self.scenario.deadly);
        counting.is_some_and(|((plan, range), deadly)| deadly.kills(plan, range))
    }

    pub fn unhang(&mut self, index: usize, life: u64) {
        let worker = &mut self.workers[index];
        if worker.life != life || !worker.hung {
            return;
        }
        let ready = worker.unhang();
        if worker.session.is_none() {
            let at = self.agenda.now;
            self.agenda.plan(at, Happening::WorkerConnects { worker: index, life });
        }
        ready.into_iter().for_each(|thread| self.counted(index, life, thread));
        self.go_on(index);
    }

    /// Continues after any event of a worker: the worker sends what is due, and its threads get
    /// work.
    fn go_on(&mut self, index: usize) {
        self.occupy(index);
        let now = self.agenda.now;
        let worker = &mut self.workers[index];
        let Some(agent) = worker.agent.as_mut().filter(|_| !worker.hung) else { return };
        let messages = agent.poll(Millis(now));
        let wakeup = agent.next_wakeup();
        let (session, life) = (worker.session, worker.life);
        for message in messages {
            let session = session.expect("without a session there is nothing to say");
            self.trace(|| format!("w{index} says {message:?}"));
            let (network, mut via) = self.network();
            network.send_up(session, message, &mut via);
        }
        if let Some(Millis(at)) = wakeup {
            assert!(at > now, "worker {index} would spin");
            let worker = &mut self.workers[index];
            if worker.wakes_at.is_none_or(|planned| planned <= now || planned > at) {
                worker.wakes_at = Some(at);
                self.agenda.plan(at, Happening::WorkerWakes { worker: index, life });
            }
        }
        let worker = &self.workers[index];
        if worker.stopping && worker.is_settled() {
            self.trace(|| format!("w{index} has settled, and ends"));
            self.end_worker(index);
        }
    }

    fn occupy(&mut self, index: usize) {
        let worker = &mut self.workers[index];
        let life = worker.life;
        for (thread, busy_ms) in worker.occupy(&mut self.random, &mut self.truths) {
            let at = self.agenda.now + busy_ms;
            self.agenda.plan(at, Happening::Counted { worker: index, life, thread });
        }
    }

    /// Removes a worker's process. Another one will be started.
    fn end_worker(&mut self, worker: usize) {
        self.cut(worker);
        self.workers[worker].die();
        let longest = if self.workers[worker].traits.is_broken { 100 } else { 3_000 };
        let at = self.soon(10, longest);
        self.agenda.plan(at, Happening::WorkerStarts { worker });
    }

    /// Cuts a worker's session. Both ends will notice it later.
    fn cut(&mut self, worker: usize) {
        let Some(session) = self.workers[worker].session else { return };
        self.network.links.get_mut(&session).expect("links are never removed").cut = true;
        let at = self.soon(1, 500);
        self.agenda.plan(at, Happening::WorkerLosesSession { session });
        let half_open = self.random.per_mille(300);
        self.coverage.breaks += 1;
        self.coverage.half_open += u64::from(half_open);
        let at = if half_open { self.soon(1_000, 20_000) } else { self.soon(1, 300) };
        self.agenda.plan(at, Happening::FarmLosesSession { session });
    }

    /// Injects a fault into some worker, and plans the next one.
    pub fn inject_fault(&mut self) {
        let Some(pause) = self.scenario.faults.fault_ms.checked_mul(2) else { return };
        let at = self.agenda.now + 1 + self.random.below(pause) / self.workers.len() as u64;
        self.agenda.plan(at, Happening::Fault);
        let index = self.random.below(self.workers.len() as u64) as usize;
        let worker = &mut self.workers[index];
        if worker.agent.is_none() {
            return;
        }
        let life = worker.life;
        match self.random.below(10) {
            0..5 => {
                self.trace(|| format!("w{index}'s session breaks"));
                self.cut(index);
            }
            5..7 => {
                self.trace(|| format!("w{index} dies"));
                self.coverage.deaths += 1;
                self.end_worker(index);
            }
            7..9 if !worker.hung => {
                self.coverage.hangs += 1;
                worker.hung = true;
                if worker.traits.hopeless {
                    self.coverage.hung_for_good += 1;
                } else {
                    let at = self.soon(50, 5_000);
                    self.agenda.plan(at, Happening::Unhang { worker: index, life });
                }
                self.trace(|| format!("w{index} hangs"));
            }
            _ if !worker.hung => {
                self.coverage.stops += 1;
                self.trace(|| format!("w{index} is asked to stop"));
                self.workers[index].stop();
                self.go_on(index);
            }
            _ => {}
        }
    }
}
