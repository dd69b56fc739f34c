//! `queens completions`, and the text of `--version`.

use std::sync::LazyLock;

use clap::{Arg, Args, Command, ValueHint};
use clap_complete::Shell;
use executor::Program;

use crate::failure::Failure;
use crate::output;

/// The build of this program.
pub(super) const PROGRAM: Program = Program {
    commit: env!("QUEENS_COMMIT"),
    compiler: env!("QUEENS_COMPILER"),
    target: env!("QUEENS_TARGET"),
};

/// The version, the commit, the compiler and the target.
pub(super) static VERSION: LazyLock<String> = LazyLock::new(|| {
    let (version, Program { commit, compiler, target }) = (env!("CARGO_PKG_VERSION"), PROGRAM);
    format!("{version}\ncommit    {commit}\ncompiler  {compiler}\ntarget    {target}")
});

const EXAMPLES: &str = "\
Examples:
  queens completions bash > ~/.local/share/bash-completion/completions/queens
  queens completions zsh > ~/.zfunc/_queens
  queens completions fish > ~/.config/fish/completions/queens.fish";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct CompletionsArgs {
    /// The shell
    shell: Shell,
}

pub(super) fn completions(args: &CompletionsArgs, command: Command) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut with_files(command), "queens", &mut script);
    output::print(String::from_utf8_lossy(&script).trim_end())
}

/// The command with hints of which options take names of files. Without them, the script for bash
/// splits the names of files at spaces.
fn with_files(command: Command) -> Command {
    let for_files = |arg: Arg| match arg.get_value_hint() {
        ValueHint::AnyPath => arg.value_hint(ValueHint::FilePath),
        ValueHint::Unknown if arg.get_action().takes_values() => arg.value_hint(ValueHint::Other),
        _ => arg,
    };
    command.mut_args(for_files).mut_subcommands(with_files)
}
