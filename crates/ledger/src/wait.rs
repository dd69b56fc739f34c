//! Waits for other programs that read a ledger or have locked it, such as `sqlite3`.

use std::thread::sleep;
use std::time::Duration;

/// The pause between two attempts.
const PAUSE: Duration = Duration::from_millis(50);
/// Attempts before the log says what is waited for: a second.
const SILENT: i32 = 20;
/// The most attempts, a minute.
const ATTEMPTS: i32 = 1_200;

/// SQLite calls it when it finds the ledger locked, with the number of calls before: whether to try again.
pub(super) fn for_others(attempt: i32) -> bool {
    if attempt == SILENT {
        tracing::warn!(
            "waiting for another program that reads the ledger or has locked it, for a minute at most; a reader may be \
             `queens export` or `queens backup`, and a lock is held by `sqlite3` within a transaction"
        );
    }
    sleep(PAUSE);
    attempt < ATTEMPTS
}
