//! Signals that ask the process to stop.

use std::pin::Pin;
use std::task::{Context, Poll, ready};
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

/// Each request to stop, and which came first.
pub(crate) struct Stops {
    requests: Pin<Box<dyn Stream<Item = Stop>>>,
    pub(crate) first: Option<Stop>,
}

impl Stops {
    /// Signals, and the end of the time; and of the reader of standard output, if the result is for nobody else.
    pub(crate) fn new(time_limit: Option<Duration>, is_for_reader: bool) -> Stops {
        let end_of_time = iter(time_limit.map(tokio::time::sleep));
        let end_of_time = end_of_time.then(|end| end.map(|()| Stop::TimeLimit));
        let unread = iter(is_for_reader.then(output::unread));
        let unread = unread.then(|unread| unread.map(|()| Stop::Unread));
        let signals = stop_signals().map(|()| Stop::Signal);
        Stops { requests: Box::pin(signals.merge(end_of_time).merge(unread)), first: None }
    }
}

impl Stream for Stops {
    type Item = ();

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<()>> {
        let stop = ready!(self.requests.as_mut().poll_next(context));
        self.first = self.first.or(stop);
        Poll::Ready(stop.map(|_| ()))
    }
}
