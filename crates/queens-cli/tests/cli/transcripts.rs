//! Tests commands that need neither a server nor a file, as they look in a terminal:
//! `tests/cmd/*.md`.
//!
//! ```text
//! $ queens count 5 --rows 6                       the command; words may stand in single quotes
//! ? 3                                             its exit code, unless it is 0
//! queens: 6 rows of a board of size 5: ...        what it prints
//! ```

use std::fs;

use crate::support::at_once;
use crate::support::process::{queens, run};

#[test]
fn commands_print_what_the_transcripts_show() {
    let mut shown = 0;
    // Some commands wait for a coordinator.
    for file in fs::read_dir("tests/cmd").expect("tests run in their package") {
        let file = file.expect("it can be listed").path();
        let text = fs::read_to_string(&file).expect("it is text");
        let blocks = text.split("```console\n").skip(1);
        let steps = blocks.flat_map(|block| {
            let (block, _) = block.split_once("```").expect("a block ends");
            // Error texts of the operating system differ between systems.
            let is_here = |step: &&str| cfg!(target_os = "linux") || !step.contains("os error");
            block.split("$ queens ").skip(1).filter(is_here)
        });
        shown += at_once(steps, assert_looks_like).len();
    }
    assert!(shown > 20, "only {shown} commands were found");
}

fn assert_looks_like(step: &str) {
    let (args, rest) = step.split_once('\n').expect("a command is a line");
    let args: Vec<&str> = args.split(' ').map(|word| word.trim_matches('\'')).collect();
    let (code, expected) = match rest.strip_prefix("? ").and_then(|rest| rest.split_once('\n')) {
        Some((code, expected)) => (code.parse().expect("a number"), expected),
        None => (0, rest),
    };
    let outcome = run(&mut queens(&args));
    let printed = format!("{}{}", outcome.stdout, outcome.stderr);
    let found = (outcome.code, printed.trim_end());
    assert_eq!(found, (Some(code), expected.trim_end()), "queens {}", args.join(" "));
}
