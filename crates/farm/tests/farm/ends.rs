//! Tests of the predicted end of a running job. Time is simulated, the last tasks cost fifty times
//! as much as the first, and workers have different speeds.

use farm::{Event, JobId, JobState, Lease, Millis, Range, Report, SessionId};

use crate::scene::{Scene, at_work, range, report};

const TASKS: u64 = 60_000;
const JOB: JobId = JobId(1);

/// The time that the fastest worker takes for a task, by its ordinal.
type Cost = fn(u64) -> u64;

fn rising(ordinal: u64) -> u64 {
    10_000 + 490_000 * ordinal / TASKS
}

fn falling(ordinal: u64) -> u64 {
    rising(TASKS - 1 - ordinal)
}

/// Half of the tasks cost fifty times as much as the other half.
fn stepped(ordinal: u64) -> u64 {
    if ordinal < TASKS / 2 { 500_000 } else { 10_000 }
}

/// A worker of one thread, with the leases that it has not finished.
struct Worker {
    session: SessionId,
    slowness: u64,
    leases: Vec<Lease>,
    seen: usize,
    /// The time at which it finishes the first lease.
    busy_until: Option<u64>,
}

struct Run {
    scene: Scene,
    workers: Vec<Worker>,
    cost: Cost,
    /// The number of programs that share each processor, including the worker.
    programs: u64,
    /// The predictions: the time of each and the predicted end, in ms.
    reported: Vec<(u64, f64)>,
}

impl Run {
    fn new(slownesses: &[u64], cost: Cost) -> Run {
        let mut scene = Scene::new();
        scene.submit(TASKS, 0);
        let worker = |(number, &slowness): (usize, &u64)| {
            let session = scene.join(&format!("w{}", number + 1), 1 << 40);
            Worker { session, slowness, leases: Vec::new(), seen: 0, busy_until: None }
        };
        let workers = slownesses.iter().enumerate().map(worker).collect();
        Run { scene, workers, cost, programs: 1, reported: Vec::new() }
    }

    /// The part of a lease that its worker reports next, and the time that it takes.
    fn part(&self, worker: usize, lease: &Lease) -> (Range, u64) {
        const REPORT_US: u64 = 20_000_000;
        let Worker { slowness, .. } = self.workers[worker];
        let (mut end, mut us) = (lease.range.start(), 0);
        while end < lease.range.end() && us < REPORT_US {
            us += slowness * (self.cost)(end);
            end += 1;
        }
        (range(lease.range.start(), end), us)
    }

    /// Every idle worker begins its next lease.
    fn begin(&mut self) {
        for index in 0..self.workers.len() {
            let worker = &mut self.workers[index];
            worker.leases.extend(self.scene.leases_since(worker.seen, worker.session));
            worker.seen = self.scene.sent.len();
            if let (None, Some(&first)) = (worker.busy_until, worker.leases.first()) {
                let (_, us) = self.part(index, &first);
                self.workers[index].busy_until = Some(self.scene.now + us / 1_000);
            }
        }
    }

    /// The next worker finishes a part of a lease. Returns `false` if no worker has a lease.
    fn step(&mut self) -> bool {
        self.begin();
        let ends = self.workers.iter().enumerate();
        let ends = ends.filter_map(|(index, worker)| Some((worker.busy_until?, index)));
        let Some((end, index)) = ends.min() else { return false };
        let lease = self.workers[index].leases.remove(0);
        let (part, us) = self.part(index, &lease);
        if let Some(rest) = Range::new(part.end(), lease.range.end()) {
            self.workers[index].leases.insert(0, Lease { range: rest, ..lease });
        }
        self.scene.now = end;
        self.workers[index].busy_until = None;
        let session = self.workers[index].session;
        let of = report(JOB, lease.plan, part);
        let busy_us = us / self.programs;
        self.scene.report(session, Report { lease: lease.id, busy_us, ..of });
        let job = self.scene.farm.job(JOB).expect("it exists");
        if let Some(seconds) = job.seconds_left() {
            self.reported.push((end, end as f64 + 1e3 * seconds));
        }
        true
    }

    /// Runs to the end. Returns the largest error of the predictions, as a share of the whole time.
    /// Predictions before this share of the time are ignored.
    fn worst_after(mut self, share: f64) -> f64 {
        while self.step() {}
        assert_eq!(self.scene.state(JOB), (JobState::Done, TASKS.into()));
        let end = self.scene.now as f64;
        assert!(end > 600_000.0, "it lasts longer than ten minutes: {end}");
        let late = self.reported.iter().filter(|&&(at, _)| at as f64 >= share * end);
        late.map(|&(_, reported)| (reported / end - 1.0).abs()).fold(0.0, f64::max)
    }
}

/// If costs jump, a lease that was sized for cheap tasks lasts fifty times as long. On a shared
/// processor, the processor time in the reports is a third of the elapsed time.
#[test]
fn the_predicted_end_is_near_the_real_one_after_a_while() {
    let crews = [&[1, 2, 5][..], &[5, 2, 1], &[1, 1], &[1, 1, 1, 1], &[1]];
    for (cost, share, most) in
        [(rising as Cost, 0.1, 0.3), (falling, 0.1, 0.3), (stepped, 0.25, 0.5)]
    {
        for slownesses in crews {
            let worst = Run::new(slownesses, cost).worst_after(share);
            assert!(worst < most, "workers {slownesses:?}: off by {worst:.3}");
        }
    }
    let run = Run { programs: 3, ..Run::new(crews[0], rising) };
    let worst = run.worst_after(0.1);
    assert!(worst < 0.3, "on shared processors: off by {worst:.3}");
}

#[test]
fn a_restart_keeps_the_costs_that_were_learned() {
    let mut run = Run::new(&[1, 2], rising);
    while run.scene.state(JOB).1 < u128::from(TASKS / 4) {
        run.step();
    }
    let left = |run: &Run| run.scene.farm.job(JOB).and_then(|job| job.seconds_left());
    let before = left(&run).expect("it is known");

    run.scene.restart();
    run.scene.tick(run.scene.now + 10_000);
    let session = run.scene.join("w9", 1 << 40);
    run.workers =
        vec![Worker { session, slowness: 1, leases: Vec::new(), seen: 0, busy_until: None }];
    assert_eq!(left(&run), None, "nobody knows how fast the new worker is");

    // The first leases after the restart are short, so their predictions are not meaningful.
    run.reported.clear();
    while run.reported.len() < 12 {
        run.step();
    }

    // The two workers before counted 1/1 + 1/2 times as fast as the fast one alone.
    let ratio = left(&run).expect("it is known") / (before * 1.5);
    assert!((0.9..1.1).contains(&ratio), "off by {ratio}");
}

#[test]
fn no_end_is_predicted_without_workers() {
    let (mut scene, job, worker) = at_work(8, 4);
    let left = |scene: &Scene| {
        let job = scene.farm.job(job).expect("it exists");
        (job.us_left, job.threads)
    };
    assert_eq!(left(&scene), (None, 1), "nothing was counted yet");

    let lease = scene.last_lease(worker);
    scene.finish(worker, &lease, 1_000);
    assert_eq!((lease.range, left(&scene)), (range(0, 4), (None, 1)), "that tells too little");

    scene.act(Event::Left(worker));
    assert_eq!(left(&scene), (None, 0));
    assert_eq!(scene.farm.next_wakeup(), None::<Millis>);
}
