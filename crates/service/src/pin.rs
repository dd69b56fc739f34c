//! The hash by which a farm's authority is known.

use std::fmt;
use std::str::FromStr;

use ring::digest::{SHA256, SHA256_OUTPUT_LEN, digest};

/// SHA-256 hash of the certificate of a farm's authority in its binary form (DER). Its text is 64 hexadecimal
/// digits.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Pin([u8; SHA256_OUTPUT_LEN]);

impl Pin {
    /// The hash of a certificate.
    #[must_use]
    pub fn of(certificate_der: &[u8]) -> Pin {
        let hash = digest(&SHA256, certificate_der);
        Pin(hash.as_ref().try_into().expect("SHA-256 has 32 bytes"))
    }
}

impl FromStr for Pin {
    type Err = hex::FromHexError;

    fn from_str(text: &str) -> Result<Pin, hex::FromHexError> {
        let mut hash = [0; SHA256_OUTPUT_LEN];
        hex::decode_to_slice(text, &mut hash)?;
        Ok(Pin(hash))
    }
}

impl fmt::Display for Pin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex::encode(self.0))
    }
}

impl fmt::Debug for Pin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Pin({self})")
    }
}
