//! Signals that ask the process to stop.

use std::cell::OnceCell;
use std::rc::Rc;
use std::time::Duration;

use futures_util::FutureExt;
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

/// The reason why a count is to stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    /// A signal asks for it.
    Signal,
    /// Its time is over.
    TimeLimit,
    /// Nobody reads its result any more.
    Unread,
}

/// Requests to stop: signals, the end of the time, and the end of the reader of standard output if the result is for nobody
/// else. The cell is set to the reason of the first one.
pub(crate) fn stops(
    time_limit: Option<Duration>,
    is_for_reader: bool,
) -> (impl Stream<Item = ()> + Unpin, Rc<OnceCell<Stop>>) {
    let signals = stop_signals().map(|()| Stop::Signal);
    let end_of_time = iter(time_limit.map(tokio::time::sleep));
    let end_of_time = end_of_time.then(|end| end.map(|()| Stop::TimeLimit));
    let unread = iter(is_for_reader.then(output::unread));
    let unread = unread.then(|unread| unread.map(|()| Stop::Unread));
    let first = Rc::new(OnceCell::new());
    let noted = Rc::clone(&first);
    let stops = signals.merge(end_of_time).merge(unread).map(move |stop| {
        let _ = noted.set(stop);
    });
    (Box::pin(stops), first)
}
