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
use std::process::Command;

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
    let bolero = Command::new("cargo").args(["bolero", "--version"]).output();
    if !bolero.is_ok_and(|bolero| bolero.status.success()) {
        return Err(fault(
            "guided fuzzing needs cargo-bolero; `cargo install cargo-bolero --locked --no-default-features \
             --features libfuzzer` installs it",
        ));
    }
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

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};
    use std::path::Path;

    use super::*;

    /// The names and texts of the suites of the crate `fuzz`.
    fn suites() -> BTreeMap<String, String> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz/tests");
        let files = fs::read_dir(folder).unwrap().map(|file| file.unwrap().path());
        let name = |path: &Path| path.file_stem().unwrap().to_str().unwrap().to_owned();
        let suites = files.filter(|path| path.is_file());
        suites.map(|path| (name(&path), fs::read_to_string(path).unwrap())).collect()
    }

    #[test]
    fn all_targets_of_the_crate_are_known() {
        let mut found = BTreeSet::new();
        for text in suites().values() {
            let functions = text.split("\nfn ").skip(1);
            let targets = functions.filter(|text| text.contains("bolero::check!"));
            found.extend(targets.map(|text| text.split('(').next().unwrap().to_owned()));
        }
        assert_eq!(found, TARGETS.map(String::from).into());
    }

    /// A suite without bolero is not linked when one is fuzzed by coverage.
    #[test]
    fn all_suites_are_known_and_use_bolero() {
        let uses = |text: &str| text.contains("bolero::check!") || text.contains("use bolero as _");
        let with_bolero = suites().into_iter().filter(|(_, text)| uses(text));
        let names: BTreeSet<String> = with_bolero.map(|(name, _)| name).collect();
        assert_eq!(names, SUITES.map(String::from).into());
    }
}
