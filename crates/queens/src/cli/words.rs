//! The words of a command line before they mean anything: help in groups, environment variables that are empty, and
//! errors in the style of all others.

use std::ffi::OsStr;
use std::fmt::Write as _;
use std::process::exit;

use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{ArgMatches, Command, Subcommand as _};

use super::jobs::ChangeCommand;
use crate::failure::Failure;
use crate::visible::visible;

/// The commands in the order of the help, without those that change jobs. Each is in one group.
const GROUPS: [(&str, &[&str]); 5] = [
    (
        "Count and solve",
        &["count", "plan", "solve", "complete", "list", "check", "draw", "explain", "compare"],
    ),
    ("Run a farm", &["coordinator", "worker", "workers", "health", "token", "trust"]),
    (OF_JOBS, &["submit", "jobs", "watch"]),
    ("Evidence", &["export", "verify", "merge", "backup", "scrub", "reproduce"]),
    ("Tools", &["bench", "completions", "help"]),
];

/// The group of the commands that change jobs.
const OF_JOBS: &str = "Look after jobs";

/// All commands, in the order of the help.
pub(super) fn grouped() -> impl Iterator<Item = (&'static str, Vec<String>)> {
    let changes = ChangeCommand::augment_subcommands(Command::new("changes"));
    GROUPS.into_iter().map(move |(group, names)| {
        let others = changes.get_subcommands().filter(|_| group == OF_JOBS);
        let others = others.map(|command| command.get_name());
        (group, names.iter().copied().chain(others).map(str::to_owned).collect())
    })
}

/// The command as it is needed to read words of which this is the first: without those environment variables that are set
/// to nothing, and with its subcommands in groups if the word is none of them.
///
/// To make all of them ready takes a quarter of a millisecond, which is a hundredth of a short count.
pub(super) fn prepared(command: Command, first: Option<&OsStr>) -> Command {
    let named = first.and_then(|word| command.find_subcommand(word)).map(Command::get_name);
    match named.map(str::to_owned) {
        Some(name) => {
            own_without_empty_variables(command).mut_subcommand(name, without_empty_variables)
        }
        None => in_groups(without_empty_variables(command)),
    }
}

fn in_groups(mut command: Command) -> Command {
    // The subcommand `help` is made by this.
    command.build();
    let groups = groups(&command);
    command.help_template(format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{groups}Options:\n{{options}}{{after-help}}"
    ))
}

fn groups(command: &Command) -> String {
    let mut text = String::new();
    for (group, names) in grouped() {
        let _ = writeln!(text, "{group}:");
        for name in names {
            let about = command.find_subcommand(&name).and_then(Command::get_about);
            let about = about.map(StyledStr::to_string).unwrap_or_default();
            let _ = writeln!(text, "  {name:<12} {about}");
        }
        text.push('\n');
    }
    text
}

/// An empty variable counts as one that is not set.
fn without_empty_variables(command: Command) -> Command {
    own_without_empty_variables(command).mut_subcommands(without_empty_variables)
}

/// The same for what does not belong to a subcommand.
fn own_without_empty_variables(command: Command) -> Command {
    let is_empty = |name: &OsStr| std::env::var_os(name).is_some_and(|it| it.is_empty());
    command.mut_args(|arg| match arg.get_env() {
        Some(name) if is_empty(name) => arg.env(None::<&'static str>),
        _ => arg,
    })
}

/// Reads the words that the process was started with. Help and versions are printed here, and end the process.
///
/// # Errors
///
/// [`Failure::Usage`].
pub(super) fn read(mut command: Command) -> Result<ArgMatches, Failure> {
    command.try_get_matches_from_mut(std::env::args_os()).map_err(|error| match error.kind() {
        ErrorKind::DisplayHelp
        | ErrorKind::DisplayVersion
        | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            // Whoever reads it may have gone away.
            let _ = error.print();
            exit(error.exit_code())
        }
        _ => {
            let (what, help) = (sentence(&error), help(&command));
            let end = if what.ends_with('?') { "" } else { ";" };
            Failure::Usage(format!("{what}{end} `{help}` says more"))
        }
    })
}

/// The words that print the help of the command that was meant.
fn help(command: &Command) -> String {
    let mut words = std::env::args_os().skip(1);
    let meant = words.find_map(|word| Some(command.find_subcommand(word)?.get_name().to_string()));
    meant.map_or_else(|| "queens --help".into(), |name| format!("queens {name} --help"))
}

/// An error of the command line as a sentence without an end.
pub(super) fn sentence(error: &clap::Error) -> String {
    let said = |kind| error.get(kind).map(words).unwrap_or_default();
    let what = match error.kind() {
        ErrorKind::ValueValidation => {
            let reason = std::error::Error::source(error).map(ToString::to_string);
            let reason =
                reason.map(|reason| plain(&reason)).unwrap_or_else(|| "it cannot be used".into());
            format!(
                "{} cannot be '{}': {reason}",
                said(ContextKind::InvalidArg),
                visible(&said(ContextKind::InvalidValue))
            )
        }
        ErrorKind::InvalidValue if said(ContextKind::InvalidValue).is_empty() => {
            format!("{} lacks its value", said(ContextKind::InvalidArg))
        }
        ErrorKind::InvalidValue => format!(
            "{} cannot be '{}': give one of {}",
            said(ContextKind::InvalidArg),
            visible(&said(ContextKind::InvalidValue)),
            said(ContextKind::ValidValue)
        ),
        ErrorKind::MissingRequiredArgument => {
            format!("{} is missing", said(ContextKind::InvalidArg))
        }
        ErrorKind::ArgumentConflict => format!(
            "{} cannot be used together with {}",
            said(ContextKind::InvalidArg),
            said(ContextKind::PriorArg)
        ),
        ErrorKind::UnknownArgument => {
            format!("there is no option {}", visible(&said(ContextKind::InvalidArg)))
        }
        ErrorKind::InvalidSubcommand => {
            format!("there is no command {}", visible(&said(ContextKind::InvalidSubcommand)))
        }
        ErrorKind::MissingSubcommand => "a command is missing".into(),
        // What is left is said by clap, in its first line.
        _ => {
            let text = error.to_string();
            let line = text.lines().next().unwrap_or_default();
            line.strip_prefix("error: ").unwrap_or(line).to_string()
        }
    };
    let similar = said(if error.kind() == ErrorKind::InvalidSubcommand {
        ContextKind::SuggestedSubcommand
    } else {
        ContextKind::SuggestedArg
    });
    if similar.is_empty() { what } else { format!("{what}; do you mean {similar}?") }
}

fn words(value: &ContextValue) -> String {
    match value {
        ContextValue::String(text) => text.clone(),
        ContextValue::Strings(texts) => texts.join(", "),
        other => other.to_string(),
    }
}

/// A reason of the standard library in plain words.
fn plain(reason: &str) -> String {
    match reason {
        "invalid digit found in string" => "it is no whole number".into(),
        "cannot parse integer from empty string" | "cannot parse float from empty string" => {
            "it is empty".into()
        }
        "number too large to fit in target type" => "it is too large".into(),
        "number too small to fit in target type" => "it is too small".into(),
        "number would be zero for non-zero type" => "it must be 1 or more".into(),
        "invalid float literal" => "it is no number".into(),
        other => other.into(),
    }
}
