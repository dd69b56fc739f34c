//! The command line: arguments in, one result on standard output, one exit code.

mod access;
mod arguments;
mod audits;
mod autoscale;
mod backup;
mod bench;
mod check;
mod client;
mod compare;
mod coordinator;
mod count;
mod draw;
mod explain;
mod export;
mod follow;
mod help;
mod jobs;
mod list;
mod log;
mod merge;
mod options;
mod placement_output;
mod plan;
mod problem;
mod queens_input;
mod quit_key;
#[cfg(test)]
mod reads;
mod reproduce;
mod rules;
mod shard;
mod show;
mod signal;
mod solve;
mod token;
mod tools;
mod top;
mod trust;
mod verified;
mod verify;
mod worker;

use std::process::ExitCode;

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};

use crate::failure::Failure;
use crate::{advice, os, output, stderr};

/// Counts placements of non-attacking queens, on a laptop or on a farm.
#[derive(Debug, Parser)]
#[command(name = "queens", bin_name = "queens", version, long_version = tools::VERSION.as_str(), disable_help_subcommand = true)]
struct Cli {
    #[command(flatten)]
    log: log::LogArgs,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Count here, in this process, with all processors
    Count(count::CountArgs),
    /// Print placements: all, one of each orbit, or with given queens
    List(list::ListArgs),
    /// Draw a board with queens
    Draw(draw::DrawArgs),
    /// Estimate what a count will take: tasks, threads, time
    Plan(plan::PlanArgs),
    /// Print one placement of any size, also with given queens
    Solve(solve::SolveArgs),
    /// Say whether given queens are a placement
    Check(check::CheckArgs),
    /// Compare all algorithms and methods on the same boards
    Compare(compare::CompareArgs),
    /// Explain the ways of counting on one small board
    Explain(explain::ExplainArgs),
    /// Reproduce the figures that the literature prints
    Reproduce(reproduce::ReproduceArgs),
    /// Serve jobs to workers
    Coordinator(coordinator::CoordinatorArgs),
    /// Count for a coordinator, until stopped
    Worker(worker::WorkerArgs),
    /// Keep as many workers in a batch system's queue as the farm needs
    Autoscale(autoscale::AutoscaleArgs),
    /// Give a coordinator a job
    Submit(jobs::SubmitArgs),
    /// List a coordinator's jobs, or show all that is known of some
    Jobs(jobs::JobsArgs),
    /// Follow jobs to their totals, or watch all of the farm
    Watch(jobs::WatchArgs),
    /// Write a job's evidence to a file that anybody can check
    Export(export::ExportArgs),
    /// Check an exported file, and count a sample of it again
    Verify(verify::VerifyArgs),
    /// Join ledgers of shards of one plan
    Merge(merge::MergeArgs),
    /// Copy a ledger, also of a running farm, or check one
    Backup(backup::BackupArgs),
    #[command(flatten)]
    Change(jobs::ChangeCommand),
    /// Make, list and revoke the credentials of a coordinator
    #[command(subcommand)]
    Token(token::TokenCommand),
    /// List a coordinator's workers, and those that it distrusts
    Workers(trust::WorkersArgs),
    /// Distrust a machine or an owner, or trust it again
    Trust(trust::TrustArgs),
    /// Show how fast this machine counts, loop by loop
    Bench(bench::BenchArgs),
    /// Print a script that completes arguments in a shell
    Completions(tools::CompletionsArgs),
    /// Print the help of a command, or of what several share
    Help(help::HelpArgs),
}

/// Runs the command that the process was started with.
pub(crate) fn main() -> ExitCode {
    match started() {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.exit(),
    }
}

fn started() -> Result<(), Failure> {
    os::end_by_refused_memory(Failure::Stopped(String::new()).code());
    let mut command = Cli::command();
    let matches = arguments::read(&mut command)?;
    let usage = |error: clap::Error| Failure::Usage(arguments::sentence(&error, |_| None));
    let cli = Cli::from_arg_matches(&matches).map_err(usage)?;
    advice::complete_by(arguments::connection(&command, &matches));
    let serves =
        matches!(cli.command, Command::Coordinator(_) | Command::Worker(_) | Command::Autoscale(_));
    cli.log.start(serves);
    exit_on_panic();
    os::end_by_signals_as_process_1();
    os::fail_beyond_file_size_limit();
    let result = cli.command.run(cli.log.is_json());
    result.map_err(|failure| failure.after(&arguments::exported_options(&command, &matches)))
}

impl Command {
    /// Whether the command may take long and has no other result than what it prints.
    fn is_for_reader(&self) -> bool {
        use Command::{Backup, Bench, Compare, Count, List, Plan, Reproduce, Solve, Verify};
        match self {
            Count(args) => args.ledger.is_none(),
            Backup(args) => args.check.is_some(),
            List(_) | Plan(_) | Solve(_) | Compare(_) | Reproduce(_) | Verify(_) | Bench(_) => true,
            _ => false,
        }
    }

    fn run(self, log_is_json: bool) -> Result<(), Failure> {
        if self.is_for_reader() {
            output::end_with_reader();
        }
        match self {
            Command::Count(args) => on_one_thread(count::run(args, log_is_json)),
            Command::List(args) => list::run(&args),
            Command::Draw(args) => draw::run(&args),
            Command::Plan(args) => plan::run(&args),
            Command::Solve(args) => solve::run(&args),
            Command::Check(args) => check::run(&args),
            Command::Compare(args) => compare::run(&args),
            Command::Explain(args) => explain::run(&args),
            Command::Reproduce(args) => reproduce::run(&args),
            Command::Coordinator(args) => {
                run(tokio::runtime::Builder::new_multi_thread(), coordinator::run(args))
            }
            Command::Worker(args) => on_one_thread(worker::run(args)),
            Command::Autoscale(args) => on_one_thread(autoscale::autoscale(args)),
            Command::Submit(args) => on_one_thread(jobs::submit(args)),
            Command::Jobs(args) => on_one_thread(jobs::jobs(args)),
            Command::Watch(args) => on_one_thread(jobs::watch(args)),
            Command::Export(args) => on_one_thread(export::export(args)),
            Command::Verify(args) => verify::verify(&args),
            Command::Merge(args) => merge::run(&args),
            Command::Backup(args) => on_one_thread(backup::backup(args)),
            Command::Change(command) => on_one_thread(command.run()),
            Command::Token(command) => on_one_thread(token::run(command)),
            Command::Workers(args) => on_one_thread(trust::workers(args)),
            Command::Trust(args) => on_one_thread(trust::change(args)),
            Command::Bench(args) => bench::run(&args),
            Command::Completions(args) => tools::completions(&args, Cli::command()),
            Command::Help(args) => help::run(&args, Cli::command()),
        }
    }
}

/// Runs a command on this thread. It is for commands whose work is done by counting threads, or
/// that have little work.
fn on_one_thread(command: impl Future<Output = Result<(), Failure>>) -> Result<(), Failure> {
    run(tokio::runtime::Builder::new_current_thread(), command)
}

fn run(
    mut runtime: tokio::runtime::Builder,
    command: impl Future<Output = Result<(), Failure>>,
) -> Result<(), Failure> {
    let runtime = runtime.enable_all().build();
    let runtime = runtime.map_err(|error| Failure::Internal(format!("cannot begin: {error}")))?;
    let result = runtime.block_on(command);
    // Tasks that still run need not be waited for: everything important is durable.
    runtime.shutdown_background();
    result
}

/// Makes a panic on any thread end the whole process. After a broken invariant a count could become
/// wrong, and nothing is lost, because everything accepted is in the ledger.
///
/// A limit of the system is no fault of this program, and gets a failure of its own.
fn exit_on_panic() {
    let report = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        if let Some(failure) = info.payload_as_str().and_then(Failure::of_panic) {
            failure.exit();
        }
        report(info);
        stderr::print(format_args!(
            "queens: internal fault; nothing that was accepted is lost, please report this\n"
        ));
        std::process::exit(70);
    }));
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;

    use super::arguments::Typed;
    use super::*;

    #[test]
    fn the_short_help_of_nearly_all_commands_fits_a_screen() {
        let path = |command: &clap::Command, of: &str| format!("{of} {}", command.get_name());
        let mut paths: Vec<String> = Vec::new();
        for command in Cli::command().get_subcommands() {
            let name = path(command, "queens");
            paths.extend(command.get_subcommands().map(|part| path(part, &name)));
            paths.push(name);
        }
        let mut long = Vec::new();
        for command in &paths {
            let typed = format!("{command} -h");
            let words: Vec<OsString> = typed.split(' ').skip(1).map(OsString::from).collect();
            let read = Typed::read(&Cli::command(), &words);
            let prepared = arguments::prepared(Cli::command(), &read).term_width(80);
            let help = prepared.try_get_matches_from(typed.split(' ')).expect_err("it is help");
            let text = help.to_string();
            assert!(text.lines().all(|line| line.chars().count() <= 80), "{command}: {text}");
            let others = ["--join-file <FILE>  ", "--log <FILTER>", "QUEENS_", "possible values"];
            let is_access = command == "queens coordinator";
            let repeated = others.iter().find(|it| text.contains(**it) && !is_access);
            assert_eq!(repeated, None, "{command}: {text}");
            if text.lines().count() > 24 {
                long.push(command);
            }
        }
        assert!(paths.len() > 30 && long.len() <= 6, "{long:?}");
    }

    #[test]
    fn the_first_help_is_a_screen_and_shows_what_newcomers_need() {
        let prepared = arguments::prepared(Cli::command(), &Typed::default()).term_width(80);
        let help = prepared.try_get_matches_from(["queens", "-h"]).expect_err("it is help");
        let text = help.to_string();
        assert!(text.trim_end().lines().count() <= 24, "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        for name in ["count", "plan", "compare", "explain", "solve", "worker", "submit", "verify"] {
            assert!(text.contains(&format!("\n  {name} ")), "{name}: {text}");
        }
    }

    #[test]
    fn every_command_has_its_line_in_the_list_of_all() {
        let command = Cli::command();
        let groups = arguments::groups(&command);
        let lines = |name: &str| groups.lines().filter(|line| line.starts_with(name)).count();
        for name in command.get_subcommands().map(clap::Command::get_name) {
            let is_named = matches!(name, "help" | "completions");
            assert_eq!(lines(&format!("  {name} ")), usize::from(!is_named), "{name}: {groups}");
        }
    }

    /// `cargo xtask package` names the folder for the pages.
    #[test]
    fn every_command_has_a_manual_page() {
        let scratch = tempfile::tempdir().expect("a folder can be made");
        let named = std::env::var_os("QUEENS_MANUAL").map(std::path::PathBuf::from);
        let folder = named.as_deref().unwrap_or(scratch.path());
        clap_mangen::generate_to(Cli::command(), folder).expect("the folder is empty");
        for (page, words) in [("queens", "queens\\-count(1)"), ("queens-count", "QUEENS_SHARD")] {
            let text = std::fs::read_to_string(folder.join(format!("{page}.1")));
            assert!(text.expect("it is there").contains(words), "{page} lacks {words}");
        }
    }

    /// The commands in the fenced blocks of a page, without comments, redirections and what else a
    /// shell takes.
    fn commands_of(page: &str) -> Vec<Vec<String>> {
        let blocks = page.split("```sh\n").skip(1).filter_map(|block| block.split("```").next());
        let lines = blocks.flat_map(str::lines).filter(|line| line.starts_with("queens "));
        let words = |line: &str| {
            let command = line.split(['#', '|', '>', '&']).next().unwrap_or_default();
            let words = command.split_whitespace().filter(|word| *word != "\\");
            words.map(|word| word.trim_matches(['"', '\'']).to_owned()).collect()
        };
        lines.map(words).collect()
    }

    pub(super) fn without_variables(command: clap::Command) -> clap::Command {
        let command = command.mut_args(|arg| arg.env(None::<&'static str>));
        command.mut_subcommands(without_variables)
    }

    #[test]
    fn every_command_in_the_documentation_is_understood() {
        let docs = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs");
        let files = std::fs::read_dir(docs)
            .expect("there are pages")
            .map(|file| file.expect("a page").path());
        let pages = files.filter(|path| path.extension().is_some_and(|end| end == "md"));
        let mut understood = 0;
        for page in pages {
            let text = std::fs::read_to_string(&page).expect("it is text");
            for command in commands_of(&text) {
                // A text in quotes is one word for a shell: its further words are left out here.
                let quoted = command.iter().position(|word| word == "--reason" || word == "--log");
                let end = quoted.map_or(command.len(), |at| (at + 2).min(command.len()));
                let cli = without_variables(Cli::command());
                let command_line = arguments::prepared(cli, &Typed::default());
                if let Err(error) = command_line.try_get_matches_from(&command[..end]) {
                    panic!("{}: {command:?}: {error}", page.display());
                }
                understood += 1;
            }
        }
        assert!(understood > 60, "only {understood} commands were found");
    }

    #[test]
    fn the_arguments_make_sense() {
        arguments::prepared(Cli::command(), &Typed::default()).debug_assert();
    }
}
