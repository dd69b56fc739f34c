//! The key that ends what a terminal shows.

/// Completes when `q` is typed, as long as the first value lives. Meanwhile keys come at once, and the terminal shows none.
/// Where standard input is no terminal, or that of another process group, nothing is read.
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

/// Ctrl-C alone ends what is shown.
#[cfg(not(unix))]
pub(super) fn quit() -> (Option<()>, impl Future<Output = ()>) {
    (None, std::future::pending())
}

/// How the terminal was before, which it becomes again when the value is dropped.
#[cfg(unix)]
pub(super) struct Mode(rustix::termios::Termios);

#[cfg(unix)]
impl Mode {
    fn keys() -> Option<Mode> {
        use rustix::process::getpgrp;
        use rustix::termios::{LocalModes, OptionalActions, tcgetattr, tcgetpgrp, tcsetattr};

        let input = std::io::stdin();
        let before = tcgetattr(&input).ok()?;
        // The system stops whoever changes the terminal of others.
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
