//! `cargo xtask mutants`: runs `cargo mutants` on the lines that a branch has changed.

use std::path::Path;

use crate::{Step, cargo};

/// The folder of the changes for `cargo mutants`, which writes its results there, too.
const FOLDER: &str = "target/mutants";

/// Compares the working tree with the commit at which it left `base`.
pub(crate) fn run(base: &str, arguments: &[String]) -> Result<(), u8> {
    let diff = Path::new(FOLDER).join("changes.diff");
    Step::new("git").args(["diff", "--merge-base", base, "--", "*.rs"]).run_into(&diff)?;
    let mutants = cargo("mutants").args(["--output", FOLDER, "--in-diff"]).args([&diff]);
    mutants.args(arguments).run()
}
