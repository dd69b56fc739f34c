//! What a counter does, on the kernel as plain C.

use board::{Method, PlanIndex, Problem, Task};
use count::{Backend, CountError, Kernel};

use super::host::HostQueue;
use crate::counter::{Counter, Error};
use crate::device::{Device, Driver};

fn host() -> Device {
    Device {
        driver: Driver::OpenCl,
        index: 0,
        name: "plain C".into(),
        version: String::new(),
        memory: 1 << 30,
        shared: 256 << 10,
        units: 1,
        clock_mhz: 0,
        is_processor: true,
    }
}

fn plan(n: u32) -> PlanIndex {
    PlanIndex::new(Problem::Total { n }, Method::Colours).expect("the size is in range")
}

fn counts(n: u32, queue: HostQueue, tasks: &[Task]) -> Result<Vec<u64>, Error> {
    let mut counter = Counter::with_queue(Box::new(queue), &host(), n)?;
    let mut counts = Vec::new();
    counter.count_each(tasks, |count| counts.push(count))?;
    Ok(counts)
}

fn expected(n: u32, tasks: &[Task]) -> Vec<u64> {
    let mut kernel = Kernel::new(Backend::Portable, n, Method::Colours).expect("it is there");
    let mut counts = Vec::new();
    kernel.count_each(tasks, |count| counts.push(count)).expect("they are tasks");
    counts
}

#[test]
fn the_kernel_as_plain_c_counts_what_the_processor_counts() {
    for n in 4..=10 {
        let tasks = plan(n).tasks(0..plan(n).len()).expect("it is the whole plan");
        let found = counts(n, HostQueue::new(), &tasks).expect("it counts");
        assert_eq!(found, expected(n, &tasks), "N = {n}");
    }
    // Tasks from all over the plans: the first one has no black queen for even N.
    for n in [13, 14, 16, 17, 18, 20, 21] {
        let len = plan(n).len();
        for at in (0..5).map(|fifth| (len - 1) / 4 * fifth) {
            let tasks = plan(n).tasks(at..at + 1).expect("the plan has the range");
            let found = counts(n, HostQueue::new(), &tasks).expect("it counts");
            assert_eq!(found, expected(n, &tasks), "N = {n}, task {at}");
        }
    }
}

#[test]
fn a_device_that_fails_at_any_call_counts_nothing() {
    let (n, tasks) = (8, plan(8).tasks(0..10).expect("the plan has the range"));
    let expected = expected(n, &tasks);
    for left in 0.. {
        match counts(n, HostQueue::failing_after(left), &tasks) {
            Err(Error::Device(error)) => assert_eq!(error.reason, "it was lost"),
            result => {
                assert_eq!(result, Ok(expected));
                assert!(left > 15, "there are that many calls");
                break;
            }
        }
    }
}

#[test]
fn an_invalid_task_is_reported_before_anything_is_counted() {
    let mut tasks = plan(8).tasks(0..3).expect("the plan has the range");
    tasks[1].record.down = 0b111;
    let error = counts(8, HostQueue::new(), &tasks).expect_err("three columns are no split");
    let bad = CountError::BadTask(1);
    assert_eq!(error, Error::Count(bad));
}
