//! Stand-bys of real coordinators that are killed or stopped: who takes over knows every decision, the earlier
//! coordinator ends when it is back, and totals are exact.
//!
//! ```text
//! cargo test -p queens --test standby -- --nocapture             # two takeovers, in seconds
//! cargo test -p queens --test standby -- --nocapture --ignored   # fifty, in some minutes
//! ```

#[path = "support/mod.rs"]
mod support;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use support::process::{Outcome, Process, queens, run, wait_until};
use support::{Farm, Port, Scratch, copy_keys};

#[test]
fn who_takes_over_knows_all_decisions_and_totals_are_exact() {
    take_over(2);
}

#[test]
#[ignore = "takes some minutes: CI runs it in turns"]
fn fifty_takeovers() {
    take_over(50);
}

/// A place for a coordinator or a stand-by: an address, and one ledger after the other.
struct Place {
    port: Port,
    ledger: PathBuf,
}

/// A coordinator, its stand-by, and what clients were told.
struct Pair {
    scratch: Scratch,
    places: [Place; 2],
    /// The states of jobs, by the names that they were submitted with.
    told: BTreeMap<String, &'static str>,
}

impl Pair {
    fn new() -> Pair {
        let scratch = Scratch::new();
        let place = || Place { port: Port::reserve(), ledger: scratch.new_file("ledger.db") };
        let places = [place(), place()];
        Pair { places, told: BTreeMap::new(), scratch }
    }

    fn urls(&self) -> String {
        let [one, other] = &self.places;
        format!("{},{}", one.port.url(), other.port.url())
    }

    fn start(&self, command: &mut Command) -> Process {
        let short = ["--lease-ms", "200", "--lease-ttl-ms", "2000", "--grace-ms", "200"];
        Process::start(command.args(short), self.scratch.new_file("log"))
    }

    fn start_coordinator(&self, at: usize) -> Process {
        let Place { port, ledger } = &self.places[at];
        let mut command = queens(&["coordinator", "--listen", &port.address(), "--ledger"]);
        let mut coordinator = self.start(command.arg(ledger));
        coordinator.wait_for_line("coordinator serves");
        coordinator
    }

    /// Starts a stand-by at the other place, in a new file, and waits until its copy is whole.
    fn start_standby(&mut self, of: usize) -> Process {
        let here = 1 - of;
        let copy = self.scratch.new_file("ledger.db");
        copy_keys(&self.places[of].ledger, &copy);
        self.places[here].ledger = copy;
        let mut standby = self.start_standby_again(of);
        standby.wait_for_line("the copy is whole");
        standby
    }

    /// Starts the stand-by at the other place with the file that it has.
    fn start_standby_again(&self, of: usize) -> Process {
        let there = self.places[of].port.url();
        let Place { port, ledger } = &self.places[1 - of];
        let words = ["standby", "--of", &there, "--promote-after", "2s", "--listen"];
        let mut command = queens(&words);
        self.start(command.arg(port.address()).arg("--ledger").arg(ledger))
    }

    fn client(&self, words: &[&str]) -> Outcome {
        run(queens(words).env("QUEENS_COORDINATOR", self.urls()))
    }

    /// Makes some decisions, and remembers what the coordinator has granted.
    fn decide(&mut self, turn: usize) {
        let name = |what: &str| format!("{what}-{turn}");
        for what in ["cancelled", "paused"] {
            let name = name(what);
            let job = self.client(&["submit", "18", "--rows", "5", "--name", &name]).success();
            let (verb, state) =
                if what == "paused" { ("pause", "paused") } else { ("cancel", "cancelled") };
            self.client(&[verb, job.trim()]).success();
            self.told.insert(name, state);
        }
    }

    /// The states of all jobs by their names.
    fn states(&self) -> BTreeMap<String, String> {
        let jobs = self.client(&["jobs", "--all", "-o", "csv"]).success();
        let mut rows = jobs.lines().map(|line| line.split(',').collect::<Vec<_>>());
        let head = rows.next().expect("a head");
        let column = |name: &str| {
            head.iter().position(|head| head.eq_ignore_ascii_case(name)).expect("a column")
        };
        let (name, state) = (column("name"), column("state"));
        rows.map(|row| (row[name].to_string(), row[state].to_string())).collect()
    }
}

fn take_over(times: usize) {
    let mut pair = Pair::new();
    let mut leader = pair.start_coordinator(0);
    let urls = pair.urls();
    let mut command = queens(&["worker", "--threads", "1", "--coordinator", &urls]);
    let mut worker = Process::start(&mut command, pair.scratch.new_file("log"));
    let total = pair.client(&["submit", "14", "--rows", "4", "--name", "total"]).success();
    let mut at = 0;
    for turn in 0..times {
        let mut standby = pair.start_standby(at);
        pair.decide(turn);
        let begun = Instant::now();
        let stopped = turn % 2 == 1;
        if stopped {
            leader.signal("STOP");
        } else {
            leader.signal("KILL");
            leader.wait();
        }
        standby.wait_for_line("coordinator serves");
        println!("takeover {turn}: it serves after {:.1} s", begun.elapsed().as_secs_f64());
        pair.knows_all_decisions();
        if stopped {
            // It is back, and hears that somebody has taken over.
            leader.signal("CONT");
            assert_eq!(leader.wait().code(), Some(18), "{}", leader.said());
        }
        (leader, at) = (standby, 1 - at);
    }
    let watched = pair.client(&["watch", total.trim()]).success();
    assert_eq!(watched.trim(), vectors::total(14).to_string());
    assert!(worker.is_running(), "{}", worker.said());
    leader.stop();
}

#[test]
fn one_that_has_taken_over_goes_on_when_it_is_started_again() {
    let mut pair = Pair::new();
    let mut earlier = pair.start_coordinator(0);
    let mut standby = pair.start_standby(0);
    earlier.signal("STOP");
    standby.wait_for_line("coordinator serves");
    pair.decide(0);
    standby.kill();

    // The earlier one is back before it, and knows nothing of what was decided.
    earlier.signal("CONT");
    let mut again = pair.start_standby_again(0);
    again.wait_for_line("has taken over before");
    again.wait_for_line("coordinator serves");
    assert_eq!(earlier.wait().code(), Some(18), "{}", earlier.said());
    pair.knows_all_decisions();
    again.stop();
}

/// A stand-by that has taken over, or the coordinator that goes on with its copy, meets a later one, and follows it then.
fn meets_a_later_one(by_coordinator: bool) {
    let (mut pair, mut leader) = Pair::after_a_takeover();
    if by_coordinator {
        leader.stop();
        leader = pair.start_coordinator(1);
    }
    let mut third = pair.start_standby(1);
    let leads = || {
        let mut name = pair.places[1].ledger.clone().into_os_string();
        name.push("-leads");
        PathBuf::from(name).exists()
    };
    assert!(leads());
    leader.signal("STOP");
    third.wait_for_line("coordinator serves");
    leader.signal("CONT");
    assert_eq!(leader.wait().code(), Some(18), "{}", leader.said());
    assert!(!leads());

    let mut again = pair.start_standby_again(0);
    again.wait_for_line("the copy is whole");
    pair.knows_all_decisions();
    again.stop();
    third.stop();
}

#[test]
fn one_that_has_met_a_later_one_may_follow_again() {
    meets_a_later_one(false);
}

#[test]
fn a_coordinator_with_a_copy_that_has_met_a_later_one_may_follow_again() {
    meets_a_later_one(true);
}

#[test]
fn a_standby_that_never_heard_of_its_coordinator_waits_and_says_so() {
    let pair = Pair::new();
    let keys = Farm::new("", "");
    keys.start_coordinator().stop();
    copy_keys(keys.ledger(), &pair.places[1].ledger);
    let mut standby = pair.start_standby_again(0);
    standby.wait_for_line("waiting for the coordinator");
    // Longer than `--promote-after`: it must not have taken over.
    std::thread::sleep(Duration::from_secs(3));
    assert!(standby.is_running() && !standby.said().contains("coordinator serves"));
    assert_eq!(standby.said().matches("the coordinator").count(), 1, "{}", standby.said());
    standby.stop();
}

impl Pair {
    /// A stand-by that has taken over from the coordinator at place 0, which is gone, and has made decisions.
    fn after_a_takeover() -> (Pair, Process) {
        let mut pair = Pair::new();
        let earlier = pair.start_coordinator(0);
        let mut standby = pair.start_standby(0);
        earlier.kill();
        standby.wait_for_line("coordinator serves");
        pair.decide(0);
        (pair, standby)
    }

    #[track_caller]
    fn knows_all_decisions(&self) {
        let states = self.states();
        for (name, state) in &self.told {
            assert_eq!(states.get(name).map(String::as_str), Some(*state), "{name}: {states:?}");
        }
    }
}

#[test]
fn a_ledger_is_handed_back_by_starting_both_in_each_others_place() {
    let (mut pair, standby) = Pair::after_a_takeover();
    standby.stop();
    let back = pair.scratch.new_file("ledger.db");
    fs::copy(&pair.places[1].ledger, &back).expect("it is closed");
    copy_keys(&pair.places[1].ledger, &back);
    pair.places[0].ledger = back;
    let coordinator = pair.start_coordinator(0);

    let mut again = pair.start_standby_again(0);
    again.wait_for_line("the copy is whole");
    pair.decide(1);
    pair.knows_all_decisions();
    coordinator.kill();
    again.wait_for_line("coordinator serves");
    pair.knows_all_decisions();
    again.stop();
}

#[test]
fn decisions_of_a_copy_that_led_are_not_replaced_by_a_ledger_that_lacks_them() {
    let (mut pair, standby) = Pair::after_a_takeover();
    let third = pair.start_standby(1);
    third.stop();
    pair.decide(1);
    standby.kill();
    let copy = &pair.places[0].ledger;
    run(queens(&["promote"]).arg(copy)).success();
    let coordinator = pair.start_coordinator(0);

    for _ in 0..2 {
        let mut again = pair.start_standby_again(0);
        assert_eq!(again.wait().code(), Some(18), "{}", again.said());
        for words in ["has led, and is not replaced", "lacks some of the 8 decisions"] {
            assert!(again.said().contains(words), "{words}: {}", again.said());
        }
    }
    coordinator.kill();
    // What it has decided is still there.
    let mut again = pair.start_standby_again(0);
    again.wait_for_line("coordinator serves");
    pair.knows_all_decisions();
    again.stop();
}

#[test]
fn a_standby_waits_for_leave_and_a_copy_goes_on_by_itself() {
    let farm = Farm::new("", "");
    let coordinator = farm.start_coordinator();
    farm.client(&["submit", "9", "--name", "mine"]).success();
    let (scratch, port) = (Scratch::new(), Port::reserve());
    let copy = scratch.path("copy.db");
    let standby = || {
        let mut command = queens(&["standby", "--of", &farm.url(), "--listen", &port.address()]);
        command.arg("--ledger").arg(&copy);
        command
    };
    let promote = || run(queens(&["promote"]).arg(&copy));
    run(&mut standby()).usage("copy the folder of keys");
    copy_keys(farm.ledger(), &copy);
    run(standby().args(["--promote-after", "10ms"])).usage("a second at least");
    promote().refusal(10, &["there is no such copy"]);
    run(queens(&["promote"]).arg(farm.ledger())).refusal(7, &["is held by another process"]);

    let mut first = Process::start(&mut standby(), farm.new_log());
    first.wait_for_line("the copy is whole");
    run(&mut standby()).refusal(7, &["copy.db"]);
    coordinator.kill();
    std::thread::sleep(Duration::from_secs(1));
    assert!(first.is_running() && !first.said().contains("coordinator serves"), "nobody said so");
    let said = promote().success();
    assert!(said.contains("takes over"), "{said}");
    first.wait_for_line("coordinator serves");
    let mine = |url: &str| run(queens(&["jobs", "--all"]).env("QUEENS_COORDINATOR", url)).success();
    assert!(mine(&port.url()).contains("mine"));
    first.stop();

    let said = promote().success();
    assert!(said.contains("queens coordinator --ledger"), "{said}");
    let alone = Farm::new("", "").with_ledger(copy.clone());
    let _alone = alone.start_coordinator();
    assert!(mine(&alone.url()).contains("mine"));
}

#[test]
fn nobody_but_an_admin_follows() {
    let farm = Farm::new("--tls", "");
    let _coordinator = farm.start_coordinator();
    let join = farm.key("join");
    let join = join.to_str().expect("text");
    let scratch = Scratch::new();
    let copy = scratch.path("copy.db");
    copy_keys(farm.ledger(), &copy);
    let standby = |of: &str, log: &str| {
        let mut command =
            queens(&["standby", "--of", of, "--listen", "127.0.0.1:0", "--log", log, "--ledger"]);
        command.arg(&copy);
        command
    };
    for role in ["worker", "viewer", "submitter"] {
        let create = ["token", "create", "--role", role, "--owner", "lab", "--join-file", join];
        let string = run(&mut queens(&create)).success();
        run(&mut standby(string.trim(), "error")).refusal(6, &["admin"]);
        assert!(!copy.exists());
    }
    let mut admitted = Process::start(&mut standby(join, "info"), farm.new_log());
    admitted.wait_for_line("the copy is whole");
    let mode = fs::metadata(&copy).expect("it is there").permissions();
    assert_eq!(std::os::unix::fs::PermissionsExt::mode(&mode) & 0o777, 0o600);
    wait_until("the copy to have the ledger's tokens", || {
        let count = |path: &Path| {
            // To write it, as is the default, would be to change it.
            let flags = rusqlite::OpenFlags::SQLITE_OPEN_READ_ONLY;
            let db = rusqlite::Connection::open_with_flags(path, flags).expect("it is there");
            let query = "SELECT count(*) FROM credentials";
            db.query_row(query, [], |row| row.get::<_, i64>(0)).unwrap_or(-1)
        };
        count(&copy) == count(farm.ledger())
    });
    let create = ["token", "create", "--role", "admin", "--owner", "friend", "--join-file", join];
    let friend = run(&mut queens(&create)).success();
    let other = scratch.path("other.db");
    copy_keys(farm.ledger(), &other);
    let words = ["standby", "--of", friend.trim(), "--listen", "127.0.0.1:0", "--ledger"];
    let mut revoked = Process::start(queens(&words).arg(&other), farm.new_log());
    revoked.wait_for_line("the copy is whole");
    run(&mut queens(&["token", "revoke", "4", "--join-file", join])).success();
    assert_eq!(revoked.wait().code(), Some(6), "{}", revoked.said());

    let unusable = run(&mut standby("queens://too-short", "error"));
    unusable.usage("cannot use the join string");
}

/// SQLite keeps beside a file what the first of its readers knew of the log, and believes it as long as anybody reads.
#[test]
fn who_takes_over_has_what_came_while_somebody_was_reading_the_copy() {
    let mut pair = Pair::new();
    let mut leader = pair.start_coordinator(0);
    let mut standby = pair.start_standby(0);
    let flags = rusqlite::OpenFlags::SQLITE_OPEN_READ_ONLY;
    let reader = rusqlite::Connection::open_with_flags(&pair.places[1].ledger, flags);
    let reader = reader.expect("it is there");
    let query = "SELECT count(*) FROM jobs";
    let jobs = reader.query_row(query, [], |row| row.get::<_, i64>(0)).expect("it is a ledger");
    assert_eq!(jobs, 0);
    pair.decide(0);

    leader.signal("KILL");
    leader.wait();

    standby.wait_for_line("coordinator serves");
    pair.knows_all_decisions();
}

#[test]
fn what_would_end_a_standby_when_it_leads_ends_it_at_once() {
    let farm = Farm::new("--tls", "");
    let _coordinator = farm.start_coordinator();
    let scratch = Scratch::new();
    let copy = scratch.path("copy.db");
    copy_keys(farm.ledger(), &copy);
    let standby = |options: &[&str]| {
        let mut command = queens(&["standby", "--tls", "--listen", "127.0.0.1:0", "--of"]);
        run(command.arg(farm.key("join")).args(options).arg("--ledger").arg(&copy))
    };
    standby(&["--lease-ms", "60000"]).usage("--lease-ttl-ms");
    standby(&["--token-file", "nowhere"]).usage("copy its file to nowhere");
    for key in ["token", "authority.pem"] {
        let key = scratch.path("copy.db-keys").join(key);
        let away = scratch.path("away");
        fs::rename(&key, &away).expect("it is there");
        standby(&[]).usage("copy the folder of keys");
        assert!(!key.exists(), "another one would be another farm's");
        fs::rename(&away, &key).expect("it is there");
    }
    assert!(!copy.exists());
}
