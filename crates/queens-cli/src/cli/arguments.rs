//! The words of a command line before they mean anything: help in groups, which environment variables count beside them,
//! and errors in the style of all others.
//!
//! An environment variable stands for its option, unless it is empty, or the option is a switch and the variable says no, or
//! an option was typed that goes not together with it: what is typed has precedence over what is exported.

use std::ffi::{OsStr, OsString};
use std::fmt::Write as _;
use std::process::exit;

use clap::builder::{BoolishValueParser, StyledStr};
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, ArgAction, ArgMatches, Command, Id};

use crate::failure::Failure;
use crate::output;
use crate::stderr::visible;

/// The headings of options that have a page of `queens help` each, and stand in no other help.
pub(super) const CONNECTION: &str = "Connection";
pub(super) const LOGS: &str = "Logs";

/// The commands in the order of the help: of each group those that have a line, and those that are only named.
const GROUPS: [(&str, &[&str], &[&str]); 5] = [
    ("Count", &["count", "plan", "bench"], &["merge", "compare", "explain", "reproduce"]),
    ("Boards", &["solve", "list", "draw"], &["complete", "check"]),
    (
        "Run a farm",
        &["coordinator", "worker", "workers", "token"],
        &["autoscale", "owners", "trust"],
    ),
    ("Look after jobs", &["submit", "jobs", "watch"], &["pause", "resume", "cancel", "priority"]),
    ("Prove and keep", &["export", "verify", "audit"], &["backup", "scrub", "health"]),
];

/// What stands below the groups.
const TOOLS: &str = "\
`queens COMMAND -h` is one screen, --help has all. `queens help all` has a line
for each command, and what they share: connection, logs, exit codes. The rest:
help, completions, -V.";

/// The command as it is needed to read these words: without those environment variables that do not count beside them, and
/// with its subcommands in groups if the first word is none of them.
///
/// To make all of them ready takes a quarter of a millisecond, which is a hundredth of a short count.
pub(super) fn prepared(command: Command, words: &[OsString]) -> Command {
    let named = words.first().and_then(|word| command.find_subcommand(word)).map(Command::get_name);
    match named.map(str::to_owned) {
        Some(name) => own_with_variables_that_count(command, words)
            .mut_subcommand(name, |command| with_variables_that_count(command, words)),
        None => in_groups(with_variables_that_count(command, words)),
    }
}

fn in_groups(command: Command) -> Command {
    let mut text = String::new();
    for (group, names, others) in GROUPS {
        let _ = writeln!(text, "{group}:");
        text.extend(names.iter().map(|name| line(&command, name)));
        let _ = writeln!(text, "  {:<12} {}\n", "also", others.join(", "));
    }
    command.help_template(format!(
        "{{about-with-newline}}\nUsage: queens COMMAND ...\n\n{text}{TOOLS}"
    ))
}

/// All commands in their groups, with a line each.
pub(super) fn groups(command: &Command) -> String {
    let mut text = String::new();
    for (group, names, others) in GROUPS {
        let _ = writeln!(text, "{group}:");
        text.extend(names.iter().chain(others).map(|name| line(command, name)));
    }
    text
}

fn line(command: &Command, name: &str) -> String {
    let about = command.find_subcommand(name).and_then(Command::get_about);
    format!("  {name:<12} {}\n", about.map(StyledStr::to_string).unwrap_or_default())
}

/// Leaves out the variables that do not count beside these words.
fn with_variables_that_count(command: Command, words: &[OsString]) -> Command {
    own_with_variables_that_count(command, words)
        .mut_subcommands(|command| with_variables_that_count(command, words))
}

/// The same for what does not belong to a subcommand. Its options are as its help shows them, too.
fn own_with_variables_that_count(command: Command, words: &[OsString]) -> Command {
    let outvoted = outvoted(&command, words);
    let is_short = words.iter().any(|word| word == "-h");
    let help = help_flag(&command);
    let command = command.disable_help_flag(true).disable_help_subcommand(true).arg(help);
    command.mut_args(|arg| {
        let is_apart = matches!(arg.get_help_heading(), Some(CONNECTION | LOGS));
        let has_values = arg.get_action().takes_values();
        let arg = arg.hide(is_apart).hide_env(is_short);
        let arg = arg.hide_possible_values(is_short && has_values);
        let Some(value) = exported(&arg) else { return arg };
        let is_switch = is_switch(&arg);
        if value.is_empty() || outvoted.contains(arg.get_id()) || is_switch && says_no(&value) {
            arg.env(None::<&'static str>)
        } else if is_switch {
            arg.value_parser(BoolishValueParser::new())
        } else {
            arg
        }
    })
}

/// The option that prints the help, which says where the rest of it is.
fn help_flag(command: &Command) -> Arg {
    let is_client = command.get_arguments().any(|arg| arg.get_help_heading() == Some(CONNECTION));
    let page = if is_client { "connection" } else { "logs" };
    let flag = Arg::new("help").short('h').long("help").action(ArgAction::Help).help_heading(None);
    flag.help(format!("More: --help, `queens help {page}`"))
}

/// Options that go not together with one that was typed.
fn outvoted(command: &Command, words: &[OsString]) -> Vec<Id> {
    let (typed, others): (Vec<&Arg>, Vec<&Arg>) =
        command.get_arguments().partition(|arg| is_typed(arg, words));
    let excludes = |one: &Arg, other: &Arg| {
        command.get_arg_conflicts_with(one).iter().any(|arg| arg.get_id() == other.get_id())
    };
    let is_outvoted = |arg: &&Arg| {
        let mut typed = typed.iter();
        exported(arg).is_some() && typed.any(|it| excludes(it, arg) || excludes(arg, it))
    };
    others.into_iter().filter(is_outvoted).map(|arg| arg.get_id().clone()).collect()
}

/// What the environment says of an option.
fn exported(arg: &Arg) -> Option<OsString> {
    std::env::var_os(arg.get_env()?)
}

/// Whether an option is there or not, without a value.
fn is_switch(arg: &Arg) -> bool {
    matches!(arg.get_action(), ArgAction::SetTrue)
}

fn says_no(value: &OsStr) -> bool {
    let no = ["0", "no", "n", "false", "f", "off"];
    value.to_str().is_some_and(|value| no.contains(&value.trim().to_lowercase().as_str()))
}

/// Whether an option is among these words.
fn is_typed(arg: &Arg, words: &[OsString]) -> bool {
    let (long, short) = (arg.get_long_and_visible_aliases(), arg.get_short());
    let options = words.iter().take_while(|word| *word != "--").filter_map(|word| word.to_str());
    options.filter_map(|word| word.strip_prefix('-')).any(|word| match word.strip_prefix('-') {
        Some(word) => {
            let name = word.split('=').next().unwrap_or_default();
            long.iter().flatten().any(|long| *long == name)
        }
        None => short.is_some_and(|short| word.starts_with(short)),
    })
}

/// Reads the words that the process was started with. Help and versions are printed here, and end the process.
///
/// # Errors
///
/// [`Failure::Usage`]; or, if help cannot be printed, what [`output::written`] says.
pub(super) fn read(mut command: Command) -> Result<ArgMatches, Failure> {
    let words: Vec<OsString> = std::env::args_os().skip(1).collect();
    command = prepared(command, &words);
    command.try_get_matches_from_mut(std::env::args_os()).map_err(|error| match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            match output::written(error.print()) {
                Ok(()) => exit(error.exit_code()),
                Err(failure) => failure,
            }
        }
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            // It is on standard error.
            let _ = error.print();
            exit(error.exit_code())
        }
        _ => {
            let what = sentence(&error, |option| name_of(&command, option, &words));
            let help = help(&command);
            let end = if what.ends_with('?') { "" } else { ";" };
            Failure::Usage(format!("{what}{end} `{help}` says more"))
        }
    })
}

/// The words that print the help of the command that was meant.
fn help(command: &Command) -> String {
    let mut named = String::from("queens");
    let mut at = command;
    for word in std::env::args_os().skip(1) {
        if let Some(meant) = at.find_subcommand(word) {
            named = format!("{named} {}", meant.get_name());
            at = meant;
        }
    }
    named + " -h"
}

/// An option as an error names it: by its variable if it comes from there.
fn name_of(command: &Command, option: &str, words: &[OsString]) -> String {
    let first = words.first().and_then(|word| command.find_subcommand(word)).unwrap_or(command);
    let second = words.get(1).and_then(|word| first.find_subcommand(word)).unwrap_or(first);
    let args = [command, first, second].into_iter().flat_map(Command::get_arguments);
    let is_it = |arg: &&Arg| arg.to_string() == option && !is_typed(arg, words);
    let variable = args.filter(is_it).find_map(|arg| exported(arg).and(arg.get_env()));
    variable.map_or_else(|| option.into(), |name| name.to_string_lossy().into_owned())
}

/// An error of the command line as a sentence without an end, in which options are named so.
pub(super) fn sentence(error: &clap::Error, name: impl Fn(&str) -> String) -> String {
    let said = |kind| match error.get(kind) {
        Some(ContextValue::String(option)) => name(option),
        Some(ContextValue::Strings(options)) => {
            options.iter().map(|option| name(option)).collect::<Vec<_>>().join(", ")
        }
        Some(other) => other.to_string(),
        None => String::new(),
    };
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
        "value was not a boolean" => "give 1, yes or true, or 0, no or false".into(),
        "invalid float literal" => "it is no number".into(),
        other => other.into(),
    }
}
