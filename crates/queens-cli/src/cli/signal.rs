//! Signals that ask the process to stop.

use std::time::Duration;

use tokio_stream::{Stream, StreamExt, iter};

use crate::os::stop_signals;
use crate::output;

/// Completes at the first signal that asks to stop. Signals count from the call on, not only from the first
/// await.
pub(crate) fn asked_to_stop() -> impl Future<Output = ()> {
    let mut signals = stop_signals();
    async move {
        let _ = signals.next().await;
    }
}

/// Requests to stop: signals, the end of the time, and the end of the reader of standard output if the result is for nobody
/// else.
pub(crate) fn stops(
    time_limit: Option<Duration>,
    is_for_reader: bool,
) -> impl Stream<Item = ()> + Unpin {
    let end_of_time = iter(time_limit.map(tokio::time::sleep)).then(|end| end);
    let unread = iter(is_for_reader.then(output::unread)).then(|unread| unread);
    Box::pin(stop_signals().merge(end_of_time).merge(unread))
}
