//! Tests of the commands that messages advise: they have the options that they need.

use crate::support::Farm;
use crate::support::process::{queens, run};

#[test]
fn whoever_typed_an_address_gets_it_in_every_command_that_is_advised() {
    let farm = Farm::new("", "");
    let _coordinator = farm.start_coordinator();
    let (url, mut advised) = (farm.url(), Vec::new());
    for (command, code) in [
        ("jobs", 0),
        ("workers", 0),
        ("token list", 0),
        ("submit 18", 0),
        ("jobs", 0),
        ("jobs 1", 0),
        ("pause 1", 0),
        ("jobs 1", 0),
        ("cancel 1", 0),
        ("audit 1 --all", 4),
        ("jobs 9", 4),
        ("jobs --limit 0", 0),
        ("token revoke 9", 4),
    ] {
        let args = command.split(' ').chain(["--coordinator", &url]);
        let outcome = run(&mut queens(&args.collect::<Vec<_>>()));
        assert_eq!(outcome.code, Some(code), "{command}: {}", outcome.stderr);
        // That each has the address is asserted of every command that a test runs.
        advised.extend(outcome.advice().map(String::from));
        assert!(advised.iter().all(|it| it.contains(&url)), "{advised:?}");
    }
    for name in ["submit N", "worker", "resume 1", "jobs", "jobs --all", "token list"] {
        let whole = format!("{name} --coordinator {url}");
        assert!(advised.contains(&whole), "{whole}: {advised:?}");
    }

    // An exported address holds for the next command, too.
    assert!(farm.client(&["jobs", "9"]).stderr.contains("`queens jobs`"));
}
