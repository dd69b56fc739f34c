//! The catalogue of bugs and of the checks that must find them.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use serde::Deserialize;

use crate::hunt::Check;
use crate::source::{self, Source};

/// Everything in `tools/planted/bugs` and `tools/planted/checks.toml`.
pub(crate) struct Catalogue {
    pub(crate) checks: BTreeMap<String, Check>,
    pub(crate) bugs: Vec<Bug>,
}

/// A bug that can be planted.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Bug {
    pub(crate) name: String,
    /// What goes wrong with it, in a few words.
    pub(crate) why: String,
    /// The name of the check that should find it.
    pub(crate) check: String,
    #[serde(rename = "edit")]
    edits: Vec<Edit>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Edit {
    /// Code that occurs once in the workspace, or once in `scope`: see [`crate::source`].
    find: String,
    /// A function, type or module, such as `Job::claim`.
    #[serde(rename = "in")]
    scope: Option<String>,
    replace: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct BugFile {
    #[serde(rename = "bug")]
    bugs: Vec<Bug>,
}

impl Catalogue {
    pub(crate) fn read(root: &Path) -> Result<Catalogue> {
        let folder = root.join("tools/planted/bugs");
        let checks: BTreeMap<String, Check> = parse(&folder.join("../checks.toml"))?;
        let mut files: Vec<PathBuf> =
            fs::read_dir(&folder)?.map(|entry| Ok(entry?.path())).collect::<Result<_>>()?;
        files.sort();
        let mut bugs: Vec<Bug> = Vec::new();
        for file in &files {
            bugs.extend(parse::<BugFile>(file)?.bugs);
        }
        for (index, bug) in bugs.iter().enumerate() {
            let known = checks.contains_key(&bug.check);
            ensure!(known, "`{}` names the check `{}`, which is not there", bug.name, bug.check);
            let twice = bugs[..index].iter().any(|other| other.name == bug.name);
            ensure!(!twice, "two bugs are named `{}`", bug.name);
        }
        Ok(Catalogue { checks, bugs })
    }
}

impl Bug {
    /// Makes the edits in `sources`; returns which files were changed.
    pub(crate) fn plant(&self, sources: &mut [Source]) -> Result<BTreeSet<PathBuf>> {
        let plant = |edit: &Edit| {
            source::replace(sources, &edit.find, edit.scope.as_deref(), &edit.replace)
        };
        let changed: Result<BTreeSet<PathBuf>> = self.edits.iter().map(plant).collect();
        changed.with_context(|| format!("planting `{}`", self.name))
    }
}

fn parse<T: for<'a> Deserialize<'a>>(path: &Path) -> Result<T> {
    let text = fs::read_to_string(path).with_context(|| path.display().to_string())?;
    toml::from_str(&text).with_context(|| path.display().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_bug_fits_one_place() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let catalogue = Catalogue::read(&root).expect("the catalogue is in order");
        let originals = source::read_all(&root).expect("the sources can be read");
        let mut sources = originals.clone();
        let mut faults = Vec::new();
        for bug in &catalogue.bugs {
            if let Err(error) = bug.plant(&mut sources) {
                faults.push(format!("{error:#}"));
            }
            let mut changes = 0;
            for (source, original) in sources.iter_mut().zip(&originals) {
                if source.text != original.text {
                    (*source, changes) = (original.clone(), changes + 1);
                }
            }
            if changes == 0 {
                faults.push(format!("`{}` changes nothing", bug.name));
            }
        }
        assert!(faults.is_empty(), "{}", faults.join("\n\n"));
    }
}
