//! The one spelling of a line of a bundle.
//!
//! [`encode`] writes a line, and [`decode`] refuses every other spelling of the same content:
//! another order of fields, spaces, `+5` or `0005` for 5, needless escapes, or upper case in
//! hexadecimal numbers. So one content has one hash, and a comparison of two files compares their
//! contents.

use anyhow::{Result, ensure};
pub(super) use farm::json::text;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// The bytes of a line, without its line feed.
pub(super) fn encode(line: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(line).expect("a line is JSON")
}

/// The content of a line, which has to be spelled as [`encode`] spells it.
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

/// The count of a task, as a decimal string.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(super) struct Decimal(#[serde(with = "text")] pub(super) u64);

#[cfg(test)]
mod tests {
    use farm::Digest;

    use super::*;

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Sample {
        number: u64,
        decimal: Decimal,
        #[serde(with = "text")]
        hex: Digest,
        name: String,
    }

    #[test]
    fn a_content_has_one_spelling() {
        let line = r#"{"number":5,"decimal":"50","hex":"00000000000000000000000000000aff","name":"é\"\n\u001b"}"#;
        let sample: Sample = decode(line.as_bytes()).expect("it is how lines are written");
        let name = "é\"\n\u{1b}".to_string();
        assert_eq!(sample, Sample { number: 5, decimal: Decimal(50), hex: Digest(0xaff), name });
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
