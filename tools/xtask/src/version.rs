//! `cargo xtask version`: writes the version of the next release where the present one stands.

use std::fs;

use crate::{cargo, fault};

/// The files that have the version. All of the workspace take it from the first one.
const FILES: [&str; 3] = ["Cargo.toml", "python/Cargo.toml", "CITATION.cff"];

/// Replaces the present version in all files, and renews both lock files.
pub(crate) fn run(next: &str) -> Result<(), u8> {
    let present = env!("CARGO_PKG_VERSION");
    for file in FILES {
        let failed = |error| fault(&format!("{file}: {error}"));
        let text = fs::read_to_string(file).map_err(failed)?;
        let renewed = ["version = \"", "version = \"=", "version: "]
            .iter()
            .fold(text.clone(), |text, before| {
                text.replace(&format!("{before}{present}"), &format!("{before}{next}"))
            });
        if renewed == text {
            return Err(fault(&format!("{file} does not have the version {present}")));
        }
        fs::write(file, renewed).map_err(failed)?;
    }
    let folders = [".", "python"];
    folders.iter().try_for_each(|folder| {
        cargo("update").args(["--quiet", "--workspace", "--offline"]).within(folder).run()
    })
}
