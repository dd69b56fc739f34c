//! Signals that ask the process to stop.

use std::time::Duration;

use tokio_stream::{Stream, StreamExt, iter};

use crate::os::stop_signals;

/// Completes at the first signal that asks to stop. Signals count from the call on, not only from
/// the first await.
pub(crate) fn asked_to_stop() -> impl Future<Output = ()> {
    let mut signals = stop_signals();
    async move {
        let _ = signals.next().await;
    }
}

/// Requests to stop: signals, and the end of the time.
pub(crate) fn stops(time_limit: Option<Duration>) -> impl Stream<Item = ()> + Unpin {
    let end_of_time = iter(time_limit.map(tokio::time::sleep)).then(|end| end);
    Box::pin(stop_signals().merge(end_of_time))
}
