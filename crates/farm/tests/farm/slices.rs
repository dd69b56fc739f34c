//! Tests of jobs that are a part of a plan.

use farm::{JobId, JobSpec, JobState, Known, Plan, Request, RequestId, Slice, Verdict};

use crate::stage::{Stage, asked, plan, range, report, spec};

fn submit(stage: &mut Stage, plan: Plan, slice: Slice) -> JobId {
    let spec = JobSpec { slice, ..spec(plan) };
    stage.act(asked(
        RequestId(7),
        Request::Submit(vec![farm::Submission {
            spec,
            audit: None,
            known: Box::new(Known::nothing()),
        }]),
    ));
    stage.farm.jobs(.., |_| true).next_back().expect("it was submitted").id
}

#[test]
fn a_slice_leases_its_own_ordinals_and_is_done_with_them() {
    for index in 1..=3 {
        let slice = Slice::new(index, 3).expect("it is one");
        let mut stage = Stage::new();
        let job = submit(&mut stage, plan(100), slice);
        let worker = stage.join("w1", 100);

        while stage.state(job).0 == JobState::Running {
            for lease in stage.leases(worker) {
                stage.finish(worker, &lease, 1_000);
            }
        }

        let own = slice.ordinals(100);
        assert!(stage.leases(worker).iter().all(|lease| own.contains(lease.range)));
        assert_eq!(stage.state(job), (JobState::Done, own.len().into()));
        let view = stage.farm.job(job).expect("it exists");
        assert_eq!((view.tasks_done, view.spec.slice), (own.len(), slice));
    }
}

#[test]
fn a_range_outside_of_the_slice_is_invalid() {
    let mut stage = Stage::new();
    let (plan, slice) = (plan(4), Slice::new(1, 2).expect("it is one"));
    let job = submit(&mut stage, plan, slice);
    let worker = stage.join("w1", 0);

    // The slice has the first and the third of four tasks.
    let verdicts = [(0, 1), (1, 2), (2, 3), (0, 2)]
        .map(|(start, end)| stage.report(worker, report(job, plan, range(start, end))));

    let (accepted, invalid) = (Some(Verdict::Accepted), Some(Verdict::Invalid));
    assert_eq!(verdicts, [accepted, invalid, accepted, invalid]);
    assert_eq!(stage.state(job), (JobState::Done, 2));
}
