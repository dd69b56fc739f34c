//! Child processes that do not outlive their test.

use std::env::consts::EXE_EXTENSION;
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

/// The longest time that a test waits. It is far more than a slow and busy machine needs.
pub(crate) const PATIENCE: Duration = Duration::from_secs(120);

/// The program's path. For tests of another package, it is in the folder above theirs, where cargo
/// has built it.
pub(crate) fn program() -> PathBuf {
    let beside_tests = || {
        let this = std::env::current_exe().expect("it has a path");
        let folder = this.ancestors().nth(2).expect("cargo has built it in a folder");
        folder.join("queens").with_extension(EXE_EXTENSION)
    };
    let program = option_env!("CARGO_BIN_EXE_queens").map_or_else(beside_tests, PathBuf::from);
    assert!(program.exists(), "`cargo build` makes {}", program.display());
    program
}

/// The program with these arguments. It counts with the portable backend, so that every processor
/// takes about the same time. It sees no environment variable of the caller that could change what
/// it does.
pub(crate) fn queens(arguments: &[&str]) -> Command {
    without_settings(Command::new(program()), arguments)
}

/// The same program as at a terminal: it handles signals, even if the tests run under `nohup` or in
/// the background.
pub(crate) fn queens_at_a_terminal(arguments: &[&str]) -> Command {
    if !cfg!(target_os = "linux") {
        return queens(arguments);
    }
    let mut command = Command::new("env");
    command.arg("--default-signal=HUP,INT,TERM,USR1").arg(program());
    without_settings(command, arguments)
}

pub(crate) fn without_settings(mut command: Command, arguments: &[&str]) -> Command {
    const SCHEDULERS: [&str; 14] = [
        "SLURM",
        "PBS_",
        "LSB_",
        "SGE_",
        "OAR_",
        "FLUX_",
        "JOB_",
        "HQ_",
        "CONDOR_",
        "NOMAD_",
        "AWS_",
        "BATCH_",
        "CLOUD_",
        "PARALLEL_",
    ];
    const COLOURS: [&str; 3] = ["NO_COLOR", "CLICOLOR", "CI"];
    for (name, _) in std::env::vars_os() {
        let upper = name.to_string_lossy().to_uppercase();
        let mut others = SCHEDULERS.iter().chain(&COLOURS).chain(&["QUEENS_"]);
        if others.any(|start| upper.starts_with(start)) {
            command.env_remove(name);
        }
    }
    command.args(arguments).env("QUEENS_BACKEND", "portable").stdin(Stdio::null());
    os::make_reachable(&mut command);
    command
}

/// `command` as the last arguments of `front`, in the same environment.
pub(crate) fn behind(front: &[&str], command: &Command) -> Command {
    let mut whole = Command::new(front[0]);
    whole.args(&front[1..]).arg(command.get_program()).args(command.get_args());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => whole.env(name, value),
            None => whole.env_remove(name),
        };
    }
    whole
}

/// Runs a command to its end and captures what it prints.
#[track_caller]
pub(crate) fn run(command: &mut Command) -> Outcome {
    run_into(command, Stdio::piped())
}

/// Runs a command to its end, with its standard output connected to `stdout`.
#[track_caller]
pub(crate) fn run_into(command: &mut Command, stdout: impl Into<Stdio>) -> Outcome {
    let spawned = command.stdout(stdout).stderr(Stdio::piped()).spawn();
    end_of(command, spawned.unwrap_or_else(|error| panic!("{command:?}: {error}")))
}

/// Runs a command that reads `input` from its standard input.
#[track_caller]
pub(crate) fn run_with_input(command: &mut Command, input: &str) -> Outcome {
    let command = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let mut stdin = child.stdin.take().expect("it is piped");
    stdin.write_all(input.as_bytes()).expect("the program reads its input");
    drop(stdin);
    end_of(command, child)
}

/// Waits until a child has ended. Kills it after [`PATIENCE`], and fails with what it printed.
#[track_caller]
pub(crate) fn end_of(command: &Command, child: Child) -> Outcome {
    let command = format!("{command:?}");
    let pid = child.id();
    let (ended, waits) = mpsc::channel::<()>();
    let watch = thread::spawn(move || {
        let is_late = waits.recv_timeout(PATIENCE) == Err(RecvTimeoutError::Timeout);
        if is_late {
            os::signal(pid, "KILL");
        }
        is_late
    });
    let output = child.wait_with_output().expect("children can be waited for");
    drop(ended);
    let text = |bytes| String::from_utf8(bytes).expect("the program prints text");
    let (stdout, stderr) = (text(output.stdout), text(output.stderr));
    let was_late = watch.join().expect("the watch does not panic");
    assert!(!was_late, "{command} had not ended after {PATIENCE:?}:\n{stdout}\n{stderr}");
    let outcome = Outcome { command, code: output.status.code(), stdout, stderr };
    outcome.assert_advice_is_complete();
    outcome
}

/// The exit code and the output of a command.
#[derive(Debug)]
pub(crate) struct Outcome {
    command: String,
    /// The exit code, or `None` if a signal ended the command.
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Outcome {
    /// The commands that it advises.
    pub(crate) fn advice(&self) -> impl Iterator<Item = &str> {
        let texts = [self.stdout.as_str(), &self.stderr].into_iter();
        let begun = texts.flat_map(|text| text.split("`queens ").skip(1));
        begun.filter_map(|text| text.split('`').next())
    }

    /// Asserts that every command that it advises has the address of the coordinator, if the
    /// command itself was given one on its command line. JSON is for programs, which know it.
    #[track_caller]
    fn assert_advice_is_complete(&self) {
        const WITHOUT: [&str; 5] = ["bench", "coordinator", "count", "solve", "help"];
        let is_client = !self.command.contains(r#""coordinator""#);
        let is_typed =
            [r#""--coordinator"#, r#""--join"#].iter().any(|it| self.command.contains(it));
        if !(is_client && is_typed) || self.code == Some(2) || self.command.contains("--json") {
            return;
        }
        for advised in self.advice() {
            let needs_none = WITHOUT.iter().any(|name| advised.starts_with(name));
            let has_one = [" --coordinator ", " --join ", " --join-file "];
            let has_one = has_one.iter().any(|option| advised.contains(option));
            assert!(needs_none || has_one, "{}: `queens {advised}`", self.command);
        }
    }

    /// Asserts that it succeeded, and returns its standard output.
    #[track_caller]
    pub(crate) fn success(self) -> String {
        assert_eq!(self.code, Some(0), "{}: {}", self.command, self.stderr);
        self.stdout
    }

    /// Asserts that it succeeded, and printed nothing but the total of the board of size `n`.
    #[track_caller]
    pub(crate) fn total(self, n: u32) {
        assert_eq!(self.success(), format!("{}\n", testkit::vectors::total(n)));
    }

    /// Asserts that its arguments were refused, with `reason` in the message.
    #[track_caller]
    pub(crate) fn usage(self, reason: &str) {
        assert_eq!((self.code, self.stdout.as_str()), (Some(2), ""), "{}", self.command);
        assert!(self.stderr.contains(reason), "{}: {}", self.command, self.stderr);
    }

    /// Asserts that it failed with this exit code, and printed nothing but one line on standard
    /// error that contains all of `args`.
    #[track_caller]
    pub(crate) fn refusal(self, code: i32, args: &[&str]) {
        let Outcome { command, stdout, stderr, .. } = self;
        assert_eq!((self.code, stdout.as_str()), (Some(code), ""), "{command}: {stderr}");
        assert!(
            stderr.starts_with("queens: ") && stderr.lines().count() == 1,
            "{command}: {stderr}"
        );
        for word in args {
            assert!(stderr.contains(word), "{command} does not say {word:?}: {stderr}");
        }
    }
}

/// A running child process. It is killed when this value is dropped.
pub(crate) struct Process {
    child: Child,
    log: PathBuf,
}

impl Process {
    /// Starts a command. Its output goes to `log`.
    pub(crate) fn start(command: &mut Command, log: PathBuf) -> Process {
        let file = File::create(&log).expect("logs can be written");
        let out = file.try_clone().expect("the file is open");
        let child = command.stdout(out).stderr(file).spawn();
        Process { child: child.unwrap_or_else(|error| panic!("{command:?}: {error}")), log }
    }

    /// Kills it with SIGKILL. It must still be running.
    pub(crate) fn kill(mut self) {
        assert!(self.is_running(), "it ended before it was killed:\n{}", self.said());
        self.child.kill().expect("children can be killed");
        self.child.wait().expect("children can be waited for");
    }

    /// Sends a signal: `TERM`, `INT`, `STOP` and so on. Windows only has signals that stop a
    /// process.
    pub(crate) fn signal(&self, name: &str) {
        assert!(os::signal(self.child.id(), name), "signal {name}");
    }

    /// Asks it to stop with SIGTERM, waits, and asserts that it succeeded.
    pub(crate) fn stop(mut self) {
        self.signal("TERM");
        let status = self.wait();
        assert!(status.success(), "{status}:\n{}", self.said());
    }

    /// Waits until the process has ended.
    pub(crate) fn wait(&mut self) -> ExitStatus {
        let mut status = None;
        wait_until("the process to end", || {
            status = self.child.try_wait().expect("children can be waited for");
            status.is_some()
        });
        status.expect("the wait is over")
    }

    /// Waits until the process has printed a line with this text.
    #[track_caller]
    pub(crate) fn wait_for_line(&mut self, args: &str) {
        wait_until(args, || {
            let found = self.said().contains(args);
            assert!(found || self.is_running(), "it ended:\n{}", self.said());
            found
        });
    }

    pub(crate) fn is_running(&mut self) -> bool {
        self.child.try_wait().expect("children can be waited for").is_none()
    }

    /// The output so far.
    pub(crate) fn said(&self) -> String {
        fs::read_to_string(&self.log).expect("logs are text")
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
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

/// Polls until `met` returns `true`. Panics after [`PATIENCE`].
#[track_caller]
pub(crate) fn wait_until(what: &str, mut met: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !met() {
        assert!(begun.elapsed() < PATIENCE, "waited in vain for {what}");
        thread::sleep(Duration::from_millis(10));
    }
}

/// Sends signals to processes.
#[cfg(unix)]
mod os {
    use std::process::Command;

    pub(super) fn make_reachable(_: &mut Command) {}

    pub(super) fn signal(process: u32, name: &str) -> bool {
        let mut kill = Command::new("kill");
        kill.args(["-s", name, &process.to_string()]).status().expect("kill(1) runs").success()
    }
}

/// Ctrl-C reaches all processes of a console. So each process has its own console, without a
/// window.
#[cfg(windows)]
mod os {
    use std::os::windows::process::CommandExt as _;
    use std::process::{Command, Stdio};

    use windows_sys::Win32::System::Console::{
        AttachConsole, CTRL_C_EVENT, FreeConsole, GenerateConsoleCtrlEvent, SetConsoleCtrlHandler,
    };
    use windows_sys::Win32::System::Threading::{
        CREATE_NO_WINDOW, OpenProcess, PROCESS_TERMINATE, TerminateProcess,
    };

    const PROCESS: &str = "PROCESS_OF_CONSOLE";

    pub(super) fn make_reachable(command: &mut Command) {
        command.creation_flags(CREATE_NO_WINDOW);
    }

    pub(super) fn signal(process: u32, name: &str) -> bool {
        match name {
            "INT" | "TERM" => {
                // A process has only one console at a time, so another process presses the keys.
                let this = std::env::current_exe().expect("it has a path");
                let mut press = Command::new(this);
                press.args(["--ignored", "--exact", "support::process::os::press_ctrl_c"]);
                press.env(PROCESS, process.to_string()).stdout(Stdio::null());
                press.status().expect("it starts").success()
            }
            // SAFETY: both calls take numbers.
            "KILL" => unsafe {
                TerminateProcess(OpenProcess(PROCESS_TERMINATE, 0, process), 1) != 0
            },
            _ => panic!("Windows has no signal {name}"),
        }
    }

    #[test]
    #[ignore = "`signal` starts it"]
    fn press_ctrl_c() {
        let Ok(process) = std::env::var(PROCESS) else { return };
        let process = process.parse().expect("`signal` has written it");
        // SAFETY: the calls take numbers. This process ignores the keys.
        let pressed = unsafe {
            FreeConsole();
            AttachConsole(process) != 0
                && SetConsoleCtrlHandler(None, 1) != 0
                && GenerateConsoleCtrlEvent(CTRL_C_EVENT, 0) != 0
        };
        assert!(pressed, "{}", std::io::Error::last_os_error());
    }
}
