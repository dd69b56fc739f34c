//! Worker processes that are lost while they count, by machine.

use farm::{Change, Effect, Event, Hello, JobId, LostWorkers, RequestId, SessionId, WorkerMessage};

use crate::stage::{OWNER, Stage, change, hello};

/// A process of the machine `node7` joins and is lent something.
fn start(stage: &mut Stage, process: &str, memory_kills: u64) -> SessionId {
    let hello = Hello {
        machine: "node7".into(),
        threads: 2,
        memory: 64,
        memory_kills,
        ..hello(process, 1_000)
    };
    let session = SessionId(hello.instance);
    stage.join_as(session, OWNER, hello);
    session
}

fn lose(stage: &mut Stage, process: &str) {
    let session = start(stage, process, 0);
    assert!(!stage.loans(session).is_empty());
    stage.act(Event::Left { session });
}

/// Processes that were lost, and those that the system killed for lack of memory.
fn lost(stage: &Stage, job: JobId) -> Vec<(u32, u64)> {
    let view = stage.farm.job(job).expect("it exists");
    view.lost.iter().map(|lost| (lost.processes, lost.memory_kills)).collect()
}

#[test]
fn a_machine_is_named_with_all_processes_that_it_lost() {
    let mut stage = Stage::new();
    let job = stage.submit(64, 0);
    for process in ["w1", "w2", "w3"] {
        lose(&mut stage, process);
    }

    let view = stage.farm.job(job).expect("it exists");
    let [LostWorkers { maker, processes: 3, threads: 2, memory: 64, memory_kills: 0 }] =
        &view.lost[..]
    else {
        panic!("{:?}", view.lost)
    };
    assert_eq!((maker.owner.as_str(), maker.machine.as_str()), (OWNER, "node7"));
    let told = stage.sent.iter().filter(|effect| matches!(effect, Effect::Lost(_))).count();
    assert_eq!(told, 3);
}

#[test]
fn who_comes_back_or_says_goodbye_or_held_nothing_is_not_lost() {
    let mut stage = Stage::new();
    let job = stage.submit(1, 0);
    lose(&mut stage, "w1");
    assert_eq!(lost(&stage, job), [(1, 0)]);
    let session = start(&mut stage, "w1", 0);
    assert_eq!(lost(&stage, job), []);

    let idle = start(&mut stage, "w2", 0);
    assert!(stage.loans(idle).is_empty());
    stage.act(Event::Left { session: idle });
    stage.act(Event::Said { session, message: WorkerMessage::Leaving });
    stage.act(Event::Left { session });
    assert_eq!(lost(&stage, job), []);
}

#[test]
fn the_next_process_of_the_machine_tells_that_the_system_killed_the_others() {
    let mut stage = Stage::new();
    let job = stage.submit(64, 0);
    lose(&mut stage, "w1");
    start(&mut stage, "w2", 1);
    assert_eq!(lost(&stage, job), [(1, 1)]);
    let views: Vec<u64> = stage.farm.worker_views().map(|view| view.memory_kills).collect();
    assert_eq!(views, [1]);
}

#[test]
fn a_job_that_is_resumed_or_over_has_lost_nobody() {
    let mut stage = Stage::new();
    let jobs = [stage.submit(4, 1), stage.submit(64, 0)];
    lose(&mut stage, "w1");
    assert_eq!(jobs.map(|job| lost(&stage, job)), [[(1, 0)], [(1, 0)]]);

    stage.act(change(RequestId(1), jobs[0], Change::Resume));
    assert_eq!(lost(&stage, jobs[0]), []);
    stage.act(change(RequestId(2), jobs[1], Change::Cancel));
    assert_eq!(lost(&stage, jobs[1]), []);
}
