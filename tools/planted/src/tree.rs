//! A copy of the sources in which bugs can be planted.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Result;

use crate::bugs::Bug;
use crate::source;

/// What a build and its tests read, where it exists.
const COPIED: [&str; 12] = [
    ".cargo",
    "Cargo.lock",
    "Cargo.toml",
    "crates",
    "deploy",
    "docs",
    "proto",
    "rust-toolchain.toml",
    "rustfmt.toml",
    "tools",
    "vectors",
    "verify",
];

/// The copy, beside the build directory that all bugs share, so that each is an incremental build.
pub(crate) struct Tree {
    source: PathBuf,
    root: PathBuf,
    build: PathBuf,
}

impl Tree {
    /// A fresh copy of the tree at `source`, in its build directory.
    pub(crate) fn below(source: &Path) -> Result<Tree> {
        let target = std::env::var_os("CARGO_TARGET_DIR").map(PathBuf::from);
        let folder = target.unwrap_or_else(|| source.join("target")).join("planted");
        let tree =
            Tree { source: source.into(), root: folder.join("tree"), build: folder.join("build") };
        tree.restore()?;
        Ok(tree)
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    pub(crate) fn build_folder(&self) -> &Path {
        &self.build
    }

    /// Plants a bug in the copy, which must be as the sources are.
    pub(crate) fn plant(&self, bug: &Bug) -> Result<()> {
        let mut sources = source::read_all(&self.root)?;
        for changed in bug.plant(&mut sources)? {
            let source = sources.iter().find(|source| source.path == changed);
            let text = &source.expect("it was changed").text;
            fs::write(self.root.join(&changed), text)?;
        }
        Ok(())
    }

    /// Makes the copy equal to the sources again. What is equal keeps its time, for cargo's sake.
    pub(crate) fn restore(&self) -> Result<()> {
        fs::create_dir_all(&self.root)?;
        for name in COPIED {
            if self.source.join(name).exists() {
                copy(&self.source.join(name), &self.root.join(name))?;
            }
        }
        Ok(())
    }
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    if !from.is_dir() {
        let bytes = fs::read(from)?;
        if fs::read(to).ok().as_ref() != Some(&bytes) {
            fs::write(to, bytes)?;
        }
        return Ok(());
    }
    fs::create_dir_all(to)?;
    let names = names_in(from)?;
    for name in &names {
        copy(&from.join(name), &to.join(name))?;
    }
    for gone in names_in(to)?.difference(&names) {
        let path = to.join(gone);
        if path.is_dir() { fs::remove_dir_all(path)? } else { fs::remove_file(path)? }
    }
    Ok(())
}

fn names_in(folder: &Path) -> Result<BTreeSet<OsString>> {
    fs::read_dir(folder)?.map(|entry| Ok(entry?.file_name())).collect()
}
