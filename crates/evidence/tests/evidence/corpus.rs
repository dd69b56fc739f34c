//! Checks the bundles in `verify/corpus`. `verify/check_corpus.py` checks the second verifier with
//! the same bundles.

use std::io::Write as _;
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

/// `check_corpus.py` has the same for the second verifier.
#[test]
fn compressed_bytes_may_say_nothing_for_a_while_and_not_for_long() {
    let text = std::fs::read(Path::new(CORPUS).join("exported/rows-8.bundle"));
    let text = text.expect("it is there");
    let compressed = |text: &[u8]| {
        let mut encoder = evidence::gzip(Vec::new());
        encoder.write_all(text).expect("it is written to memory");
        encoder.finish().expect("it is written to memory")
    };
    let plain = compressed(&text);
    let (head, rest) = plain.split_at(10);
    // The fourth byte says that a name follows the header.
    let name = |length: usize| {
        let mut head = head.to_vec();
        head[3] = 8;
        [head, vec![b'n'; length], vec![0], rest.to_vec()].concat()
    };
    let blocks = |many: usize| [head, &b"\0\0\0\xff\xff".repeat(many), rest].concat();
    let members = |many: usize| [compressed(b"").repeat(many), plain.clone()].concat();
    let folder = tempfile::tempdir().expect("a temporary folder");
    let verdict = |bytes: &[u8]| {
        let path = folder.path().join("bundle");
        std::fs::write(&path, bytes).expect("it can be written");
        verified(&path)
    };
    let many = 1 << 18;
    for (few, many) in
        [(name(100), name(many)), (blocks(100), blocks(many)), (members(100), members(many))]
    {
        assert_eq!(verdict(&few), Ok(JobState::Done));
        verdict(&many).expect_err("it is padded");
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
    // `check_corpus.py` has the same: what is no short number is no version.
    let text = std::fs::read_to_string(Path::new(CORPUS).join("exported/rows-8.bundle"));
    let text = text.expect("it is there");
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("bundle");
    for (version, is_unknown) in [("4294967295", true), ("4294967296", false), ("-2", false)] {
        let of_version = format!("{{\"queens_bundle\":{version},");
        std::fs::write(&path, text.replacen("{\"queens_bundle\":1,", &of_version, 1))
            .expect("it can be written");
        let sample = Sample { draws: 0, seed: Seed::Number(1), all: true };
        let error = check(&path, sample).expect_err("it is of another version or of none");
        assert_eq!(error.is::<UnknownFormat>(), is_unknown, "{version}: {error}");
    }
}
