//! Certificates, against those that `verify/corpus/make_certificates.py` has counted by plain searches, and bad ones.

use std::fs;
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use count::Backend;
use evidence::certificate::{
    Certificate, CertificateEffort, CertificateError, Course, Opened, Opening, Scope, join, open,
    read, write,
};
use farm::Slice;

const CORPUS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../verify/corpus/certificates");

fn certificates(folder: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(Path::new(CORPUS).join(folder)).expect("the folder is there");
    entries.map(|entry| entry.expect("it can be read").path()).collect()
}

fn good(name: &str) -> PathBuf {
    Path::new(CORPUS).join(format!("good/{name}.certificate"))
}

fn effort(backend: Backend) -> CertificateEffort {
    let threads = NonZero::new(3).expect("it is not 0");
    CertificateEffort { threads, backend, memory: 1 << 30 }
}

fn opened(path: &Path, opening: Opening<'_>) -> Result<Opened, CertificateError> {
    open(path, opening, effort(Backend::Reference), &Arc::new(Course::default()))
}

const ALL: Opening<'_> = Opening { value: "corpus", share_ppm: 1_000_000, slice: Slice::ALL };

fn written(path: &Path, scope: &Scope) -> Result<Certificate, CertificateError> {
    write(path, scope, effort(Backend::detect()), &Arc::new(Course::default()))
}

#[test]
fn what_is_written_is_what_plain_searches_count() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    for path in certificates("good") {
        let certificate = read(&path).unwrap_or_else(|error| panic!("{error}"));
        let again = folder.path().join("certificate");
        let name = written(&again, &certificate.scope).expect("it can be written").name;
        assert_eq!(name, certificate.name);
        assert_eq!(fs::read(&again).ok(), fs::read(&path).ok(), "{}", path.display());
        fs::remove_file(again).expect("it is there");

        let opened = opened(&path, ALL).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!((opened.subtotals, opened.tasks), {
            let tasks = certificate.scope.tasks();
            (tasks, tasks)
        });
    }
}

#[test]
fn bad_certificates_are_refused() {
    let bad = certificates("bad");
    assert!(bad.len() > 40, "{}", bad.len());
    for path in bad {
        let refused = opened(&path, ALL).expect_err(&path.display().to_string());
        assert!(matches!(refused, CertificateError::Wrong { .. }), "{refused}");
    }
}

#[test]
fn a_beginning_is_no_certificate_and_is_finished_to_the_same_bytes() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let whole = fs::read(good("whole-9")).expect("it is there");
    let scope = Scope::new(9, Slice::ALL).expect("halves cut it");
    for path in certificates("unfinished") {
        let refused = read(&path).expect_err("it has no end");
        assert!(matches!(refused, CertificateError::Unfinished { .. }), "{refused}");
    }
    // Also where a line, the first or the last one is cut off.
    let torn = folder.path().join("torn");
    for length in [1_000, whole.len() - 1] {
        fs::write(&torn, &whole[..length]).expect("it can be written");
        let refused = read(&torn).expect_err("it has no end");
        assert!(matches!(refused, CertificateError::Unfinished { .. }), "{refused}");
    }
    for length in [0, 20, 200, 1_000, whole.len() / 2, whole.len() - 30, whole.len()] {
        let path = folder.path().join(length.to_string());
        fs::write(&path, &whole[..length]).expect("it can be written");
        written(&path, &scope).expect("it can be finished");
        assert_eq!(fs::read(&path).ok().as_ref(), Some(&whole), "the first {length} bytes");
    }
}

#[test]
fn what_is_something_else_is_left_as_it_is() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let scope = Scope::new(9, Slice::ALL).expect("halves cut it");
    let path = folder.path().join("file");
    let mut wrong = fs::read(good("whole-9")).expect("it is there");
    wrong[200] = b'x';
    let another_board = fs::read(good("whole-8")).expect("it is there");
    let of_a_part = fs::read(good("part-1-of-3")).expect("it is there");
    let torn = [&another_board[..], b"cut off"].concat();
    for other in [&b"a text without an end"[..], &wrong, &another_board, &of_a_part, &torn] {
        fs::write(&path, other).expect("it can be written");
        written(&path, &scope).expect_err("it is something else");
        assert_eq!(fs::read(&path).expect("it is there"), other);
    }
}

#[test]
fn one_process_writes_a_file() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("file");
    let other = fs::File::create(&path).expect("it can be made");
    other.lock().expect("nobody else has it");
    let scope = Scope::new(9, Slice::ALL).expect("halves cut it");
    let refused = written(&path, &scope).expect_err("somebody else writes it");
    assert!(matches!(refused, CertificateError::Busy(_)), "{refused}");
    drop(other);
    written(&path, &scope).expect("nobody else writes it");
}

#[test]
fn parts_make_the_whole_and_nothing_less_does() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let into = folder.path().join("whole");
    let parts = |which: &[u32]| -> Vec<PathBuf> {
        which.iter().map(|part| good(&format!("part-{part}-of-3"))).collect()
    };
    let name = join(&parts(&[2, 3, 1]), &into).expect("they are all there").name;
    assert_eq!(fs::read(&into).ok(), fs::read(good("whole-9")).ok());
    assert_eq!(read(&into).expect("it holds").name, name);
    let exists = join(&parts(&[1, 2, 3]), &into).expect_err("the file is there already");
    assert!(matches!(exists, CertificateError::Unwritten { .. }), "{exists}");

    let none = folder.path().join("none");
    let cut = folder.path().join("cut");
    let lines = fs::read_to_string(good("part-3-of-3")).expect("it is there");
    let (without_end, _) = lines.trim_end().rsplit_once('\n').expect("it has lines");
    fs::write(&cut, format!("{without_end}\n")).expect("it can be written");
    let with = |part: &Path| [parts(&[1, 2]), vec![part.to_path_buf()]].concat();
    let said = |paths: &[PathBuf]| {
        let error = join(paths, &none).expect_err("it makes no whole");
        assert!(!none.exists());
        error.to_string()
    };
    for (paths, reason) in [
        (parts(&[1, 3]), "part 2/3 is missing"),
        (parts(&[1, 2, 2]), "both about part 2/3"),
        (with(&good("part-3-of-4")), "not another of the parts"),
        (with(&good("whole-9")), "not another of the parts"),
        (with(&cut), "has 54 of 54 tasks"),
    ] {
        assert!(said(&paths).contains(reason), "{}", said(&paths));
    }
    // Compressed, and read again.
    let small = folder.path().join("small.zst");
    join(&[good("whole-9")], &small).expect("it can be written");
    assert_eq!(read(&small).expect("it holds").name, name);
}

/// A single wrong subtotal is found by the draws of its class, which are one in 27, and by no others.
#[test]
fn a_wrong_subtotal_is_found_as_often_as_its_class_is_drawn() {
    let bad = Path::new(CORPUS).join("bad/a-subtotal-moved.certificate");
    let is_found = |value: &u32| {
        let value = value.to_string();
        opened(&bad, Opening { value: &value, ..ALL }).is_err()
    };
    let found = (0..400).filter(is_found).count();
    // Two subtotals are wrong: 400 x 2/27 = 30, give or take 4 standard deviations.
    assert!((9..=51).contains(&found), "{found} of 400");
}

#[test]
fn a_share_and_a_part_of_the_tasks_are_opened() {
    let path = good("whole-9");
    let part = |index| Slice::new(index, 3).expect("it is one");
    let of_part = |index| opened(&path, Opening { slice: part(index), ..ALL }).expect("it holds");
    let tasks: u64 = (1..=3).map(|index| of_part(index).tasks).sum();
    assert_eq!(tasks, 163);
    let half = opened(&path, Opening { share_ppm: 500_000, ..ALL }).expect("it holds");
    assert_eq!(half.tasks, 163);
    assert!((50..=113).contains(&half.subtotals), "{}", half.subtotals);
    let none = opened(&path, Opening { share_ppm: 0, ..ALL }).expect("it holds");
    assert_eq!((none.subtotals, none.fewer_wrong_than()), (0, None));
    let all = opened(&path, ALL).expect("it holds");
    assert_eq!(all.fewer_wrong_than(), Some(80));
}

#[test]
fn whoever_is_asked_to_stop_keeps_what_is_counted() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("file");
    let scope = Scope::new(9, Slice::ALL).expect("halves cut it");
    let course = Arc::new(Course::default());
    course.stop();
    let stopped = write(&path, &scope, effort(Backend::detect()), &course);
    assert!(matches!(stopped, Err(CertificateError::Stopped { tasks: 163, .. })), "{stopped:?}");
    written(&path, &scope).expect("it goes on");
    assert_eq!(fs::read(&path).ok(), fs::read(good("whole-9")).ok());
}
