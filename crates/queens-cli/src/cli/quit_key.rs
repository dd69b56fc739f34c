//! The key `q`, which ends a watch on a terminal.

/// A future that completes when `q` is typed, if that `is_wanted`. Until the first value is
/// dropped, the terminal passes keys on at once and does not show them. Nothing is read if standard
/// input is not a terminal, or while another process group owns the terminal.
#[cfg(unix)]
pub(super) fn typed(is_wanted: bool) -> (Option<Mode>, impl Future<Output = ()>) {
    use rustix::event::{PollFd, PollFlags, poll};

    let (send, typed) = tokio::sync::oneshot::channel();
    let mode = is_wanted.then(Mode::keys).flatten();
    if mode.is_some() {
        std::thread::spawn(|| {
            let input = std::io::stdin();
            let mut typed = [0; 64];
            loop {
                // The call fails when a process that was stopped goes on.
                let is_ready = poll(&mut [PollFd::new(&input, PollFlags::IN)], None).is_ok();
                if !is_in_front() {
                    // Nothing tells when the terminal belongs to this group again.
                    std::thread::sleep(std::time::Duration::from_secs(1));
                } else if is_ready {
                    match rustix::io::read(&input, &mut typed) {
                        Ok(bytes) if typed[..bytes].ends_with(b"q") => {
                            let _ = send.send(());
                            break;
                        }
                        Ok(0) | Err(_) => break,
                        // Another key, or a pasted text with a q in it.
                        Ok(_) => {}
                    }
                }
            }
        });
    }
    let quit = async {
        if typed.await.is_err() {
            std::future::pending().await
        }
    };
    (mode, quit)
}

/// Only Ctrl-C ends it on this system.
#[cfg(not(unix))]
pub(super) fn typed(_is_wanted: bool) -> (Option<()>, impl Future<Output = ()>) {
    (None, std::future::pending())
}

/// Whether this process group owns the terminal. The system stops a process that reads or changes a
/// terminal that another group owns.
#[cfg(unix)]
fn is_in_front() -> bool {
    let group = rustix::termios::tcgetpgrp(std::io::stdin());
    group.is_ok_and(|group| group == rustix::process::getpgrp())
}

/// The earlier mode of the terminal. It is restored when the value is dropped.
#[cfg(unix)]
pub(super) struct Mode(rustix::termios::Termios);

#[cfg(unix)]
impl Mode {
    fn keys() -> Option<Mode> {
        use rustix::termios::{LocalModes, OptionalActions, tcgetattr, tcsetattr};

        let input = std::io::stdin();
        let before = tcgetattr(&input).ok().filter(|_| is_in_front())?;
        let mut keys = before.clone();
        keys.local_modes.remove(LocalModes::ICANON | LocalModes::ECHO);
        tcsetattr(&input, OptionalActions::Now, &keys).ok()?;
        Some(Mode(before))
    }
}

#[cfg(unix)]
impl Drop for Mode {
    fn drop(&mut self) {
        use rustix::termios::{OptionalActions, tcsetattr};

        if is_in_front() {
            let _ = tcsetattr(std::io::stdin(), OptionalActions::Now, &self.0);
        }
    }
}
