//! When a stand-by takes over, and when it does not.

use std::future::pending;

use farm::Config;
use ledger::{CheckedLedger, Ledger};
use tempfile::TempDir;

use super::*;
use crate::coordinator::{Access, Credentials, Hub, Limits, Listener, Phase, serve};
use crate::{Proofs, Token};

#[tokio::test(start_paused = true)]
async fn only_a_whole_copy_takes_over_and_only_after_silence() {
    let at = Instant::now();
    let after = Duration::from_secs(2);
    let (sender, seen) = watch::channel(Seen { at, is_whole: false });
    let taking_over = tokio::spawn(silence(seen, Some(after)));
    sleep(Duration::from_secs(60)).await;
    assert!(!taking_over.is_finished(), "the copy is not whole");

    for _ in 0..5 {
        sender.send_replace(Seen { at: Instant::now(), is_whole: true });
        sleep(Duration::from_millis(1_900)).await;
        assert!(!taking_over.is_finished(), "the coordinator lives");
    }
    let last = sender.borrow().at;
    taking_over.await.expect("it does not panic");
    assert!(last.elapsed() >= after && last.elapsed() < 2 * after, "{:?}", last.elapsed());
}

#[tokio::test]
async fn a_copy_may_take_over_once_decisions_wait_for_it() {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let of = Endpoint::new("nobody:1", Proofs::default());
    let copy = folder.path().join("copy.db");
    let key = LoanKey::new([7; 32]);
    let mut standby = Standby::new(of, &copy, key).expect("nobody holds it");
    // Over the second connection all begins anew.
    for _ in 0..2 {
        let mut has_begun = false;
        let mut take = |piece| {
            let answer = FollowResponse { piece: Some(piece), number: 0 };
            assert!(standby.take(answer, &mut has_begun).expect("it can be written"));
            standby.seen.borrow().is_whole
        };
        assert!(!take(Piece::File(vec![7; 100])));
        assert!(!take(Piece::Whole(true)), "a decision that is on its way is not waited for");
        assert!(take(Piece::Awaited(true)));
    }
}

#[tokio::test]
async fn a_copy_whose_log_others_have_moved_away_takes_nothing_over_and_acknowledges_nothing() {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let of = Endpoint::new("nobody:1", Proofs::default());
    let copy = folder.path().join("copy.db");
    let mut standby = Standby::new(of, &copy, LoanKey::new([7; 32])).expect("nobody holds it");
    let mut has_begun = false;
    let mut take = |piece, number| {
        let answer = FollowResponse { piece: Some(piece), number };
        let is_kept = standby.take(answer, &mut has_begun).expect("it can be written");
        (is_kept, standby.seen.borrow().is_whole)
    };
    take(Piece::File(vec![7; 100]), 1);
    take(Piece::Whole(true), 2);
    assert_eq!(take(Piece::Awaited(true), 3), (true, true));
    std::fs::remove_file(folder.path().join("copy.db-wal")).expect("it is there");
    assert_eq!(take(Piece::Awaited(true), 0), (false, false), "also if nothing is decided");
}

#[tokio::test(start_paused = true)]
async fn nobody_takes_over_without_leave() {
    let (_sender, seen) = watch::channel(Seen { at: Instant::now(), is_whole: true });
    let asked = timeout(Duration::from_secs(1_000_000), silence(seen, None));
    asked.await.expect_err("it waits for the operator");
}

/// A coordinator, and beside it a copy that leads, all of whose decisions it has.
struct Continued {
    folder: TempDir,
    phase: watch::Sender<Phase>,
    of: Endpoint,
}

impl Continued {
    /// The coordinator reads its ledger.
    async fn new() -> Continued {
        let folder = tempfile::tempdir().expect("a temporary directory");
        let copy = folder.path().join("copy.db");
        let led = ledger::take_over(&copy).and_then(Ledger::close);
        led.expect("it can be written");
        std::fs::copy(&copy, folder.path().join("ledger.db")).expect("it is closed");
        let any = "127.0.0.1:0".parse().expect("it is an address");
        let listener = Listener::bind(&[any], Limits::default()).await.expect("some port is free");
        let url = format!("http://{}", listener.addresses().expect("it is bound")[0]);
        let (phase, phases) = watch::channel(Phase::Starting);
        tokio::spawn(serve(listener.connections(), phases));
        Continued { folder, phase, of: Endpoint::new(&url, Proofs::default()) }
    }

    /// The coordinator has read its ledger.
    fn serve(&self, access: &Access) {
        let ledger = CheckedLedger::open_again(&self.folder.path().join("ledger.db"));
        let ledger = ledger.and_then(CheckedLedger::begin).expect("it is sound");
        let (hub, handle) = Hub::new(Config::default(), LoanKey::new(KEY), ledger);
        tokio::spawn(hub.run());
        self.phase.send_replace(Phase::Serving(Credentials::new(access, Vec::new()), handle));
    }

    fn standby(&self, copy: &str) -> Standby {
        let copy = self.folder.path().join(copy);
        Standby::new(self.of.clone(), &copy, LoanKey::new(KEY)).expect("nobody holds it")
    }
}

const KEY: [u8; 32] = [7; 32];
/// Long enough to be asked, and asked again.
const AWHILE: Duration = Duration::from_secs(1);

#[tokio::test]
async fn a_coordinator_that_has_all_of_a_copy_is_asked_until_it_says_so() {
    let coordinator = Continued::new().await;
    let standby = coordinator.standby("copy.db");
    let is_continued = standby.is_continued();
    tokio::pin!(is_continued);
    let early = timeout(AWHILE, &mut is_continued).await;
    early.expect_err("that it reads its ledger does not tell what is in there");
    coordinator.serve(&Access::Open);
    assert!(is_continued.await.expect("it may ask"));

    let mut others = Vec::new();
    for at in 0..4 {
        let other = coordinator.standby(&format!("other-{at}.db"));
        let followed = other.begin(&coordinator.of).await;
        others.push(followed.ok().expect("there is a place"));
    }
    let is_continued = standby.is_continued();
    tokio::pin!(is_continued);
    let full = timeout(AWHILE, &mut is_continued).await;
    full.expect_err("that it has no place does not tell what is in there");
    drop(others);
    assert!(is_continued.await.expect("it may ask"));
}

#[tokio::test]
async fn a_copy_that_leads_does_not_go_on_because_it_may_not_ask() {
    let coordinator = Continued::new().await;
    coordinator.serve(&Access::Token(Token::random()));
    let beginning = coordinator.standby("copy.db").stand_by(None, pending()).await;
    assert!(matches!(beginning, Err(ServiceError::Token { .. })), "{beginning:?}");
}

#[tokio::test]
async fn a_copy_that_leads_goes_on_if_nobody_answers_or_somebody_says_so() {
    let coordinator = Continued::new().await;
    let asked = coordinator.standby("copy.db").stand_by(None, sleep(AWHILE)).await;
    assert_eq!(asked.expect("it waits"), Beginning::TakeOver);

    coordinator.phase.send_replace(Phase::Stopped);
    let alone = coordinator.standby("copy.db").stand_by(None, pending()).await;
    assert_eq!(alone.expect("it is alone"), Beginning::GoOn);
}
