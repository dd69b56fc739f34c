//! Tests a system that refuses to start threads, because the stack of each new thread would be
//! larger than any address space. The test is a process of its own, so that no other thread runs
//! while it sets the environment.

use queens_count::{Counting, CountingError};

fn main() {
    // SAFETY: there is no other thread that could read the environment.
    unsafe { std::env::set_var("RUST_MIN_STACK", "1125899906842624") };
    let refused = Counting::new(12).threads(2).run();
    let error = refused.expect_err("there is no second thread");
    assert!(error.to_string().starts_with("the system refuses thread 1 of 2 ("), "{error}");
    let CountingError::Threads(refused) = error else { panic!("{error:?}") };
    assert_eq!((refused.started, refused.wanted), (0, 2));

    // The single thread is the caller's own.
    let counted = Counting::new(12).threads(1).run().expect("it counts");
    assert_eq!((counted.answer.count(), counted.threads), (testkit::vectors::total(12), 1));
}
