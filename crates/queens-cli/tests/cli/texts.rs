//! Tests of texts of strangers: the text of a worker or a file must not reach a log or a terminal
//! unchanged.

use rusqlite::Connection;
use tonic::Code;
use wire::v1;
use wire::v1::work_request::Message;

use crate::access::{connect, hello, report, work};
use crate::support::process::{queens, run};
use crate::support::{Farm, Scratch};

/// Texts that clear the screen, set the title of a window, and forge a line of a log.
const HARMFUL: [&str; 3] =
    ["\u{1b}[2J\u{1b}]0;owned\u{7}", "a\n2026-01-01T00:00:00Z  INFO job ended", "\u{9b}31m"];

#[tokio::test]
async fn a_worker_cannot_write_to_the_terminal_of_the_coordinator() {
    let farm = Farm::new("", "");
    let coordinator = farm.start_coordinator();
    farm.submit(12, 2, 0);
    let channel = connect(&farm).await;

    for text in HARMFUL {
        let named = Message::Hello(v1::Hello { worker: text.into(), ..hello() });
        let refused = work(&channel, vec![named]).await.expect_err("no worker is called so");
        assert_eq!(refused.code(), Code::InvalidArgument, "{refused}");
        assert!(refused.message().contains("visible ASCII"), "{refused}");

        let report = v1::Report { kernel: text.into(), ..report() };
        let messages = vec![Message::Hello(hello()), Message::Report(report)];
        let refused = work(&channel, messages).await.expect_err("no kernel is called so");
        assert_eq!(refused.code(), Code::FailedPrecondition, "{refused}");
        assert!(refused.message().contains("which this program does not have"), "{refused}");
    }

    let said = coordinator.said();
    let is_harmless = |c: char| c == '\n' || !c.is_control();
    assert!(said.chars().all(is_harmless), "{said:?}");
    assert!(!said.lines().any(|line| line.starts_with("2026-01-01T00:00:00Z")), "{said}");
    assert!(said.contains("it sent what it must not"), "{said}");
}

#[test]
fn a_worker_with_an_invalid_name_does_not_start() {
    for name in ["", "rack 7", "Zoë", "a\nb"] {
        run(&mut queens(&["worker", "--name", name])).usage("visible ASCII characters");
    }
}

#[test]
fn a_ledger_with_an_unknown_kernel_is_refused_in_one_line() {
    let (farm, scratch) = (Farm::new("--log error", ""), Scratch::new());
    let ledger = farm.ledger().to_str().expect("it is text");
    let count = ["count", "10", "--rows", "2", "--ledger", ledger];
    run(&mut queens(&count)).success();
    let db = Connection::open(ledger).expect("SQLite opens it");
    db.execute("UPDATE ranges SET kernel = ?1", [HARMFUL[1]]).expect("it has rows");
    drop(db);

    let new = scratch.path("new").display().to_string();
    for mut command in [
        farm.coordinator(),
        queens(&count),
        queens(&["export", "1", &new, "--ledger", ledger]),
        queens(&["merge", ledger, "--into", &new]),
    ] {
        let way_out = ["by a kernel named \"", "use the version that made it"];
        run(&mut command).refusal(12, &way_out);
    }
}
