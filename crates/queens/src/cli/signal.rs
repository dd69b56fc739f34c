//! Signals that ask the process to stop.

use std::time::Duration;

use tokio_stream::{Stream, StreamExt};

/// Completes at the first signal that asks to stop. Signals count from the call on, not only from the first
/// await.
pub(crate) fn asked_to_stop() -> impl Future<Output = ()> {
    let mut signals = stop_signals();
    async move {
        let _ = signals.next().await;
    }
}

/// Each request to stop: a signal, or the end of the time.
pub(crate) fn requests_to_stop(time_limit: Option<Duration>) -> impl Stream<Item = ()> + Unpin {
    let end_of_time = async move {
        match time_limit {
            Some(limit) => tokio::time::sleep(limit).await,
            None => std::future::pending().await,
        }
    };
    Box::pin(stop_signals().merge(futures_util::stream::once(end_of_time)))
}

/// Every signal that asks to stop: Ctrl-C, SIGTERM, SIGUSR1, which schedulers send ahead of a time limit, and
/// SIGHUP of a terminal that is closed, unless `nohup` has this process ignore it. Signals count from the
/// call on.
#[cfg(unix)]
pub(crate) fn stop_signals() -> impl Stream<Item = ()> + Unpin {
    use futures_util::stream::select_all;
    use tokio::signal::unix::{SignalKind, signal};
    use tokio_stream::wrappers::SignalStream;
    let mut kinds =
        vec![SignalKind::interrupt(), SignalKind::terminate(), SignalKind::user_defined1()];
    if !is_ignored(SignalKind::hangup()) {
        kinds.push(SignalKind::hangup());
    }
    let caught = |kind| SignalStream::new(signal(kind).expect("signals can be caught"));
    select_all(kinds.into_iter().map(caught))
}

/// Whether this process ignores a signal, as far as the system tells; Linux does.
#[cfg(unix)]
fn is_ignored(kind: tokio::signal::unix::SignalKind) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask >> (kind.as_raw_value() - 1) & 1 == 1)
}

/// Every Ctrl-C.
#[cfg(not(unix))]
pub(crate) fn stop_signals() -> impl Stream<Item = ()> + Unpin {
    use futures_util::stream::unfold;
    Box::pin(unfold((), |()| async { tokio::signal::ctrl_c().await.ok().map(|()| ((), ())) }))
}
