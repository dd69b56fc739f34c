//! Alters the bytes of a file here and there.

use crate::Source;

/// The bytes of `sound` with one to four changes: an end that is cut off, or a byte that is removed, added or changed.
#[must_use]
pub fn altered(input: &[u8], sound: &[u8]) -> Vec<u8> {
    let mut source = Source::new(input);
    let mut bytes = sound.to_vec();
    for _ in 0..=source.below(4) {
        let at = source.below(bytes.len());
        match source.below(4) {
            0 => bytes.truncate(at),
            1 => drop(bytes.remove(at)),
            2 => bytes.insert(at, source.byte()),
            _ => bytes[at] = source.byte(),
        }
        if bytes.is_empty() {
            break;
        }
    }
    bytes
}
