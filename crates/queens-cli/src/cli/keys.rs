//! The key that ends `queens watch`.

/// A future that completes when `q` is typed. While the first value lives, the terminal passes keys on at once and does not
/// show them. Nothing is read if standard input is not a terminal, or belongs to another process group.
#[cfg(unix)]
pub(super) fn quit() -> (Option<Mode>, impl Future<Output = ()>) {
    use std::io::Read as _;
    use std::thread::spawn;

    let (send, typed) = tokio::sync::oneshot::channel();
    let mode = Mode::keys();
    if mode.is_some() {
        spawn(|| {
            let is_quit = |byte: Result<u8, _>| byte.is_ok_and(|byte| byte == b'q');
            if std::io::stdin().lock().bytes().any(is_quit) {
                let _ = send.send(());
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
pub(super) fn quit() -> (Option<()>, impl Future<Output = ()>) {
    (None, std::future::pending())
}

/// The earlier mode of the terminal. It is restored when the value is dropped.
#[cfg(unix)]
pub(super) struct Mode(rustix::termios::Termios);

#[cfg(unix)]
impl Mode {
    fn keys() -> Option<Mode> {
        use rustix::process::getpgrp;
        use rustix::termios::{LocalModes, OptionalActions, tcgetattr, tcgetpgrp, tcsetattr};

        let input = std::io::stdin();
        let before = tcgetattr(&input).ok()?;
        // The system stops a process that changes the terminal of another group.
        tcgetpgrp(&input).ok().filter(|&group| group == getpgrp())?;
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

        let _ = tcsetattr(std::io::stdin(), OptionalActions::Now, &self.0);
    }
}
