//! The fuzzing target `certificate`: an altered certificate is refused with a sentence, and whoever goes on with what is left
//! of it makes a sound one, or none. The crate `fuzz` says how to run it for longer.

use std::fs;
use std::num::NonZero;
use std::sync::{Arc, LazyLock};

use count::Backend;
use evidence::certificate::{CertificateEffort, Course, Scope, read, write};
use farm::Slice;
use fuzz::altered;
use tempfile::TempDir;

/// The bytes of a sound certificate.
static SOUND: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let folder = TempDir::new().expect("a temporary directory");
    let path = folder.path().join("certificate");
    write(&path, &SCOPE, EFFORT, &Arc::new(Course::default())).expect("it can be written");
    fs::read(&path).expect("it can be read")
});

static SCOPE: LazyLock<Scope> = LazyLock::new(|| Scope::new(6, Slice::ALL).expect("halves cut it"));

const EFFORT: CertificateEffort = CertificateEffort {
    threads: NonZero::<usize>::MIN,
    backend: Backend::Reference,
    memory: 1 << 30,
};

#[test]
fn certificate() {
    let folder = TempDir::new().expect("a temporary directory");
    let path = folder.path().join("altered");
    bolero::check!().for_each(move |input: &[u8]| {
        let bytes = altered(input, &SOUND);
        fs::write(&path, &bytes).expect("it can be written");
        if read(&path).is_ok() {
            assert_eq!(bytes, *SOUND);
        }
        let finished = write(&path, &SCOPE, EFFORT, &Arc::new(Course::default()));
        let now = fs::read(&path).expect("it can be read");
        match finished {
            Ok(_) => assert_eq!(now, *SOUND),
            Err(_) => assert!(!bytes.is_empty() && read(&path).is_err()),
        }
    });
}
