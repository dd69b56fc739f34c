//! `queens help`: of one command, or of what several commands share.

use std::fmt::Write as _;

use clap::builder::StyledStr;
use clap::{Args, Command};
use console::Term;

use super::arguments::{self, Typed};
use super::client::CoordinatorArgs;
use super::log::LogArgs;
use crate::failure::{Failure, usage};
use crate::output;
use crate::terminal::{self, is_coloured, width, wrapped};

const EXIT_CODES: &str = include_str!("exit-codes.md");

#[derive(Debug, Args)]
pub(super) struct HelpArgs {
    /// A command, as in token create, or a page: all, connection, logs or exit-codes
    #[arg(value_name = "WORD")]
    words: Vec<String>,
}

pub(super) fn run(args: &HelpArgs, cli: Command) -> Result<(), Failure> {
    let connection = || {
        let about = "Where the coordinator is, and how each side proves itself to the other. Without any of these, it is \
                     on this machine. They are options of all commands that ask a coordinator.";
        options::<CoordinatorArgs>("connection", about)
    };
    let exit_codes = || terminal::page(EXIT_CODES, is_coloured(&Term::stdout()));
    let logs = || options::<LogArgs>("logs", "What is logged on standard error, by all commands.");
    let named: Vec<&str> = args.words.iter().map(String::as_str).collect();
    let page = match named.as_slice() {
        ["all"] => {
            let mut text = arguments::groups(&cli);
            for page in [connection(), logs(), exit_codes()] {
                let _ = write!(text, "\n{page}");
            }
            text
        }
        ["connection"] => connection(),
        ["logs"] => logs(),
        ["exit-codes"] => exit_codes(),
        named => return of_command(named, cli),
    };
    print(page.trim_end())
}

fn of_command(named: &[&str], cli: Command) -> Result<(), Failure> {
    let mut command = arguments::prepared(cli, &Typed::default());
    command.build();
    let mut command = &mut command;
    for name in named {
        let Some(named) = command.find_subcommand_mut(name) else {
            return usage(format!(
                "there is no help on {name}; `queens help all` lists the commands, and the pages are connection, \
                 logs and exit-codes"
            ));
        };
        command = named;
    }
    let help = match named {
        [] => command.render_help(),
        _ => command.render_long_help(),
    };
    print(shown(&help, &Term::stdout()).trim_end())
}

/// A help as it is printed: with its styles where the stream takes them.
pub(super) fn shown(help: &StyledStr, stream: &Term) -> String {
    if is_coloured(stream) { help.ansi().to_string() } else { help.to_string() }
}

/// Prints a page of help.
pub(super) fn print(page: &str) -> Result<(), Failure> {
    let lines = page.lines().map(|line| wrapped(line, columns()));
    output::print(lines.collect::<Vec<_>>().join("\n"))
}

/// The width of help. It is usually read in a terminal, also behind a pipe.
pub(super) fn columns() -> usize {
    const USUAL: usize = 80;
    width(&Term::stdout()).unwrap_or(USUAL)
}

fn options<A: Args>(name: &'static str, about: &'static str) -> String {
    let command = A::augment_args(Command::new(name)).disable_help_flag(true).about(about);
    let mut command = command.help_template("{about}\n\n{all-args}").term_width(columns());
    command.render_long_help().to_string()
}
