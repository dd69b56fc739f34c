//! Checks the bundles in `verify/corpus`. `verify/check_corpus.py` checks the second verifier with
//! the same bundles.

use std::num::NonZero;
use std::path::{Path, PathBuf};

use count::Backend;
use evidence::{RecountEffort, Sample, Seed, UnknownFormat, check, recount};
use farm::JobState;

const CORPUS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../verify/corpus");

/// The bundles of a folder.
fn bundles(folder: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(Path::new(CORPUS).join(folder)).expect("the folder is there");
    entries.map(|entry| entry.expect("it can be read").path()).collect()
}

/// Recounts every range by the reference. Returns the state of the bundle's job, or why the bundle
/// is refused.
fn verified(bundle: &Path) -> Result<JobState, String> {
    let sample = Sample { draws: 0, seed: Seed::Number(1), all: true };
    let checked = check(bundle, sample).map_err(|error| error.to_string())?;
    let variant = count::Variant::Straight(Backend::Reference);
    let effort = RecountEffort { threads: NonZero::<usize>::MIN, variant, time: None };
    recount(&checked, effort).map_err(|error| error.to_string())?;
    Ok(checked.header.state)
}

#[test]
fn bundles_of_finished_and_unfinished_jobs_hold() {
    let (exported, good) = (bundles("exported"), bundles("good"));
    assert!(exported.len() > 4 && good.len() > 2, "{exported:?}, {good:?}");
    for bundle in exported.into_iter().chain(good) {
        assert_eq!(verified(&bundle), Ok(JobState::Done), "{}", bundle.display());
    }
    for bundle in bundles("unfinished") {
        let state = bundle.file_stem().and_then(|name| name.to_str()).expect("a state");
        assert_eq!(verified(&bundle).map(|state| state.to_string()), Ok(state.into()));
    }
}

#[test]
fn bad_bundles_are_refused() {
    let bad = bundles("bad");
    assert!(bad.len() > 20, "{}", bad.len());
    for bundle in bad {
        verified(&bundle).expect_err(&bundle.display().to_string());
    }
}

#[test]
fn a_bundle_of_an_unknown_format_gets_no_verdict() {
    let unknown = bundles("unknown");
    assert!(!unknown.is_empty());
    for bundle in unknown {
        let sample = Sample { draws: 0, seed: Seed::Number(1), all: true };
        let error = check(&bundle, sample).expect_err("it may be anything");
        assert!(error.is::<UnknownFormat>(), "{error}");
    }
}
