//! Fuzzing targets: each takes any bytes as something that arrives from outside, reads it, and
//! checks what was read. No reader may panic.
//!
//! ```text
//!   target     what arrives
//!   messages   every message of workers, and every request and answer of clients
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
//! ```
//!
//! Random bytes are hardly ever a message: those that mean something, and such with some damage,
//! come from the corpus, from libFuzzer, and from the tests of `service`.
#![forbid(unsafe_code)]

mod read;

// `cargo bolero` builds the unit tests too, and they must link what this library brings along.
#[cfg(test)]
use bolero as _;

pub use read::{READERS, Reader};

/// Reads a message: its first byte numbers the kind, and the others are the message.
///
/// # Panics
///
/// If a message is read as one thing and, written and read again, as another.
pub fn messages(input: &[u8]) {
    if let [kind, bytes @ ..] = input {
        (READERS[usize::from(*kind) % READERS.len()].read)(bytes);
    }
}
