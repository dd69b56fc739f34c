//! How values are written as JSON, for the `with` of serde.

/// Writes a value as a string. Numbers are strings, too, because many programs that read JSON lose
/// digits of numbers beyond 2^53.
pub mod text {
    use std::fmt::Display;
    use std::str::FromStr;

    use serde::de::{Deserialize, Deserializer, Error};
    use serde::ser::Serializer;

    /// Writes the text of the value.
    pub fn serialize<S: Serializer>(
        value: &impl Display,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.collect_str(value)
    }

    /// Reads a value from its text.
    pub fn deserialize<'de, T: FromStr<Err: Display>, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<T, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(|error| D::Error::custom(format_args!("{text:?}: {error}")))
    }
}

/// Writes a value as a string, or null if there is none.
pub(crate) mod text_or_null {
    use std::fmt::Display;
    use std::str::FromStr;

    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    /// A value as its text.
    #[derive(Serialize, Deserialize)]
    #[serde(bound(serialize = "T: Display", deserialize = "T: FromStr<Err: Display>"))]
    struct Text<T>(#[serde(with = "super::text")] T);

    pub(crate) fn serialize<S: Serializer>(
        value: &Option<impl Display>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        value.as_ref().map(Text).serialize(serializer)
    }

    pub(crate) fn deserialize<'de, T: FromStr<Err: Display>, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<T>, D::Error> {
        Ok(Option::<Text<T>>::deserialize(deserializer)?.map(|Text(value)| value))
    }
}

/// A number that a field has in a smaller unit than its JSON: `PARTS` of it are one.
macro_rules! in_units {
    ($(#[$doc:meta])* $name:ident, $number:ty, $parts:expr) => {
        $(#[$doc])*
        pub(crate) mod $name {
            use serde::{Deserialize, Deserializer, Serializer};

            const PARTS: f64 = $parts as f64;

            pub(crate) fn serialize<S: Serializer>(
                parts: &$number,
                serializer: S,
            ) -> Result<S::Ok, S::Error> {
                serializer.serialize_f64(*parts as f64 / PARTS)
            }

            pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
                deserializer: D,
            ) -> Result<$number, D::Error> {
                Ok((f64::deserialize(deserializer)? * PARTS).round() as $number)
            }
        }
    };
}

in_units! {
    /// Microseconds, written as hours.
    hours, u64, crate::Hours::US
}
in_units! {
    /// Millionths, written as a share from 0 to 1.
    share, u32, crate::AuditPolicy::ALL
}

/// Microseconds, written as seconds; null if they are not known.
pub(crate) mod seconds_or_null {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(crate) fn serialize<S: Serializer>(
        us: &Option<u64>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        us.map(|us| us as f64 / 1e6).serialize(serializer)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<u64>, D::Error> {
        let seconds = Option::<f64>::deserialize(deserializer)?;
        Ok(seconds.map(|seconds| (seconds * 1e6).round() as u64))
    }
}
