//! Signals that ask the process to stop.

/// Completes at the first Ctrl-C or SIGTERM. Signals count from the call on, not only from the first await.
#[cfg(unix)]
pub(crate) fn asked_to_stop() -> impl Future<Output = ()> {
    use tokio::signal::unix::{SignalKind, signal};
    let caught = |kind| signal(kind).expect("signals can be caught");
    let mut interrupt = caught(SignalKind::interrupt());
    let mut terminate = caught(SignalKind::terminate());
    async move {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
    }
}

/// Completes at the first Ctrl-C.
#[cfg(not(unix))]
pub(crate) async fn asked_to_stop() {
    let _ = tokio::signal::ctrl_c().await;
}
