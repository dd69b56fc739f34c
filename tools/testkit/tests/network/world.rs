//! One seed: a farm, its faults, and the total that must come of it.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use board::{MethodChoice, Problem};
use farm::{JobState, Plan};
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use rand::{RngExt, SeedableRng};
use tempfile::TempDir;
use turmoil::{Builder, Sim};

use super::client::{LONG, Told, client};
use super::faults::{CLIENT, Fault, Kind, LinkFault, QUICK_MS, TROUBLE_MS, revive};
use super::hosts;
use super::places::Places;
use super::tally::Tally;
use ledger::CheckedLedger;
use service::coordinator::Plans;
use testkit::hostile_worker::Harm;

/// How long a healed farm may take. Dead connections are noticed after 20 s, leases of the dead
/// expire, and what a crashed worker had counted is counted again.
const RECOVERY: Duration = Duration::from_secs(180);
const TICK: Duration = Duration::from_millis(10);

/// Runs one seed to its end; what happened in it.
pub(super) fn run(seed: u64) -> Tally {
    let mut random = StdRng::seed_from_u64(seed);
    let problem = Problem::Total { n: random.random_range(8..=10) };
    let methods = [
        MethodChoice::Rows { rows: Some(2) },
        MethodChoice::Rows { rows: Some(3) },
        MethodChoice::Ring { width: Some(1) },
        MethodChoice::Halves,
    ];
    let method = *methods.choose(&mut random).expect("there are methods");
    let workers = workers(random.random_range(2..=4));
    let standbys = *[0, 1, 1, 2, 2].choose(&mut random).expect("there are numbers");
    let mut world = World::new(&mut random, problem, method, &workers, standbys);
    let names = world.places.names();
    let mut faults: Vec<Fault> = (0..random.random_range(3..=8))
        .map(|_| Fault::draw(&mut random, &workers, &names))
        .collect();
    if let [first, second, third] = names[..]
        && random.random_bool(0.5)
    {
        faults.extend(both_take_over(&mut random, [first, second, third]));
    }
    faults.sort_by_key(|fault| fault.begins);

    world.step_through(&faults);
    world.assert_exact()
}

/// A coordinator that is lost while its stand-by has a whole copy: it dies, or nobody can reach it any more. Returns how long
/// it takes until the stand-by serves.
pub(super) fn lose_the_coordinator(seed: u64, dies: bool) -> Duration {
    let mut random = StdRng::seed_from_u64(seed);
    let (problem, method) = (Problem::Total { n: 9 }, MethodChoice::Rows { rows: Some(2) });
    let workers = workers(2);
    let mut world = World::new(&mut random, problem, method, &workers, 1);
    let [coordinator, standby] = world.places.names()[..] else { panic!("there are two places") };
    let begins = Duration::from_millis(random.random_range(5_000..10_000));
    let fault = |kind| Fault { kind, begins, ends: Duration::from_millis(TROUBLE_MS.end) };
    let cut = |from: &str| Kind::Link(LinkFault::Partition, from.into(), coordinator.into());
    let everybody = workers.iter().map(String::as_str).chain([CLIENT, standby]);
    let faults: Vec<Fault> = match dies {
        true => vec![fault(Kind::Crash(coordinator.into()))],
        false => everybody.map(|from| fault(cut(from))).collect(),
    };
    world.step_through(&faults);
    let took_over = world.places.iter().find_map(|place| place.took_over.get());
    world.assert_exact();
    took_over.expect("the stand-by has taken over") - begins
}

/// A coordinator is lost to two stand-bys that cannot hear each other, until the network heals.
fn both_take_over(random: &mut StdRng, [first, second, third]: [&str; 3]) -> [Fault; 2] {
    let begins = Duration::from_millis(random.random_range(5_000..10_000));
    let ends = Duration::from_millis(TROUBLE_MS.end);
    let kinds =
        [Kind::Crash(first.into()), Kind::Link(LinkFault::Partition, second.into(), third.into())];
    kinds.map(|kind| Fault { kind, begins, ends })
}

/// Two stand-bys of which each takes over while it cannot hear the other one. Returns whether both have served.
pub(super) fn tie(seed: u64) -> bool {
    let mut random = StdRng::seed_from_u64(seed);
    let (problem, method) = (Problem::Total { n: 9 }, MethodChoice::Rows { rows: Some(2) });
    let mut world = World::new(&mut random, problem, method, &workers(2), 2);
    let [first, second, third] = world.places.names()[..] else { panic!("there are three") };
    world.step_through(&both_take_over(&mut random, [first, second, third]));
    world.assert_exact().tied > 0
}

/// Every kind of flood at once, beside two who work; how often each was dismissed.
pub(super) fn flood() -> Vec<u64> {
    let mut random = StdRng::seed_from_u64(0);
    let (problem, method) = (Problem::Total { n: 10 }, MethodChoice::Rows { rows: Some(3) });
    let mut world = World::new(&mut random, problem, method, &workers(2), 0);
    let harms: Vec<Arc<Harm>> = hosts::FLOODS.iter().map(|_| Arc::default()).collect();
    for (index, (&attack, harm)) in hosts::FLOODS.iter().zip(&harms).enumerate() {
        let (plan, harm, farm) = (world.plan, harm.clone(), world.places.endpoint());
        world.sim.host(format!("hostile-{index}"), move || {
            hosts::hostile(attack, plan, harm.clone(), farm.clone())
        });
    }
    world.step_through(&[]);
    world.assert_exact();
    harms.iter().map(|harm| harm.dismissals.load(Ordering::Relaxed)).collect()
}

fn workers(number: usize) -> Vec<String> {
    (0..number).map(|index| format!("worker-{index}")).collect()
}

/// A farm with one long job, and some that are soon counted.
struct World {
    sim: Sim<'static>,
    plan: Plan,
    places: Rc<Places>,
    tally: Tally,
    /// What the client was told in the end.
    told: Rc<RefCell<Option<Told>>>,
    _folder: TempDir,
}

impl World {
    fn new(
        random: &mut StdRng,
        problem: Problem,
        method: MethodChoice,
        workers: &[String],
        standbys: usize,
    ) -> World {
        let plan = Plans::default().make(problem, method).expect("such a plan exists");
        // So that the job is under way as long as there is trouble.
        let pace_ms = (TROUBLE_MS.end * workers.len() as u64 / plan.tasks).clamp(1, 2_000);
        let folder = tempfile::tempdir().expect("a temporary directory");
        let mut sim = Builder::new()
            .rng_seed(random.random())
            .tick_duration(TICK)
            .simulation_duration(Duration::from_secs(3_600))
            .min_message_latency(Duration::from_millis(1))
            .max_message_latency(Duration::from_millis(QUICK_MS))
            .tcp_capacity(4_096)
            .build();
        let places = Rc::new(Places::new(folder.path(), standbys));
        for place in places.iter() {
            let (name, place) = (place.name, place.clone());
            sim.host(name, move || place.clone().live());
        }
        for name in workers {
            let (worker, lives) = (name.clone(), Cell::new(random.random::<u64>()));
            let farm = places.endpoint();
            sim.host(name.as_str(), move || {
                lives.set(lives.get().wrapping_add(1));
                hosts::worker(worker.clone(), lives.get(), pace_ms, farm.clone())
            });
        }
        let told = Rc::new(RefCell::new(None));
        let (tell, asked) = (told.clone(), places.clone());
        sim.client(CLIENT, async move {
            *tell.borrow_mut() = Some(client(problem, method, asked).await?);
            Ok(())
        });
        World { sim, plan, places, tally: Tally::default(), told, _folder: folder }
    }

    /// Until the client has seen the end, with every fault at its time.
    fn step_through(&mut self, faults: &[Fault]) {
        let World { sim, places, tally, .. } = self;
        let latest = Duration::from_millis(TROUBLE_MS.end) + RECOVERY;
        let is_due = |at: Duration, now: Duration| at <= now && now < at + TICK;
        let (mut has_two, mut has_tie) = (false, false);
        loop {
            let now = sim.elapsed();
            assert!(now < latest, "no end after {now:?}: {places:?}, with {faults:?}");
            for fault in faults {
                if is_due(fault.ends, now) {
                    fault.end(sim);
                }
                if is_due(fault.begins, now) {
                    fault.count(tally, places);
                    fault.begin(sim);
                }
            }
            match sim.step() {
                Ok(true) => break,
                Ok(false) => {}
                Err(error) => panic!("{error}, after {now:?}, with {faults:?}"),
            }
            has_two |= places.serving() > 1;
            has_tie |= places.have_tie();
            // Whoever runs the farm starts it again.
            let ended = places.iter().filter(|place| place.has_ended.take());
            ended.for_each(|place| revive(sim, place.name));
        }
        tally.twice_served += u64::from(has_two);
        tally.tied += u64::from(has_tie);
        tally.with_two_standbys += u64::from(places.names().len() == 3);
    }

    fn assert_exact(self) -> Tally {
        let World { sim, plan, places, mut tally, told, _folder } = self;
        drop(sim);
        let told = told.take().expect("the client saw the end");
        let names = |of: &[farm::RestoredJob]| -> Vec<String> {
            of.iter().filter_map(|job| job.origin.key.clone()).collect()
        };
        for path in places.ledgers() {
            let ledger = CheckedLedger::open_again(path).expect("it is sound");
            let jobs = ledger.jobs();
            for name in &told.followed {
                assert!(
                    names(jobs).contains(name),
                    "{name} is lost: {path:?} has {:?}",
                    names(jobs)
                );
            }
            for job in jobs {
                let exact = (JobState::Done, vectors::total(job.plan.problem.n()));
                assert_eq!((job.state, job.total), exact, "{}", job.plan);
                assert!(job.disputes.is_empty(), "nobody counts wrongly: {:?}", job.disputes);
            }
            assert!(
                jobs.iter().any(|job| job.plan == plan && job.origin.key.as_deref() == Some(LONG))
            );
        }
        for job in &told.jobs {
            let exact = (JobState::Done, vectors::total(job.plan.problem.n()));
            assert_eq!((job.state, job.total), exact, "{}", job.plan);
        }
        tally.followed_decisions += told.followed.len() as u64;
        tally.lone_decisions += told.alone;
        for place in places.iter() {
            tally.promotions += place.promotions.get();
            tally.fencings += place.fencings.get();
        }
        tally
    }
}
