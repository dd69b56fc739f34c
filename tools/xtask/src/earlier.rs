//! `cargo xtask earlier`: builds an earlier version of the program, and has it work with this one.

use std::fs;
use std::path::Path;

use crate::checkout::{check_out, short};
use crate::{cargo, fault};

/// The commit of the earlier version: the newest release or, before there is one, the last commit before the ledger's
/// format changed.
const COMMIT: &str = "crates/queens/tests/earlier/COMMIT";
/// Where earlier versions are built.
const FOLDER: &str = "target/earlier";

pub(crate) fn run() -> Result<(), u8> {
    let commit = fs::read_to_string(COMMIT);
    let commit = commit.map_err(|error| fault(&format!("{COMMIT}: {error}")))?;
    let commit = short(commit.trim())?;
    let folder = std::path::absolute(Path::new(FOLDER).join(&commit));
    let folder = folder.map_err(|error| fault(&format!("{FOLDER}: {error}")))?;
    let program = folder.join("target/release/queens");
    if !program.exists() {
        check_out(&commit, &folder)?;
        cargo("build")
            .args(["--quiet", "--locked", "--release", "--package", "queens"])
            .env("CARGO_TARGET_DIR", folder.join("target"))
            .within(&folder)
            .run()?;
    }
    let test = cargo("test").args(["--package", "queens", "--test", "earlier", "--", "--ignored"]);
    test.env("EARLIER", &program).run()
}
