//! `queens help`: of one command, or of what several commands share.

use std::fmt::Write as _;

use clap::{Args, Command};

use super::arguments::{self, Typed};
use super::client::CoordinatorArgs;
use super::log::LogArgs;
use crate::failure::{Failure, usage};
use crate::output;

const EXIT_CODES: &str = include_str!("../../../../docs/EXIT-CODES.md");

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
    let logs = || options::<LogArgs>("logs", "What is logged on standard error, by all commands.");
    let named: Vec<&str> = args.words.iter().map(String::as_str).collect();
    let page = match named.as_slice() {
        ["all"] => {
            let mut text = arguments::groups(&cli);
            for page in [connection(), logs(), EXIT_CODES.into()] {
                let _ = write!(text, "\n{page}");
            }
            text
        }
        ["connection"] => connection(),
        ["logs"] => logs(),
        ["exit-codes"] => EXIT_CODES.into(),
        named => return of_command(named, cli),
    };
    output::print(page.trim_end())
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
    output::written(match named {
        [] => command.print_help(),
        _ => command.print_long_help(),
    })
}

fn options<A: Args>(name: &'static str, about: &'static str) -> String {
    let command = A::augment_args(Command::new(name)).disable_help_flag(true).about(about);
    command.help_template("{about}\n\n{all-args}").render_long_help().to_string()
}
