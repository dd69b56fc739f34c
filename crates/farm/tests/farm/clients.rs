//! What clients are told, and when.

use farm::{Effect, Event, JobState, RequestId};

use crate::stage::Stage;

#[test]
fn a_change_is_seen_once_it_is_durable() {
    // Given a job that is lent, and a slow disk
    let mut stage = Stage::new();
    let job = stage.submit(8, 0);
    let worker = stage.join("w1", 4);
    let lease = stage.last_loan(worker).lease;
    stage.slow_disk = true;

    // When it is cancelled
    stage.act(Event::Cancelled { request: RequestId(1), job });

    // Then lending stops at once, and clients hear of it after the disk.
    assert!(stage.revoked(lease));
    assert_eq!(stage.state(job).0, JobState::Running);
    stage.flush();
    assert_eq!(stage.state(job).0, JobState::Cancelled);
    assert!(stage.sent.contains(&Effect::Finished { job }));
}
