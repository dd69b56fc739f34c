//! Bytes as text.

use std::fmt;

/// Writes two digits for each byte. Every row of a ledger that is read has some hundred of them in its checksum's text.
pub fn write<const BYTES: usize>(f: &mut fmt::Formatter<'_>, bytes: &[u8; BYTES]) -> fmt::Result {
    let mut digits = [[0; 2]; BYTES];
    let digits = digits.as_flattened_mut();
    hex::encode_to_slice(bytes, digits).expect("two digits for each byte");
    f.write_str(str::from_utf8(digits).expect("digits are text"))
}
