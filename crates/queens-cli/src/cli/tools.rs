//! `queens completions`, and what `--version` says.

use std::sync::LazyLock;

use clap::{Args, Command};
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

pub(super) fn completions(args: &CompletionsArgs, mut command: Command) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut command, "queens", &mut script);
    if args.shell == Shell::Bash {
        let text = String::from_utf8(script).map_err(anyhow::Error::from)?;
        script = (BASH_FILES.to_owned() + &text.replace(BASH_WORDS, "_queens_files")).into();
    }
    output::write(&script)
}

/// The line with which the generated script for bash completes names of files. It splits names at spaces.
const BASH_WORDS: &str = r#"COMPREPLY=($(compgen -f "${cur}"))"#;
/// A function that does not split them.
const BASH_FILES: &str = r#"_queens_files() {
    local name
    while IFS= read -r name; do
        COMPREPLY+=("${name}")
    done < <(compgen -f -- "${cur}")
    compopt -o filenames 2>/dev/null
}

"#;
