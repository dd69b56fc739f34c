//! `cargo xtask fuzz`: inputs for the targets of the crate `fuzz`, random or guided.
//!
//! Guided inputs are made by libFuzzer, through `cargo bolero`. It varies inputs that reached new
//! code.
//!
//! ```text
//!   target/fuzz/corpus/TARGET                  all inputs that libFuzzer varies
//!   tools/fuzz/tests/__fuzz__/TARGET/corpus    inputs that reach a branch of their own: to be committed
//!   tools/fuzz/tests/__fuzz__/TARGET/crashes   inputs that the target fails on
//! ```
//!
//! Each run of a target begins with the last two, also by `cargo test`.

use std::fs;

use crate::{Step, cargo, fault};

/// The targets of the crate `fuzz`.
pub(crate) const TARGETS: [&str; 2] = ["messages", "bundle"];

/// The tests of the crate `fuzz`.
const SUITES: [&str; 2] = ["targets", "bundle"];

/// Runs these targets on random inputs. Without targets, it runs all of them and the crate's other
/// tests.
pub(crate) fn blind(targets: &[String], seconds: u64) -> Result<(), u8> {
    let suites = SUITES.iter().flat_map(|suite| ["--test", suite]);
    let test = cargo("test").args(["--workspace"]).args(suites).args(["--"]).args(targets);
    test.env("BOLERO_RANDOM_TEST_TIME_MS", (seconds * 1_000).to_string()).run()
}

/// Runs these targets, or all of them, one after the other on inputs that are guided by coverage.
pub(crate) fn guided(targets: &[String], seconds: u64) -> Result<(), u8> {
    let all = TARGETS.map(String::from);
    for target in if targets.is_empty() { &all } else { targets } {
        let found = format!("target/fuzz/corpus/{target}");
        let committed = format!("tools/fuzz/tests/__fuzz__/{target}/corpus");
        for folder in [&found, &committed] {
            fs::create_dir_all(folder).map_err(|error| fault(&format!("{folder}: {error}")))?;
        }
        let time = format!("{seconds}s");
        libfuzzer(target, &found, &committed).args(["-T", &time]).run()?;
        let merge = ["--engine-args=-set_cover_merge=1", "--engine-args=-use_counters=0"];
        libfuzzer(target, &committed, &found).args(merge).run()?;
    }
    Ok(())
}

/// Runs libFuzzer with a target on the stable toolchain. Inputs come from two folders, and new ones
/// go to the first. An input that takes a minute is an error, on a busy machine too.
fn libfuzzer(target: &str, to: &str, from: &str) -> Step {
    let build = ["--rustc-bootstrap", "--sanitizer=NONE", "--package=fuzz"];
    let run = ["--engine=libfuzzer", "--timeout=60s", "--corpus-dir", to, "--engine-args", from];
    cargo("bolero").args(["test", target]).args(build).args(run)
}
