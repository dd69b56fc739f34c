//! Writes the source of a commit into its own folder.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::{Step, fault};

/// Writes the source of `commit` into `folder`, whose former content is removed.
pub(crate) fn check_out(commit: &str, folder: &Path) -> Result<(), u8> {
    let at_folder = |error: std::io::Error| fault(&format!("{}: {error}", folder.display()));
    if folder.exists() {
        fs::remove_dir_all(folder).map_err(at_folder)?;
    }
    fs::create_dir_all(folder).map_err(at_folder)?;
    let name = folder.to_str().ok_or_else(|| fault("the folder's name is no text"))?;
    let archive = format!("{name}.tar");
    Step::new("git").args(["archive", "--output", &archive, commit]).run()?;
    Step::new("tar").args(["--extract", "--file", &archive, "--directory", name]).run()?;
    fs::remove_file(archive).map_err(at_folder)
}

/// The first digits of a commit's hash.
pub(crate) fn short(commit: &str) -> Result<String, u8> {
    let args = ["rev-parse", "--verify", "--short=12", &format!("{commit}^{{commit}}")];
    let output = Command::new("git").args(args).output();
    let output = output.map_err(|error| fault(&format!("git: {error}")))?;
    if !output.status.success() {
        return Err(fault(&format!(
            "there is no repository with its history, or no {commit} in it"
        )));
    }
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}
