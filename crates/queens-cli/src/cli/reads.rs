//! Tests that no command waits for what it is told to read. They find the options and arguments
//! that name files in clap's own tree, so that a new one is covered without being named here.

use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::process::Command as Program;
use std::sync::mpsc;
use std::time::Duration;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, Command, CommandFactory, FromArgMatches, ValueHint};

use super::Cli;
use crate::failure::Failure;

/// What names a file or a folder that its command only writes, or passes on to workers.
const UNREAD: [(&str, &str); 8] = [
    ("autoscale", "worker_join_file"),
    ("backup", "to"),
    ("export", "bundle"),
    ("draw", "out"),
    ("reproduce", "svg"),
    ("coordinator", "join_file"),
    ("coordinator", "worker_join_file"),
    ("coordinator", "monitor_folder"),
];

/// Far more than a command needs to refuse a file, and less than it waits for a coordinator.
const LIMIT: Duration = Duration::from_secs(20);

/// The words that give an argument a value.
fn given(arg: &Arg, value: impl Into<OsString>) -> impl Iterator<Item = OsString> {
    let name = arg.get_long().map(|long| OsString::from(format!("--{long}")));
    name.into_iter().chain([value.into()])
}

/// Options with values of a kind that clap does not tell.
const VALUES: [(&str, &str); 2] = [("listen", "127.0.0.1:0"), ("role", "worker")];

/// What an argument takes besides the one that is tried: a new file in `folder`, a word or a
/// number.
fn anything(arg: &Arg, folder: &Path) -> OsString {
    let known = VALUES.iter().find(|(id, _)| arg.get_id() == id);
    match (known, arg.get_possible_values().first()) {
        _ if names_file(arg) => folder.join(arg.get_id().as_str()).into(),
        (Some((_, value)), _) => value.into(),
        (None, Some(value)) => value.get_name().into(),
        (None, None) => "8".into(),
    }
}

/// The command line that gives `value` to one argument of a command, and to others what they need.
fn command_line(names: &[&str], command: &Command, of: &Arg, value: &Path) -> Vec<OsString> {
    let folder = value.parent().expect("it is in a folder");
    let mut words: Vec<OsString> = names.iter().map(OsString::from).collect();
    words.extend(given(of, value));
    for arg in command.get_arguments().filter(|arg| arg.get_id() != of.get_id()) {
        // The file by default is in the folder in which the test runs. Without its arguments, a
        // command may have nothing to do with the file.
        let is_given = match names_file(arg) {
            true => !arg.get_default_values().is_empty(),
            false => arg.get_id() == "listen" || arg.is_positional() && !arg.is_last_set(),
        };
        if is_given {
            words.extend(given(arg, anything(arg, folder)));
        }
    }
    // clap names what is missing, also if that depends on what is there.
    while let Err(error) = parsed(&words)
        && error.kind() == ErrorKind::MissingRequiredArgument
    {
        let Some(ContextValue::Strings(missing)) = error.get(ContextKind::InvalidArg) else {
            break;
        };
        let is_missing =
            |arg: &&Arg| missing[0] == arg.to_string().replace('[', "<").replace(']', ">");
        let arg = command.get_arguments().find(is_missing).expect("clap names an argument");
        words.extend(given(arg, anything(arg, folder)));
    }
    words
}

fn parsed(words: &[OsString]) -> Result<Cli, clap::Error> {
    let cli = super::tests::without_variables(Cli::command());
    Cli::from_arg_matches(&cli.try_get_matches_from(words)?)
}

/// Whether the values of an argument are names of files.
fn names_file(arg: &Arg) -> bool {
    !matches!(arg.get_value_hint(), ValueHint::Unknown | ValueHint::Other)
}

/// Calls `see` for each argument that names a file, with its command and the words that name that.
fn each(names: &[&str], command: &Command, see: &mut impl FnMut(&[&str], &Command, &Arg)) {
    command.get_arguments().filter(|arg| names_file(arg)).for_each(|arg| see(names, command, arg));
    for command in command.get_subcommands() {
        each(&[names, &[command.get_name()]].concat(), command, see);
    }
}

#[cfg(unix)]
#[test]
fn no_command_waits_for_a_file_that_it_is_told_to_read() {
    let mut cli = super::tests::without_variables(Cli::command());
    cli.build();
    let (mut tried, mut wrong) = (0, Vec::new());
    each(&["queens"], &cli, &mut |names, command, arg| {
        if UNREAD.contains(&(command.get_name(), arg.get_id().as_str())) {
            return;
        }
        for what in ["pipe", "folder", "device"] {
            let folder = tempfile::tempdir().expect("a temporary folder");
            let path = folder.path().join(what);
            match what {
                "pipe" => {
                    assert!(Program::new("mkfifo").arg(&path).status().expect("it runs").success())
                }
                "folder" => fs::create_dir(&path).expect("it can be made"),
                _ => std::os::unix::fs::symlink("/dev/zero", &path).expect("it can be made"),
            }
            let words = command_line(names, command, arg, &path);
            let (ended, end) = mpsc::channel();
            let read = words.clone();
            std::thread::spawn(move || {
                let cli = parsed(&read).map_err(|error| Failure::Usage(error.to_string()));
                drop(ended.send(cli.and_then(|cli| cli.command.run(false))));
            });
            let result = end.recv_timeout(LIMIT).unwrap_or_else(|_| panic!("{words:?} has no end"));
            tried += 1;
            let is_refused = result.as_ref().is_err_and(|failure| {
                let text = failure.to_string();
                let is_about_it = text.contains(path.to_str().expect("it is text"));
                is_about_it && !text.contains('\n') && (2..70).contains(&failure.code())
            });
            if !is_refused {
                wrong.push(format!("{words:?}: {result:?}"));
            }
        }
    });
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(tried > 100, "only {tried}");
}
