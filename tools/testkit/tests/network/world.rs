//! One seed: a farm, its faults, and the total that must come of it.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use board::{MethodChoice, Problem};
use farm::{JobState, JobView, Plan};
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use rand::{RngExt, SeedableRng};
use tempfile::TempDir;
use turmoil::{Builder, Sim};

use super::faults::{Fault, QUICK_MS, TROUBLE_MS, Tally};
use super::hosts::{self, COORDINATOR};
use ledger::CheckedLedger;
use service::coordinator::Plans;
use testkit::hostile_worker::Harm;

/// How long a healed farm may take. Dead connections are noticed after 20 s, leases of the dead
/// expire, and what a crashed worker had counted is counted again.
const RECOVERY: Duration = Duration::from_secs(180);
const TICK: Duration = Duration::from_millis(10);
const LEDGER: &str = "ledger.db";

/// Runs one seed to its end; which faults there were.
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
    let workers: Vec<String> =
        (0..random.random_range(2..=4)).map(|index| format!("worker-{index}")).collect();
    let mut faults: Vec<Fault> =
        (0..random.random_range(3..=8)).map(|_| Fault::draw(&mut random, &workers)).collect();
    faults.sort_by_key(|fault| fault.begins);

    let mut world = World::new(&mut random, problem, method, &workers);
    let tally = world.step_through(&faults);
    world.assert_exact();
    tally
}

/// Every kind of flood at once, beside two who work; how often each was dismissed.
pub(super) fn flood() -> Vec<u64> {
    let mut random = StdRng::seed_from_u64(0);
    let workers = ["worker-0", "worker-1"].map(String::from);
    let (problem, method) = (Problem::Total { n: 10 }, MethodChoice::Rows { rows: Some(3) });
    let mut world = World::new(&mut random, problem, method, &workers);
    let harms: Vec<Arc<Harm>> = hosts::FLOODS.iter().map(|_| Arc::default()).collect();
    for (index, (&attack, harm)) in hosts::FLOODS.iter().zip(&harms).enumerate() {
        let (plan, harm) = (world.plan, harm.clone());
        world
            .sim
            .host(format!("hostile-{index}"), move || hosts::hostile(attack, plan, harm.clone()));
    }
    world.step_through(&[]);
    world.assert_exact();
    harms.iter().map(|harm| harm.dismissals.load(Ordering::Relaxed)).collect()
}

/// A farm with one job.
struct World {
    sim: Sim<'static>,
    plan: Plan,
    /// What the client was told in the end.
    told: Rc<RefCell<Option<JobView>>>,
    folder: TempDir,
}

impl World {
    fn new(
        random: &mut StdRng,
        problem: Problem,
        method: MethodChoice,
        workers: &[String],
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
        let path = folder.path().join(LEDGER);
        sim.host(COORDINATOR, move || {
            let path = path.clone();
            async move { hosts::coordinator(&path).await }
        });
        for name in workers {
            let (worker, lives) = (name.clone(), Cell::new(random.random::<u64>()));
            sim.host(name.as_str(), move || {
                lives.set(lives.get().wrapping_add(1));
                hosts::worker(worker.clone(), lives.get(), pace_ms)
            });
        }
        let told = Rc::new(RefCell::new(None));
        let tell = told.clone();
        sim.client("client", async move {
            *tell.borrow_mut() = Some(hosts::client(problem, method).await?);
            Ok(())
        });
        World { sim, plan, told, folder }
    }

    /// Until the client has its answer, with every fault at its time.
    fn step_through(&mut self, faults: &[Fault]) -> Tally {
        let sim = &mut self.sim;
        let mut tally = Tally::default();
        let latest = Duration::from_millis(TROUBLE_MS.end) + RECOVERY;
        let is_due = |at: Duration, now: Duration| at <= now && now < at + TICK;
        loop {
            let now = sim.elapsed();
            assert!(now < latest, "no total after {now:?}, with {faults:?}");
            for fault in faults {
                if is_due(fault.ends, now) {
                    fault.end(sim);
                }
                if is_due(fault.begins, now) {
                    fault.begin(sim);
                    tally.count(fault);
                }
            }
            match sim.step() {
                Ok(true) => return tally,
                Ok(false) => {}
                Err(error) => panic!("{error}, after {now:?}, with {faults:?}"),
            }
        }
    }

    fn assert_exact(self) {
        let World { sim, plan, told, folder } = self;
        drop(sim);
        let view = told.take().expect("the client saw the end");
        let exact = (JobState::Done, vectors::total(plan.problem.n()));
        assert_eq!((view.state, view.total), exact, "{plan}");
        let ledger = CheckedLedger::open_again(&folder.path().join(LEDGER)).expect("it is sound");
        let [job] = ledger.jobs() else { panic!("one job was submitted: {:?}", ledger.jobs()) };
        assert_eq!((job.state, job.total), exact, "{plan}");
        assert!(job.disputes.is_empty(), "nobody counts wrongly: {:?}", job.disputes);
    }
}
