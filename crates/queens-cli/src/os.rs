//! What differs between systems: signals, limits, and the service manager.

#[cfg(unix)]
pub(crate) use unix::*;
#[cfg(windows)]
pub(crate) use windows::*;

#[cfg(unix)]
mod unix {
    use std::ffi::OsString;
    use std::io;
    use std::os::unix::ffi::{OsStrExt, OsStringExt};
    use std::path::Path;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::thread;
    use std::time::Duration;

    use console::Term;
    use futures_util::stream::{pending, select_all};
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    use rustix::process::{Resource, Rlimit, Signal, getrlimit, setrlimit};
    use sd_notify::NotifyState;
    use tokio::signal::unix::{SignalKind as Kind, signal};
    use tokio_stream::wrappers::SignalStream;
    use tokio_stream::{Stream, StreamExt};

    /// Every signal that asks to stop: Ctrl-C, SIGTERM, SIGUSR1, which schedulers send ahead of a
    /// time limit, and SIGHUP of a terminal that is closed. A signal that this process was started
    /// to ignore, as `nohup` does with SIGHUP, stays ignored. Signals count from the call on.
    pub(crate) fn stop_signals() -> impl Stream<Item = ()> + Unpin {
        HANDLED.store(true, Ordering::Relaxed);
        let kinds = [Kind::interrupt(), Kind::terminate(), Kind::user_defined1(), Kind::hangup()];
        let caught = |kind| SignalStream::new(signal(kind).expect("signals can be caught"));
        let signals = select_all(kinds.into_iter().filter(|kind| !is_ignored(*kind)).map(caught));
        // If all are ignored, none ever comes.
        signals.chain(pending())
    }

    /// Makes a write beyond the limit of a file's size fail. Otherwise a signal would end the
    /// process without a word.
    pub(crate) fn fail_beyond_file_size_limit() {
        let was_raised = Arc::new(AtomicBool::new(false));
        let caught = signal_hook::flag::register(Signal::XFSZ.as_raw(), was_raised);
        caught.expect("this signal can be caught");
    }

    /// Whether the stack of the first thread is limited to less than this program may need.
    pub(crate) fn has_small_stack() -> bool {
        const ENOUGH_BYTES: u64 = 4 << 20;
        getrlimit(Resource::Stack).current.is_some_and(|limit| limit < ENOUGH_BYTES)
    }

    /// Makes memory that the system refuses end the process with this exit code. The standard
    /// library says how much it was, and then raises the signal. Otherwise the signal would end the
    /// process.
    pub(crate) fn end_by_refused_memory(code: u8) {
        let is_caught = Arc::new(AtomicBool::new(true));
        let abort = Signal::ABORT.as_raw();
        let caught =
            signal_hook::flag::register_conditional_shutdown(abort, code.into(), is_caught);
        caught.expect("this signal can be caught");
    }

    /// Whether the command handles the signals that ask to stop.
    static HANDLED: AtomicBool = AtomicBool::new(false);

    /// Lets SIGINT and SIGTERM end a command that does not handle them, with the exit code that a
    /// shell gives it, if this is process 1, as in a container without an init: for that process,
    /// the system drops signals that it does not handle.
    pub(crate) fn end_by_signals_as_process_1() {
        if std::process::id() != 1 {
            return;
        }
        thread::spawn(|| {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build();
            let runtime = runtime.expect("two files can be opened");
            runtime.block_on(async {
                let caught = |kind| signal(kind).expect("signals can be caught");
                let (mut interrupt, mut terminate) =
                    (caught(Kind::interrupt()), caught(Kind::terminate()));
                loop {
                    let kind = tokio::select! {
                        _ = interrupt.recv() => Kind::interrupt(),
                        _ = terminate.recv() => Kind::terminate(),
                    };
                    if !HANDLED.load(Ordering::Relaxed) {
                        std::process::exit(128 + kind.as_raw_value());
                    }
                }
            })
        });
    }

    /// Whether this process ignores a signal. Only Linux reports it.
    fn is_ignored(kind: Kind) -> bool {
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
        let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
        mask.is_some_and(|mask| mask >> (kind.as_raw_value() - 1) & 1 == 1)
    }

    /// Returns when nobody reads standard output any more.
    pub(crate) fn wait_until_unread() {
        const PAUSE: Duration = Duration::from_millis(250);
        let stdout = io::stdout();
        let mut polled = [PollFd::new(&stdout, PollFlags::empty())];
        // Some systems do not wake up a process that waits for this event alone, so it is asked for
        // from time to time.
        while !polled[0].revents().contains(PollFlags::ERR) {
            thread::sleep(PAUSE);
            let _ = poll(&mut polled, Some(&Timespec::default()));
        }
    }

    /// Whether a stream shows colours.
    pub(crate) fn shows_colours(stream: &Term) -> bool {
        stream.is_term()
    }

    /// Notifies systemd of the state of a service, as sd_notify(3) specifies. It does nothing
    /// without `NOTIFY_SOCKET`.
    pub(crate) fn notify_systemd(state: &str) {
        if let Err(error) = sd_notify::notify(&[NotifyState::Custom(state)]) {
            tracing::warn!(%error, "systemd cannot be notified of the state of this service");
        }
    }

    /// Raises the limit of open files, which is usually 1,024, as far as the system allows, and
    /// returns it. Each connection is an open file.
    pub(crate) fn raise_file_limit() -> usize {
        let most = getrlimit(Resource::Nofile).maximum;
        if let Err(error) = setrlimit(Resource::Nofile, Rlimit { current: most, maximum: most }) {
            tracing::warn!(%error, "the limit of open files stays as it is");
        }
        let limit = getrlimit(Resource::Nofile).current;
        limit.and_then(|limit| limit.try_into().ok()).unwrap_or(usize::MAX)
    }

    /// Calls `start` so that the threads that it starts give way to other programs: `nice` is added
    /// to their nice value. On Linux a thread has its own, which those that it starts inherit, and
    /// this thread keeps its own.
    pub(crate) fn with_low_priority<T: Send>(nice: u8, start: impl FnOnce() -> T + Send) -> T {
        if nice == 0 {
            return start();
        }
        let started = thread::scope(|scope| {
            let starter = scope.spawn(move || {
                if let Err(error) = rustix::process::nice(nice.into()) {
                    tracing::warn!(%error, "this worker counts with the usual priority");
                }
                start()
            });
            starter.join()
        });
        started.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }

    /// The parts of a path before, between and after `place`. The path need not be UTF-8.
    pub(crate) fn split(path: &Path, place: &str) -> Vec<OsString> {
        let mut rest = path.as_os_str().as_bytes();
        let mut pieces = Vec::new();
        while let Some(at) = rest.windows(place.len()).position(|piece| piece == place.as_bytes()) {
            pieces.push(OsString::from_vec(rest[..at].into()));
            rest = &rest[at + place.len()..];
        }
        pieces.push(OsString::from_vec(rest.into()));
        pieces
    }
}

#[cfg(windows)]
mod windows {
    use std::ffi::OsString;
    use std::path::Path;
    use std::task::Poll;

    use console::Term;
    use futures_util::stream::poll_fn;
    use tokio::signal::windows::{ctrl_break, ctrl_c, ctrl_close, ctrl_logoff, ctrl_shutdown};
    use tokio_stream::Stream;

    /// Every event that asks to stop: Ctrl-C, Ctrl-Break, and the end of the console or of the
    /// session. The system gives a process about five seconds after the end of a console. Events
    /// count from the call on.
    pub(crate) fn stop_signals() -> impl Stream<Item = ()> + Unpin {
        const CAUGHT: &str = "events of the console can be caught";
        let (mut c, mut pause) = (ctrl_c().expect(CAUGHT), ctrl_break().expect(CAUGHT));
        let (mut close, mut logoff) = (ctrl_close().expect(CAUGHT), ctrl_logoff().expect(CAUGHT));
        let mut shutdown = ctrl_shutdown().expect(CAUGHT);
        poll_fn(move |context| {
            let polled = [
                c.poll_recv(context),
                pause.poll_recv(context),
                close.poll_recv(context),
                logoff.poll_recv(context),
                shutdown.poll_recv(context),
            ];
            polled.into_iter().find(Poll::is_ready).unwrap_or(Poll::Pending)
        })
    }

    /// This system has no such limit.
    pub(crate) fn fail_beyond_file_size_limit() {}

    /// The program is linked with the size of its stack.
    pub(crate) fn has_small_stack() -> bool {
        false
    }

    /// The system ends the process with a code of its own.
    pub(crate) fn end_by_refused_memory(_: u8) {}

    /// No process of this system drops such events.
    pub(crate) fn end_by_signals_as_process_1() {}

    /// Never returns: on this system only a write shows that the reader has gone.
    pub(crate) fn wait_until_unread() {
        loop {
            std::thread::park();
        }
    }

    /// Whether a stream shows colours. A console has to be asked.
    pub(crate) fn shows_colours(stream: &Term) -> bool {
        stream.features().colors_supported()
    }

    /// There is no systemd here.
    pub(crate) fn notify_systemd(_: &str) {}

    /// Open files have no limit here.
    pub(crate) fn raise_file_limit() -> usize {
        usize::MAX
    }

    /// Windows has no nice value.
    pub(crate) fn with_low_priority<T: Send>(_: u8, start: impl FnOnce() -> T + Send) -> T {
        start()
    }

    /// The parts of a path before, between and after `place`. A path that is not Unicode is one
    /// part.
    pub(crate) fn split(path: &Path, place: &str) -> Vec<OsString> {
        match path.to_str() {
            Some(text) => text.split(place).map(OsString::from).collect(),
            None => vec![path.into()],
        }
    }
}
