//! Fuzzing targets: each takes any bytes, makes from them something that may arrive from outside, reads
//! it, and checks what was read. No reader may panic.
//!
//! ```text
//!   target     what arrives
//!   messages   every message of the services, whole or damaged
//!   bundle     a bundle whose bytes were altered
//! ```
//!
//! They are run by [bolero](https://docs.rs/bolero), on random bytes after everything in
//! `tests/__fuzz__/TARGET/corpus` and `.../crashes`.
//!
//! ```text
//!   cargo xtask fuzz --seconds 600                              every target for ten minutes
//!   cargo xtask fuzz --guided --seconds 600                     guided by coverage, with cargo-bolero
//!   BOLERO_RANDOM_SEED=... cargo test -p fuzz messages          what a failure prints
//!   cargo test -p fuzz -- --ignored corpus                      writes the named files of the corpus anew
//! ```
//!
//! Messages are made from the descriptors of `proto/`: a new field is covered as soon as it is there.
#![forbid(unsafe_code)]

mod generate;
mod read;
mod source;

// `cargo bolero` builds the unit tests too, and whatever it builds calls what this library brings along.
#[cfg(test)]
use bolero as _;

pub use read::{READERS, Read, Reader};
pub use source::Source;

/// The first byte of an input of [`messages`] whose other bytes are a message as they stand, of the
/// kind that the second one numbers.
pub const AS_IT_STANDS: u8 = 0;

/// Reads messages.
///
/// # Panics
///
/// If a message is read as one thing and, written and read again, as another.
pub fn messages(input: &[u8]) {
    if let [AS_IT_STANDS, kind, bytes @ ..] = input {
        (READERS[usize::from(*kind) % READERS.len()].read)(bytes);
        return;
    }
    let _ = generated(input);
}

/// Reads one message that is made from `input`: which kind it was, and whether its content was good.
///
/// # Panics
///
/// As [`messages`] does.
pub fn generated(input: &[u8]) -> (&'static str, Read) {
    let mut source = Source::new(input);
    let reader = &READERS[source.below(READERS.len())];
    let mut bytes = generate::message(reader.name, &mut source);
    if source.one_in(3) {
        damage(&mut bytes, &mut source);
    }
    (reader.name, (reader.read)(&bytes))
}

fn damage(bytes: &mut Vec<u8>, source: &mut Source<'_>) {
    for _ in 0..=source.below(4) {
        if bytes.is_empty() {
            return;
        }
        let at = source.below(bytes.len());
        match source.below(4) {
            0 => bytes[at] = source.byte(),
            1 => bytes[at] ^= 1 << source.below(8),
            2 => bytes.truncate(at),
            _ => bytes.insert(at, source.byte()),
        }
    }
}
