//! The time at which something was written.

use std::time::{SystemTime, UNIX_EPOCH};

/// The wall clock, in milliseconds since 1970. It only informs people.
#[expect(clippy::disallowed_methods, reason = "no decision depends on it")]
pub fn unix_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}
