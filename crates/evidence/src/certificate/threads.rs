//! Counting threads that need not be waited for: a task of a large board takes long, and cannot be stopped.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::Duration;

use super::{CertificateError, Course};

/// What threads have counted.
pub(super) struct Counted<T> {
    receiver: Receiver<Result<T, CertificateError>>,
    course: Arc<Course>,
}

/// How long it takes to see that somebody asks to stop.
const PATIENCE: Duration = Duration::from_millis(50);

impl<T: Send + 'static> Counted<T> {
    /// Starts so many threads, each of which counts until it has no more to count, until it has failed, or until nobody
    /// wants it any more, which the function that it gets says.
    pub(super) fn by(
        threads: usize,
        course: &Arc<Course>,
        count: impl Fn(&mut dyn FnMut(T) -> bool) -> Result<(), CertificateError>
        + Clone
        + Send
        + 'static,
    ) -> Counted<T> {
        let (sender, receiver) = sync_channel(64 * threads);
        for _ in 0..threads {
            let (count, sender, course) = (count.clone(), sender.clone(), course.clone());
            std::thread::spawn(move || {
                let mut tell = |counted| send(&sender, &course, Ok(counted));
                if let Err(error) = count(&mut tell) {
                    send(&sender, &course, Err(error));
                }
            });
        }
        Counted { receiver, course: course.clone() }
    }

    /// The next that was counted; `None` if that is all, or if somebody asks to stop.
    pub(super) fn next(&self) -> Result<Option<T>, CertificateError> {
        while !self.course.is_stopped() {
            match self.receiver.recv_timeout(PATIENCE) {
                Ok(counted) => return counted.map(Some),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        Ok(None)
    }
}

/// Whether somebody still wants more.
fn send<T>(
    sender: &SyncSender<Result<T, CertificateError>>,
    course: &Course,
    counted: Result<T, CertificateError>,
) -> bool {
    sender.send(counted).is_ok() && !course.is_stopped()
}
