//! `cargo xtask reproducible`: checks that two builds of the last commit, in two folders, are the
//! same bit by bit.

use std::fs;
use std::path::{Path, PathBuf};

use crate::checkout::{check_out, short};
use crate::package::static_flags;
use crate::{cargo, fault};

/// The folders of the builds. Their names have different lengths, so that no path can be hidden by
/// padding.
const FOLDERS: [&str; 2] = ["target/reproducible/a", "target/reproducible/another"];

/// Builds the static program of the last commit in both folders, and compares the programs.
pub(crate) fn run() -> Result<(), u8> {
    let commit = short("HEAD")?;
    let programs = FOLDERS.map(|folder| build(&absolute(folder)?, &commit));
    let [one, other] = programs.map(|program| program.and_then(|program| read(&program)));
    let (one, other) = (one?, other?);
    if one != other {
        let first = one.iter().zip(&other).position(|(a, b)| a != b);
        return Err(fault(&format!(
            "the programs differ: {} and {} bytes, from byte {} on",
            one.len(),
            other.len(),
            first.unwrap_or(one.len().min(other.len()))
        )));
    }
    println!("two builds of {commit} are the same {} bytes", one.len());
    fs::remove_dir_all("target/reproducible").map_err(|error| fault(&error.to_string()))
}

/// Builds the commit in a new folder, and returns the program's path.
fn build(folder: &Path, commit: &str) -> Result<PathBuf, u8> {
    check_out(commit, folder)?;
    let target = format!("{}-unknown-linux-gnu", std::env::consts::ARCH);
    cargo("build")
        .args(["--quiet", "--locked", "--profile", "dist", "--package", "queens-cli"])
        .args(["--target", &target])
        .env("CARGO_ENCODED_RUSTFLAGS", static_flags(folder))
        .env("CARGO_TARGET_DIR", folder.join("target"))
        .env("QUEENS_COMMIT", commit)
        .within(folder)
        .run()?;
    Ok(folder.join("target").join(target).join("dist/queens"))
}

fn read(program: &Path) -> Result<Vec<u8>, u8> {
    fs::read(program).map_err(|error| fault(&format!("{}: {error}", program.display())))
}

fn absolute(path: &str) -> Result<PathBuf, u8> {
    std::path::absolute(path).map_err(|error| fault(&error.to_string()))
}
