//! Child processes that do not outlive their test.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// Nothing that a test waits for takes longer, on a slow and busy machine.
const PATIENCE: Duration = Duration::from_secs(120);

/// The program with these arguments, of one speed on every processor, so that work has a middle to
/// be met in; and with nothing of the caller's environment that could set its options.
pub(crate) fn queens(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_queens"));
    let ours = std::env::vars_os().map(|(name, _)| name);
    ours.filter(|name| name.to_string_lossy().starts_with("QUEENS_")).for_each(|name| {
        command.env_remove(name);
    });
    command.args(arguments).env("QUEENS_BACKEND", "portable").stdin(Stdio::null());
    command
}

/// Runs a command to its end.
pub(crate) fn run(command: &mut Command) -> Outcome {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let text = |bytes| String::from_utf8(bytes).expect("the program prints text");
    Outcome {
        command: format!("{command:?}"),
        code: output.status.code(),
        stdout: text(output.stdout),
        stderr: text(output.stderr),
    }
}

/// What a command came to.
#[derive(Debug)]
pub(crate) struct Outcome {
    command: String,
    /// `None`: a signal ended it.
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Outcome {
    /// What it printed.
    #[track_caller]
    pub(crate) fn success(self) -> String {
        assert_eq!(self.code, Some(0), "{}: {}", self.command, self.stderr);
        self.stdout
    }

    /// Asserts that its words were not understood, and why.
    #[track_caller]
    pub(crate) fn usage(self, reason: &str) {
        assert_eq!((self.code, self.stdout.as_str()), (Some(2), ""), "{}", self.command);
        assert!(self.stderr.contains(reason), "{}: {}", self.command, self.stderr);
    }

    /// Asserts that it failed with this code, and that it said one sentence, with all of these
    /// words in it, and nothing else.
    #[track_caller]
    pub(crate) fn refusal(self, code: i32, words: &[&str]) {
        let Outcome { command, stdout, stderr, .. } = self;
        assert_eq!((self.code, stdout.as_str()), (Some(code), ""), "{command}: {stderr}");
        assert!(
            stderr.starts_with("queens: ") && stderr.lines().count() == 1,
            "{command}: {stderr}"
        );
        for word in words {
            assert!(stderr.contains(word), "{command} does not say {word:?}: {stderr}");
        }
    }
}

/// A running child. It is killed when the test ends.
pub(crate) struct Process {
    child: Child,
    log: PathBuf,
}

impl Process {
    /// Starts a command; everything that it prints goes to `log`.
    pub(crate) fn start(command: &mut Command, log: PathBuf) -> Process {
        let file = File::create(&log).expect("logs can be written");
        let out = file.try_clone().expect("the file is open");
        let child = command.stdout(out).stderr(file).spawn();
        Process { child: child.unwrap_or_else(|error| panic!("{command:?}: {error}")), log }
    }

    /// Ends it the hard way.
    pub(crate) fn kill(mut self) {
        assert!(self.is_running(), "it ended before it was killed:\n{}", self.said());
        self.child.kill().expect("children can be killed");
        self.child.wait().expect("children can be waited for");
    }

    /// Sends a signal: `TERM`, `INT`, `STOP`, ...
    pub(crate) fn signal(&self, name: &str) {
        let pid = self.child.id().to_string();
        let sent = Command::new("kill").args(["-s", name, &pid]).status().expect("kill(1) runs");
        assert!(sent.success(), "signal {name}");
    }

    /// Asks it to stop, waits, and asserts that it went in peace.
    pub(crate) fn stop(mut self) {
        self.signal("TERM");
        let status = self.wait();
        assert!(status.success(), "{status}:\n{}", self.said());
    }

    /// Waits for its end.
    pub(crate) fn wait(&mut self) -> ExitStatus {
        let mut status = None;
        wait_until("the process to end", || {
            status = self.child.try_wait().expect("children can be waited for");
            status.is_some()
        });
        status.expect("the wait is over")
    }

    /// Waits until it has printed a line with these words.
    #[track_caller]
    pub(crate) fn wait_for_line(&mut self, words: &str) {
        wait_until(words, || {
            let found = self.said().contains(words);
            assert!(found || self.is_running(), "it ended:\n{}", self.said());
            found
        });
    }

    pub(crate) fn is_running(&mut self) -> bool {
        self.child.try_wait().expect("children can be waited for").is_none()
    }

    /// What it has printed so far.
    pub(crate) fn said(&self) -> String {
        fs::read_to_string(&self.log).expect("logs are text")
    }

    pub(crate) fn log(&self) -> &Path {
        &self.log
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        if thread::panicking() {
            let said = fs::read_to_string(&self.log).unwrap_or_default();
            let last: Vec<&str> = said.lines().rev().take(20).collect();
            eprintln!("--- the end of {}:", self.log.display());
            last.iter().rev().for_each(|line| eprintln!("{line}"));
        }
    }
}

/// Polls until `met`.
#[track_caller]
pub(crate) fn wait_until(what: &str, mut met: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !met() {
        assert!(begun.elapsed() < PATIENCE, "waited in vain for {what}");
        thread::sleep(Duration::from_millis(10));
    }
}
