//! Tells the program which commit it is made of, by which compiler, and for which target.

use std::process::Command;

fn main() {
    let target = std::env::var("TARGET").expect("cargo sets it");
    println!("cargo:rustc-env=QUEENS_TARGET={target}");
    println!("cargo:rustc-env=QUEENS_COMPILER={}", compiler().as_deref().unwrap_or("unknown"));
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-env-changed=QUEENS_COMMIT");
    // The variable names the commit where the repository is missing, as in a container.
    let reported = std::env::var("QUEENS_COMMIT").ok().filter(|commit| !commit.is_empty());
    let commit = reported.or_else(packaged).or_else(|| {
        let log = git(&["rev-parse", "--git-path", "logs/HEAD"])?;
        println!("cargo:rerun-if-changed={log}");
        git(&["rev-parse", "--short=12", "HEAD"])
    });
    println!("cargo:rustc-env=QUEENS_COMMIT={}", commit.as_deref().unwrap_or("unknown"));
}

/// The compiler and its version, as in `rustc 1.95.0`.
fn compiler() -> Option<String> {
    let output = Command::new(std::env::var_os("RUSTC")?).arg("--version").output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    Some(text.split_whitespace().take(2).collect::<Vec<_>>().join(" "))
}

/// The commit of a package, from the file that cargo adds to it.
fn packaged() -> Option<String> {
    let text = std::fs::read_to_string(".cargo_vcs_info.json").ok()?;
    let (_, commit) = text.split_once("\"sha1\": \"")?;
    Some(commit.get(..12)?.to_owned())
}

/// What git answers; `None` without git or a repository.
fn git(words: &[&str]) -> Option<String> {
    let output = Command::new("git").args(words).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    (output.status.success() && !text.trim().is_empty()).then(|| text.trim().to_string())
}
