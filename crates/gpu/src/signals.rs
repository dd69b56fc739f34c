//! A driver may replace the program's handlers of signals: those that compile with LLVM do. This
//! module puts them back, so that the program still stops in order when it is asked to.

use std::mem::MaybeUninit;

const SIGNALS: [libc::c_int; 5] =
    [libc::SIGHUP, libc::SIGINT, libc::SIGQUIT, libc::SIGTERM, libc::SIGUSR1];

/// The handlers of the signals that ask programs to stop. They are restored when this value is
/// dropped.
pub(crate) struct KeptHandlers([libc::sigaction; SIGNALS.len()]);

impl KeptHandlers {
    pub(crate) fn keep() -> KeptHandlers {
        KeptHandlers(SIGNALS.map(|signal| {
            let mut handler = MaybeUninit::zeroed();
            // SAFETY: nothing is set, the signal exists, and zeros are a value of the C structure
            // that is written to.
            unsafe {
                libc::sigaction(signal, std::ptr::null(), handler.as_mut_ptr());
                handler.assume_init()
            }
        }))
    }
}

impl Drop for KeptHandlers {
    fn drop(&mut self) {
        for (signal, handler) in SIGNALS.iter().zip(&self.0) {
            // SAFETY: the handler was the process's own, and what replaced it is not asked for.
            unsafe {
                libc::sigaction(*signal, handler, std::ptr::null_mut());
            }
        }
    }
}
