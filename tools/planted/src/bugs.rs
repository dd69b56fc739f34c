//! The catalogue: which bugs there are, and which checks.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use serde::Deserialize;

use crate::hunt::Check;

/// All that is in `crates/planted/bugs`.
pub(crate) struct Catalogue {
    pub(crate) checks: BTreeMap<String, Check>,
    pub(crate) bugs: Vec<Bug>,
}

/// A way to be wrong.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Bug {
    pub(crate) name: String,
    /// What goes wrong with it, in a few words.
    pub(crate) why: String,
    /// Which check should find it.
    pub(crate) check: String,
    #[serde(rename = "edit")]
    edits: Vec<Edit>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Edit {
    /// Relative to the repository's root.
    file: PathBuf,
    find: String,
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
        let folder = root.join("crates/planted/bugs");
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
    /// Makes the edits in the tree at `root`.
    pub(crate) fn plant(&self, root: &Path) -> Result<()> {
        for edit in &self.edits {
            let path = root.join(&edit.file);
            let text = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
            fs::write(&path, edit.apply(&text)?)?;
        }
        Ok(())
    }
}

impl Edit {
    fn apply(&self, text: &str) -> Result<String> {
        let times = text.matches(&self.find).count();
        ensure!(times == 1, "{} has {times} times, not once:\n{}", self.file.display(), self.find);
        Ok(text.replace(&self.find, &self.replace))
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
    fn every_bug_can_still_be_planted() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let catalogue = Catalogue::read(&root).expect("the catalogue is in order");
        for bug in &catalogue.bugs {
            let mut texts: BTreeMap<&Path, String> = BTreeMap::new();
            for edit in &bug.edits {
                let read = || fs::read_to_string(root.join(&edit.file)).expect("its file exists");
                let text = texts.entry(&edit.file).or_insert_with(read);
                let edited = edit.apply(text).unwrap_or_else(|e| panic!("`{}`: {e}", bug.name));
                assert_ne!(edited, *text, "`{}` changes nothing", bug.name);
                *text = edited;
            }
        }
    }
}
