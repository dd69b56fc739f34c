//! `queens check`: whether given queens are a placement.

use clap::Args;
use serde_json::json;
use solve::attack;

use super::queens_input::{self, QueensArgs};
use super::rules::RulesArgs;
use super::show::plural;
use crate::failure::Failure;
use crate::output;

const EXAMPLES: &str = "\
Examples:
  queens check 2 4 6 8 3 1 7 5
  queens check --problem toroidal 1 3 5 2 4
  queens list 13 --limit 5 --format fen | queens check --board -

Exit codes: 0 no queen attacks another and there are as many as rows; 1 one of these is not so, and the reason is printed.";

#[derive(Debug, Args)]
#[command(after_long_help = EXAMPLES)]
pub(super) struct CheckArgs {
    #[command(flatten)]
    queens: QueensArgs,
    #[command(flatten)]
    rules: RulesArgs,
    /// Print one JSON object [default: a sentence]
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &CheckArgs) -> Result<(), Failure> {
    let (text, source) = args.queens.text()?;
    let boards = queens_input::boards(&text);
    let mut refusals = Vec::new();
    for (board, number) in boards.iter().zip(1..) {
        let (source, which) = if boards.len() == 1 {
            (source.clone(), "this is no placement".into())
        } else {
            (format!("{source}, board {number}"), format!("board {number} is no placement"))
        };
        refusals.extend(judge(args, board, &source)?.map(|reason| format!("{which}: {reason}")));
    }
    if refusals.is_empty() { Ok(()) } else { Err(Failure::NoPlacement(refusals.join("; "))) }
}

/// Prints that the queens are a placement, or returns the reason why they are none.
fn judge(args: &CheckArgs, board: &str, source: &str) -> Result<Option<String>, Failure> {
    let (said, queens) = queens_input::read(board, source, false)?;
    // Squares do not say how large their board is. A placement has as many rows as queens, so that
    // number is taken.
    let n = said.unwrap_or(queens.len() as u32);
    let is_off = |square: &&board::squares::Square| square.column >= n || square.row >= n;
    let reason = if let Some(square) = queens.iter().find(is_off) {
        Some(format!("{square} is off the board of size {n}, which {n} queens need"))
    } else if let Some([one, other]) = attack(n, &queens, args.rules.rules) {
        Some(if one == other {
            format!("the square {one} is given twice")
        } else {
            format!("{one} and {other} attack each other")
        })
    } else if queens.len() < n as usize {
        Some(format!("{} of the {n} queens are missing", n as usize - queens.len()))
    } else {
        None
    };
    if reason.is_none() && args.json {
        output::print(json!({"problem": args.rules.name(), "n": n, "placement": true}))?;
    } else if reason.is_none() {
        let plural = plural(n.into(), "s");
        output::print(format!("a placement of {n} queen{plural} ({})", args.rules.name()))?;
    }
    Ok(reason)
}
