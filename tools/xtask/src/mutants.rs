//! `cargo xtask mutants`: runs `cargo mutants` on the lines that a branch has changed.

use std::fs;
use std::path::Path;

use crate::{Step, cargo, fault};

/// The folder of the changes for `cargo mutants`, which writes its results there, too.
const FOLDER: &str = "target/mutants";

/// Compares the working tree with the commit at which it left `base`.
pub(crate) fn run(base: &str, arguments: &[String]) -> Result<(), u8> {
    if !is_installed() {
        return Err(fault(
            "cargo-mutants is not installed: `cargo install --locked cargo-mutants` installs it",
        ));
    }
    let diff = Path::new(FOLDER).join("changes.diff");
    Step::new("git").args(["diff", "--merge-base", base, "--", "*.rs"]).run_into(&diff)?;
    let changes = fs::metadata(&diff).map_err(|error| fault(&format!("{FOLDER}: {error}")))?;
    if changes.len() == 0 {
        eprintln!("no Rust file differs from {base}");
        return Ok(());
    }
    let mutants = cargo("mutants").args(["--output", FOLDER, "--in-diff"]).args([&diff]);
    mutants.args(arguments).run()
}

/// Whether cargo has the command `mutants`.
fn is_installed() -> bool {
    let Step(mut version) = cargo("mutants").args(["--version"]);
    version.output().is_ok_and(|output| output.status.success())
}
