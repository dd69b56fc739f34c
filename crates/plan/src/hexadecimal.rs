//! Writes bytes as hexadecimal text.

use std::fmt;

/// Writes two digits for each byte. Every row of a ledger that is read has some hundred of them in its checksum's text.
pub fn write<const BYTES: usize>(f: &mut fmt::Formatter<'_>, bytes: &[u8; BYTES]) -> fmt::Result {
    let digit = |value: u8| b"0123456789abcdef"[usize::from(value)];
    let digits = bytes.map(|byte| [digit(byte >> 4), digit(byte & 15)]);
    f.write_str(str::from_utf8(digits.as_flattened()).expect("digits are text"))
}
