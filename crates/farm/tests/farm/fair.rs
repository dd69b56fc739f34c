//! Tests that no worker keeps a job to itself, and that no single worker decides when a job ends.
//!
//! The workers are models with a speed. They count their leases in order, report once a second and
//! when a lease is finished, and stop when they are told to, but only after the current task.

use std::collections::VecDeque;

use farm::{
    CoordinatorMessage, Effect, Event, Hello, IntervalSet, JobState, Lease, Range, Report,
    SessionId,
};
use testkit::Random;

use crate::scene::{CONFIG, Scene, hello, report_of};

/// The time between two steps of the workers, in ms.
pub const STEP_MS: u64 = 50;
const REPORT_MS: u64 = 1_000;

/// A worker that counts.
pub struct Model {
    pub session: SessionId,
    tasks_per_ms: f64,
    /// The periods in which it counts nothing, in ms.
    stalls: Vec<(u64, u64)>,
    /// The time at which its process is killed, in ms.
    dies_at: u64,
    queue: VecDeque<(Lease, Range)>,
    /// The counted part of the current task.
    begun: f64,
    /// The counted range that is not reported yet, and the time since when, in ms.
    done: Option<(Lease, Range, u64)>,
}

impl Model {
    pub fn new(session: SessionId, tasks_per_ms: f64) -> Model {
        let (stalls, queue) = (Vec::new(), VecDeque::new());
        Model { session, tasks_per_ms, stalls, dies_at: u64::MAX, queue, begun: 0.0, done: None }
    }

    fn runs(&self, now: u64) -> bool {
        now < self.dies_at && !self.stalls.iter().any(|&(from, until)| (from..until).contains(&now))
    }

    pub fn takes(&mut self, effect: &Effect) {
        match effect {
            Effect::Tell(session, CoordinatorMessage::Lease(lease)) if *session == self.session => {
                self.queue.push_back((*lease, lease.range));
            }
            Effect::Tell(session, CoordinatorMessage::Revoke(lease))
                if *session == self.session =>
            {
                let current = self.queue.front().map(|(lease, left)| (*lease, left.first(1)));
                self.queue.retain(|(held, _)| held.id != *lease);
                if let Some(current) = current.filter(|(held, _)| held.id == *lease) {
                    self.queue.push_front(current);
                }
            }
            _ => {}
        }
    }

    /// Counts for a step. Returns the reports that are due.
    pub fn count(&mut self, now: u64) -> Vec<Report> {
        let mut reports = Vec::new();
        self.begun += self.tasks_per_ms * STEP_MS as f64;
        while self.begun >= 1.0
            && let Some((lease, left)) = self.queue.pop_front()
        {
            let range = left.first(self.begun as u64);
            self.begun -= range.len() as f64;
            let (begins, since) = match self.done.take() {
                Some((done, earlier, since)) if done.id == lease.id => (earlier.start(), since),
                other => {
                    reports.extend(other.map(|(lease, range, _)| self.of(&lease, range)));
                    (range.start(), now)
                }
            };
            let range = Range::new(begins, range.end()).expect("it grows");
            match Range::new(range.end(), left.end()) {
                Some(rest) => {
                    self.queue.push_front((lease, rest));
                    self.done = Some((lease, range, since));
                }
                None => reports.push(self.of(&lease, range)),
            }
        }
        if self.queue.is_empty() {
            // This is the most that it could count of a lease that arrives now.
            self.begun = self.begun.min(self.tasks_per_ms * STEP_MS as f64);
        }
        if self.done.is_some_and(|(.., since)| now >= since + REPORT_MS) {
            let done = self.done.take();
            reports.extend(done.map(|(lease, range, _)| self.of(&lease, range)));
        }
        reports
    }

    fn of(&self, lease: &Lease, range: Range) -> Report {
        let busy_us = (range.len() as f64 / self.tasks_per_ms * 1e3) as u64;
        Report { busy_us, ..report_of(lease, range) }
    }
}

/// Makes the workers read their messages and count for a step.
pub fn step(scene: &mut Scene, models: &mut [Model]) {
    for effect in &scene.sent[scene.seen..] {
        models.iter_mut().for_each(|model| model.takes(effect));
    }
    scene.seen = scene.sent.len();
    let now = scene.now + STEP_MS;
    scene.tick(now);
    for model in models.iter_mut().filter(|model| model.runs(now)) {
        for report in model.count(now) {
            scene.report_as_is(model.session, report);
        }
    }
}

/// The delay of a job's end compared with the ideal, in ms. The job has many workers whose speeds
/// differ by a factor of 1,000. A third of them stall, and a third die. Some do so more than once,
/// and some near the end.
fn delay_ms(seed: u64) -> u64 {
    let mut random = Random::new(seed);
    let mut scene = Scene::new();
    let job = scene.submit(30_000, 0);
    let count = random.between(6, 17);
    let mut models: Vec<Model> = Vec::new();
    for number in 1..=count {
        let session = scene.join(&format!("w{number}"), 1 << 40);
        let mut model = Model::new(session, 0.000_3 * 1_000_f64.powf(random.share()));
        // The first worker does not die, so that the job ends.
        match random.below(3) {
            0 if number > 1 => model.dies_at = random.below(300_000),
            1 => {
                for _ in 0..2 {
                    let from = random.below(300_000);
                    model.stalls.push((from, from + random.between(1_000, 200_000)));
                }
            }
            _ => {}
        }
        models.push(model);
    }
    let (mut counted, mut ideal) = (0.0, None);
    while scene.state(job).0 != JobState::Done {
        let now = scene.now + STEP_MS;
        for model in &models {
            if (scene.now..now).contains(&model.dies_at) {
                // Tasks that it has counted and not reported are lost under any policy.
                counted -= model.done.map_or(0.0, |(_, range, _)| range.len() as f64);
                scene.act(Event::Left(model.session));
            }
            counted += if model.runs(now) { model.tasks_per_ms * STEP_MS as f64 } else { 0.0 };
        }
        step(&mut scene, &mut models);
        if counted >= 30_000.0 && ideal.is_none() {
            ideal = Some(now);
        }
        assert!(now < 100_000_000, "seed {seed} does not end");
    }
    assert_eq!(scene.state(job).1, 30_000);
    scene.now.saturating_sub(ideal.unwrap_or(scene.now))
}

#[test]
fn the_end_comes_within_two_leases_of_the_ideal() {
    let seeds =
        std::env::var("QUEENS_SIM_SEEDS").map_or(12, |seeds| seeds.parse().expect("a number"));
    let mut delays: Vec<(u64, u64)> = (0..seeds).map(|seed| (delay_ms(seed), seed)).collect();
    delays.sort_unstable();
    let at = |share: f64| delays[((delays.len() - 1) as f64 * share) as usize];
    println!(
        "later than ideal: median {} ms, 99 of 100 {} ms, worst {:?}",
        at(0.5).0,
        at(0.99).0,
        at(1.0)
    );
    assert!(at(1.0).0 <= 2 * CONFIG.lease_ms, "{:?}", at(1.0));
}

/// The number of tasks of N = 18.
const TASKS: u64 = 160_850;

/// Twenty sessions of one credential claim 4,096 threads and take 2^63 tasks. They report one task
/// just in time to keep their leases.
#[test]
fn false_thread_numbers_and_slow_reports_block_no_other_worker() {
    let mut scene = Scene::new();
    let job = scene.submit(TASKS, 0);
    for number in 1..=20 {
        let hello = Hello { threads: 4_096, ..hello(&format!("w{number}"), 1 << 63) };
        scene.join_as(SessionId(number), "eve", hello);
    }
    let mut honest = [21, 22].map(|number| {
        let session = SessionId(number);
        scene.join_as(session, "rack7", hello(&format!("w{number}"), 1 << 40));
        Model::new(session, 0.4)
    });
    let mut idle_ms = 0;
    let mut trickled: Vec<(Lease, u64)> = Vec::new();
    while scene.state(job).0 != JobState::Done {
        for effect in &scene.sent[scene.seen..] {
            match effect {
                Effect::Tell(session, CoordinatorMessage::Lease(lease)) if session.0 <= 20 => {
                    trickled.push((*lease, 0))
                }
                Effect::Tell(_, CoordinatorMessage::Revoke(lease)) => {
                    trickled.retain(|(held, _)| held.id != *lease)
                }
                _ => {}
            }
        }
        step(&mut scene, &mut honest);
        if scene.now.is_multiple_of(59_000) {
            for (lease, reported) in &mut trickled {
                let task = lease.range.start() + *reported;
                let session = holder(&scene, lease);
                if let (Some(session), Some(task)) = (session, Range::new(task, task + 1)) {
                    scene.report_as_is(session, report_of(lease, task));
                    *reported += 1;
                }
            }
            trickled.retain(|(lease, reported)| *reported < lease.range.len());
        }
        // No honest worker may be idle while there are tasks that no honest worker has.
        let at_work: IntervalSet =
            honest.iter().flat_map(|model| held(&scene, model.session)).collect();
        let view = scene.farm.job(job).expect("it exists");
        let is_left = view.tasks_done + at_work.len() < TASKS;
        let is_idle = honest.iter().any(|model| held(&scene, model.session).next().is_none());
        idle_ms += if is_left && is_idle { STEP_MS } else { 0 };
    }
    let ideal_ms = TASKS as f64 / 0.8;
    println!("ends at {} ms, ideally at {ideal_ms:.0} ms; idle for {idle_ms} ms", scene.now);
    assert_eq!((scene.state(job).1, idle_ms), (TASKS.into(), 0));
    assert!(scene.now as f64 <= ideal_ms + 2.0 * CONFIG.lease_ms as f64, "{} ms", scene.now);
}

/// The ranges that the farm expects from a session.
fn held(scene: &Scene, session: SessionId) -> impl Iterator<Item = Range> {
    let held = scene.farm.leased_to(session);
    held.flat_map(|(_, _, open)| open.iter())
}

fn holder(scene: &Scene, lease: &Lease) -> Option<SessionId> {
    let mut sessions = (1..=20).map(SessionId);
    sessions.find(|&id| scene.farm.leased_to(id).any(|(held, ..)| held == lease.id))
}
