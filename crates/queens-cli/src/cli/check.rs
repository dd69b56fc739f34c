//! `queens check`: whether given queens are a placement.

use std::collections::HashSet;

use board::squares::Square;
use clap::Args;
use serde_json::json;
use solve::{QueensRead, attack};

use super::queens_input::{self, QueensArgs};
use super::rules::RulesArgs;
use super::show::plural;
use crate::failure::{Failure, usage};
use crate::output;

const EXAMPLES: &str = "\
Examples:
  queens check 2 4 6 8 3 1 7 5
  queens check --problem toroidal 1 3 5 2 4
  queens list 13 --limit 5 --format fen | queens check
  queens check FILE                  in any notation of docs/PLACEMENTS.md, or what a solver prints

Exit codes: 0 no queen attacks another and there are as many as rows; 1 one of these is not so, and the reason is printed; \
2 the text is not understood whole, and nothing is said of its queens.";

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
    // Nothing is said of any board before all of them are read.
    let (mut verdicts, mut refusals) = (Vec::new(), Vec::new());
    for (board, number) in boards.iter().zip(1..) {
        let (source, which) = if boards.len() == 1 {
            (source.clone(), "this is no placement".into())
        } else {
            (format!("{source}, board {number}"), format!("board {number} is no placement"))
        };
        match judge(args, board, &source)? {
            Ok(verdict) => verdicts.push(verdict),
            Err(reason) => refusals.push(format!("{which}: {reason}")),
        }
    }
    verdicts.into_iter().try_for_each(output::print)?;
    if refusals.is_empty() { Ok(()) } else { Err(Failure::NoPlacement(refusals.join("; "))) }
}

/// The sentence that the queens are a placement, or the reason why they are none.
fn judge(args: &CheckArgs, board: &str, source: &str) -> Result<Result<String, String>, Failure> {
    let QueensRead { n: said, squares: queens, counted_from } =
        queens_input::read(board, source, false, Some(args.rules.name()))?;
    // Squares do not say how large their board is. A placement has as many rows as queens, so that
    // number is taken.
    let n = said.unwrap_or(queens.len() as u32);
    let is_off = |square: &&Square| square.column >= n || square.row >= n;
    let off = queens.iter().find(is_off);
    // Words such as `queen1` name a file of several letters, and are hardly meant as squares.
    if let Some(square) = off.filter(|square| said.is_none() && square.column >= 26 && n <= 26) {
        return usage(format!(
            "{source}: the file of {square} has several letters, and {n} queens need no such file"
        ));
    }
    let reason = if let Some(square) = off {
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
    let is_each_once =
        queens.iter().map(|it| it.column).collect::<HashSet<_>>().len() == queens.len();
    let note = match counted_from {
        Some(0) => "; its columns are counted from 0",
        Some(_) if !is_each_once => "; its columns are counted from 1",
        _ => "",
    };
    if let Some(reason) = reason {
        return Ok(Err(format!("{reason}{note}")));
    }
    let (name, plural) = (args.rules.name(), plural(n.into(), "s"));
    Ok(Ok(match args.json {
        true => json!({"problem": name, "n": n, "placement": true}).to_string(),
        false => format!("a placement of {n} queen{plural} ({name}){note}"),
    }))
}
