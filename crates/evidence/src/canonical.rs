//! The one spelling of a line of a bundle.
//!
//! [`encode`] writes a line, and [`decode`] refuses every other spelling of the same content:
//! another order of fields, spaces, `+5` or `0005` for 5, needless escapes, or upper case in
//! hexadecimal numbers. So one content has one hash, and a comparison of two files compares their
//! contents.

use anyhow::{Result, ensure};
use serde::de::{DeserializeOwned, Error};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The bytes of a line, without its line feed.
pub(super) fn encode(line: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(line).expect("a line is JSON")
}

/// The content of a line.
///
/// # Errors
///
/// The line is malformed, or is not spelled as [`encode`] spells it.
pub(super) fn decode<T: DeserializeOwned + Serialize>(bytes: &[u8]) -> Result<T> {
    let line = serde_json::from_slice(bytes)?;
    let written = encode(&line);
    ensure!(
        written == bytes,
        "it is not spelled in the one way that a bundle allows, which is: {}",
        String::from_utf8_lossy(&written)
    );
    Ok(line)
}

/// A number as a decimal string, because programs that read JSON lose digits of numbers beyond
/// 2^53.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Decimal(pub(super) u128);

impl Serialize for Decimal {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for Decimal {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Decimal, D::Error> {
        let text = String::deserialize(deserializer)?;
        let number = text.parse().map(Decimal);
        number.map_err(|_| D::Error::custom(format_args!("{text:?} is not a number")))
    }
}

/// A number as a string of 32 hexadecimal digits, the highest first.
pub(super) mod hex {
    use serde::de::{Deserialize, Deserializer, Error};
    use serde::ser::Serializer;

    pub(crate) fn serialize<S: Serializer>(
        number: &u128,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&format_args!("{number:032x}"))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<u128, D::Error> {
        let text = String::deserialize(deserializer)?;
        let number = u128::from_str_radix(&text, 16);
        number.map_err(|_| D::Error::custom(format_args!("{text:?} is not a hexadecimal number")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Sample {
        number: u64,
        decimal: Decimal,
        #[serde(with = "hex")]
        hex: u128,
        name: String,
    }

    #[test]
    fn a_content_has_one_spelling() {
        let line = r#"{"number":5,"decimal":"50","hex":"00000000000000000000000000000aff","name":"é\"\n\u001b"}"#;
        let sample: Sample = decode(line.as_bytes()).expect("it is how lines are written");
        let name = "é\"\n\u{1b}".to_string();
        assert_eq!(sample, Sample { number: 5, decimal: Decimal(50), hex: 0xaff, name });
        for (from, to) in [
            (r#""50""#, r#""+50""#),
            (r#""50""#, r#""050""#),
            (r#""50""#, r#"" 50""#),
            (r#""50""#, "50"),
            (":5", ": 5"),
            (":5", ":5.0"),
            (":5", ":05"),
            ("0aff", "0aFF"),
            ("0aff", "aff"),
            ("0aff", "+aff"),
            ("é", "\\u00e9"),
            ("\\u001b", "\\u001B"),
            ("\\n", "\\u000a"),
            (r#"{"number":5,"decimal":"50""#, r#"{"decimal":"50","number":5"#),
            ("}", "} "),
            ("}", "}\r"),
        ] {
            let other = line.replacen(from, to, 1);
            assert_ne!(other, line);
            decode::<Sample>(other.as_bytes()).expect_err(&other);
        }
    }
}
