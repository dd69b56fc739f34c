//! Reads the arguments of the command line: help in groups, precedence over environment variables,
//! and errors in one line.
//!
//! An environment variable sets its option. It is ignored if it is empty, if the option is a switch
//! and the variable says no, or if an option was typed that conflicts with it: a typed option has
//! precedence over an exported variable. clap knows no such precedence, so it reads the arguments
//! twice: without variables, to see what was typed, and then with those variables that apply.

use std::collections::HashSet;
use std::ffi::OsString;
use std::fmt::Write as _;
use std::process::exit;

use clap::builder::{BoolishValueParser, StyledStr, TypedValueParser as _};
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, Command, Id};
use console::Term;

use super::help;
use crate::advice::{self, Connection, quoted};
use crate::failure::Failure;
use crate::terminal::Style;
use crate::{output, stderr};

/// The headings of two groups of options. Each group has a page of `queens help`, and no other help
/// shows its options.
pub(super) const CONNECTION: &str = "Connection";
pub(super) const LOGS: &str = "Logs";

/// The heading of options that matter to farms with thousands of workers or jobs. Only the long
/// help shows them.
pub(super) const LARGE_FARMS: &str = "For farms of thousands";

/// The groups of commands in the order of the help. The first commands of a group have a line each,
/// and the others are only named.
const GROUPS: [(&str, &[&str], &[&str]); 5] = [
    ("Count", &["count", "plan", "compare", "explain"], &["bench", "merge", "reproduce"]),
    ("Boards", &["solve", "list", "draw"], &["check"]),
    ("Run a farm", &["coordinator", "worker", "workers"], &["token", "trust", "autoscale"]),
    ("Look after jobs", &["submit", "jobs", "watch"], &["pause", "resume", "cancel", "priority"]),
    ("Prove and keep", &["export", "verify"], &["audit", "backup"]),
];

/// The text below the groups.
const TOOLS: &str = "\
`queens COMMAND -h` is one screen, --help has all. `queens help all` has every
command, and what they share. The rest: help, completions, -V.";

/// What was typed, as far as it can be understood.
#[derive(Default)]
pub(super) struct Typed {
    /// The names of the command and of its subcommands, each below the one before.
    commands: Vec<String>,
    /// The options and operands of these commands that were typed.
    args: HashSet<Id>,
}

impl Typed {
    /// What these words mean for the command if environment variables are ignored.
    pub(super) fn read(command: &Command, words: &[OsString]) -> Typed {
        let mut typed = Typed { commands: vec![command.get_name().into()], args: HashSet::new() };
        let command = without_variables(command.clone()).no_binary_name(true).ignore_errors(true);
        let mut matches = &command.try_get_matches_from(words).unwrap_or_default();
        loop {
            let source = |id: &&Id| matches.value_source(id.as_str());
            let is_typed = |id: &&Id| source(id) == Some(ValueSource::CommandLine);
            typed.args.extend(matches.ids().filter(is_typed).cloned());
            let Some((name, below)) = matches.subcommand() else { return typed };
            typed.commands.push(name.into());
            matches = below;
        }
    }

    fn has(&self, arg: &Arg) -> bool {
        self.args.contains(arg.get_id())
    }
}

/// The switch for the short help while the arguments are read for the first time: then help is a
/// switch like any other.
const SHORT_HELP: &str = "short-help";

/// The command and its subcommands without environment variables and without an answer to -h.
fn without_variables(command: Command) -> Command {
    let short = Arg::new(SHORT_HELP).short('h').action(ArgAction::SetTrue);
    let command = command.disable_help_flag(true).arg(short);
    command.mut_args(|arg| arg.env(None::<&'static str>)).mut_subcommands(without_variables)
}

/// The command that reads the arguments for the second time, without the environment variables that
/// do not apply beside what was typed. Its help shows the subcommands in groups.
pub(super) fn prepared(command: Command, typed: &Typed) -> Command {
    let command = with_variables_that_apply(command, typed);
    let mut text = String::new();
    for (group, names, others) in GROUPS {
        let heading = Style::Bold.paint(&format!("{group}:"));
        let _ = writeln!(text, "{heading} also {}", others.join(", "));
        text.extend(names.iter().map(|name| line(&command, name)));
    }
    let command = command.term_width(help::columns());
    command.help_template(format!("{{about-with-newline}}\n{text}{TOOLS}"))
}

/// All commands in their groups, with a line each.
pub(super) fn groups(command: &Command) -> String {
    let mut text = String::new();
    for (group, names, others) in GROUPS {
        let _ = writeln!(text, "{}", output::painted(Style::Bold, &format!("{group}:")));
        text.extend(names.iter().chain(others).map(|name| line(command, name)));
    }
    text
}

fn line(command: &Command, name: &str) -> String {
    let about = command.find_subcommand(name).and_then(Command::get_about);
    format!("  {name:<12} {}\n", about.map(StyledStr::to_string).unwrap_or_default())
}

/// Removes the variables that do not apply beside what was typed from the options of the command
/// and its subcommands, and hides options that their help does not show.
fn with_variables_that_apply(command: Command, typed: &Typed) -> Command {
    let outvoted = outvoted(&command, typed);
    let (help, is_short) = (help_flag(&command), typed.args.contains(SHORT_HELP));
    let command = command.disable_help_flag(true).disable_help_subcommand(true).arg(help);
    let command = command.mut_args(|arg| {
        let is_apart = matches!(arg.get_help_heading(), Some(CONNECTION | LOGS));
        let has_values = arg.get_action().takes_values();
        let arg = arg.hide(is_apart).hide_env(is_short);
        let arg = arg.hide_possible_values(is_short && has_values);
        let Some(value) = exported(&arg) else { return arg };
        let is_switch = matches!(arg.get_action(), ArgAction::SetTrue);
        if value.is_empty() || outvoted.contains(arg.get_id()) || is_switch && says_no(value) {
            arg.env(None::<&'static str>)
        } else if is_switch {
            arg.value_parser(BoolishValueParser::new())
        } else {
            arg
        }
    });
    command.mut_subcommands(|command| with_variables_that_apply(command, typed))
}

/// The option that prints the help. Its text says where the rest of the help is.
fn help_flag(command: &Command) -> Arg {
    let is_client = command.get_arguments().any(|arg| arg.get_help_heading() == Some(CONNECTION));
    let page = if is_client { "connection" } else { "logs" };
    let flag = Arg::new("help").short('h').long("help").action(ArgAction::Help).help_heading(None);
    flag.help(format!("More: --help, `queens help {page}`"))
}

/// Options that conflict with a typed option and are set by a variable.
fn outvoted(command: &Command, typed: &Typed) -> Vec<Id> {
    let (typed, others): (Vec<&Arg>, Vec<&Arg>) =
        command.get_arguments().partition(|arg| typed.has(arg));
    let excludes = |one: &Arg, other: &Arg| {
        command.get_arg_conflicts_with(one).iter().any(|arg| arg.get_id() == other.get_id())
    };
    let is_outvoted = |arg: &&Arg| {
        let mut typed = typed.iter();
        exported(arg).is_some() && typed.any(|it| excludes(it, arg) || excludes(arg, it))
    };
    others.into_iter().filter(is_outvoted).map(|arg| arg.get_id().clone()).collect()
}

/// The value of an option's environment variable.
fn exported(arg: &Arg) -> Option<OsString> {
    std::env::var_os(arg.get_env()?)
}

fn says_no(value: OsString) -> bool {
    BoolishValueParser::new().parse(&Command::default(), None, value).is_ok_and(|says| !says)
}

/// Reads the arguments of the process. A request for help or the version is answered here and ends
/// the process.
pub(super) fn read(command: &mut Command) -> Result<ArgMatches, Failure> {
    let words: Vec<OsString> = std::env::args_os().skip(1).collect();
    let typed = Typed::read(command, &words);
    *command = prepared(std::mem::take(command), &typed);
    command.try_get_matches_from_mut(std::env::args_os()).map_err(|error| match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            match help::print(help::shown(&error.render(), &Term::stdout()).trim_end()) {
                Ok(()) => exit(error.exit_code()),
                Err(failure) => failure,
            }
        }
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            // It goes to standard error, and an error of writing is ignored.
            stderr::print(format_args!(
                "{}\n",
                help::shown(&error.render(), &Term::stderr()).trim_end()
            ));
            exit(error.exit_code())
        }
        _ => {
            let variable = |option: &str| variable(command, &typed, option);
            let size = size_alone(&error, &typed);
            let what = sentence(&named_as_here(error), variable);
            let what = size.unwrap_or(what);
            Failure::Usage(format!("{what}; `{} -h` says more", typed.commands.join(" ")))
        }
    })
}

/// Names of commands in other programs, each with the name of the command here.
const COMMANDS_ELSEWHERE: [(&str, &str); 3] =
    [("status", "jobs"), ("serve", "coordinator"), ("stop", "cancel")];

/// What to say of a size of a board where a command is expected, as in `queens 8`, and of one that
/// is negative, as in `queens count -5`.
fn size_alone(error: &clap::Error, typed: &Typed) -> Option<String> {
    let text = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text.as_str()),
        _ => None,
    };
    let is_size = |text: &&str| !text.is_empty() && text.chars().all(|c| c.is_ascii_digit());
    if let Some(n) = text(ContextKind::InvalidSubcommand).filter(is_size) {
        return Some(format!(
            "{n} is no command; `queens count {n}` counts the placements on a board of size {n}, `queens solve {n}` prints one"
        ));
    }
    // clap names the first digit alone, like an option of one letter.
    let refused = text(ContextKind::InvalidArg)?;
    let mut words = advice::typed().filter(|word| word.starts_with(refused));
    let negative = words.find(|word| word.strip_prefix('-').is_some_and(|size| is_size(&size)))?;
    let command = typed.commands.last().filter(|_| typed.commands.len() > 1)?;
    let size = negative.trim_start_matches('-');
    Some(format!(
        "{negative} is no size of a board: give 0 or more, as in `queens {command} {size}`"
    ))
}

/// Adds the name of the command here to the error about a command that only other programs have.
fn named_as_here(mut error: clap::Error) -> clap::Error {
    let Some(ContextValue::String(typed)) = error.get(ContextKind::InvalidSubcommand) else {
        return error;
    };
    if let Some((_, here)) = COMMANDS_ELSEWHERE.iter().find(|(elsewhere, _)| elsewhere == typed) {
        let here = ContextValue::Strings(vec![(*here).to_owned()]);
        error.insert(ContextKind::SuggestedSubcommand, here);
    }
    error
}

/// The environment variable that sets `option` of the typed command. `None` if the option was
/// typed, or if no variable sets it. `option` is spelled as in errors of clap.
fn variable(command: &Command, typed: &Typed, option: &str) -> Option<String> {
    let mut subcommands = typed.commands[1..].iter();
    let command = subcommands.try_fold(command, |command, name| command.find_subcommand(name))?;
    let mut args = command.get_arguments();
    let arg = args.find(|arg| arg.to_string() == option && !typed.has(arg))?;
    exported(arg).and(arg.get_env()).map(|name| name.to_string_lossy().into_owned())
}

/// The options of the command that was read, and of its subcommands, that environment variables
/// have set, with the names of the variables. Options of how to reach a coordinator are listed
/// without a name, because any error may be about them.
pub(super) fn exported_options(
    command: &Command,
    matches: &ArgMatches,
) -> Vec<(Option<String>, String)> {
    let is_exported = |arg: &&Arg| {
        let source = matches.value_source(arg.get_id().as_str());
        !arg.is_global_set() && source == Some(ValueSource::EnvVariable)
    };
    let named = |arg: &Arg| {
        let option = (arg.get_help_heading() != Some(CONNECTION)).then(|| arg.get_long());
        let option = option.map(|long| format!("--{}", long.unwrap_or_default()));
        Some((option, arg.get_env()?.to_string_lossy().into_owned()))
    };
    let mut options: Vec<_> =
        command.get_arguments().filter(is_exported).filter_map(named).collect();
    if let Some((name, matches)) = matches.subcommand() {
        let below = command.find_subcommand(name).map(|it| exported_options(it, matches));
        options.extend(below.into_iter().flatten());
    }
    options
}

/// The options of how to reach a coordinator that were typed, and the commands that take such
/// options.
pub(super) fn connection(command: &Command, matches: &ArgMatches) -> Connection {
    let takes_them = |command: &&Command| {
        let mut all = std::iter::once(*command).chain(command.get_subcommands());
        all.any(|command| command.get_arguments().any(is_of_connection))
    };
    let commands = command.get_subcommands().filter(takes_them).map(Command::get_name);
    let commands = commands.map(String::from).collect();
    Connection { options: farm::visible(&typed_connection(command, matches)), commands }
}

fn is_of_connection(arg: &Arg) -> bool {
    arg.get_help_heading() == Some(CONNECTION)
}

/// The typed options of how to reach a coordinator as a shell reads them, without their secret.
fn typed_connection(command: &Command, matches: &ArgMatches) -> String {
    let spelled = |arg: &Arg| {
        let id = arg.get_id().as_str();
        if matches.value_source(id) != Some(ValueSource::CommandLine) {
            return None;
        }
        let value = matches.get_raw(id)?.next()?.to_string_lossy();
        let name = arg.get_value_names()?.first()?.to_string();
        let value = if arg.is_hide_env_values_set() { name } else { quoted(&value) };
        Some(format!(" --{} {value}", arg.get_long()?))
    };
    let own = command.get_arguments().filter(|arg| is_of_connection(arg)).filter_map(spelled);
    let below = matches.subcommand().and_then(|(name, matches)| {
        Some(typed_connection(command.find_subcommand(name)?, matches))
    });
    own.chain(below).collect()
}

/// What Rust says of a number that cannot be read, and what users are told instead.
const NUMBERS: [(&str, &str); 5] = [
    ("invalid digit found in string", "it is no whole number"),
    ("cannot parse integer from empty string", "it is no whole number"),
    ("number would be zero for non-zero type", "give 1 or more"),
    ("number too large to fit in target type", "it is too large"),
    ("invalid float literal", "it is no number"),
];

/// The error as one line without an end. An option that a variable sets is named by the variable.
pub(super) fn sentence(error: &clap::Error, variable: impl Fn(&str) -> Option<String>) -> String {
    let text = error.to_string();
    let end = ["\n\nUsage: ", "\n\nFor more"].iter().filter_map(|end| text.find(end)).min();
    let text = text[..end.unwrap_or(text.len())].replace("\n\n  tip:", "; tip:");
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    // The tip to write `--` before a negative number is left out: options that may be negative are
    // read without `--`.
    let text = text.split("; tip: to pass '").next().unwrap_or_default();
    let mut text = text.strip_prefix("error: ").unwrap_or(text).to_owned();
    for (of_rust, of_people) in NUMBERS {
        text = text.replace(of_rust, of_people);
    }
    for kind in [ContextKind::InvalidArg, ContextKind::PriorArg] {
        let options = match error.get(kind) {
            Some(ContextValue::String(option)) => std::slice::from_ref(option),
            Some(ContextValue::Strings(options)) => options,
            _ => &[],
        };
        for option in options {
            if let Some(name) = variable(option) {
                text = text.replace(option, &name);
            }
        }
    }
    text
}
