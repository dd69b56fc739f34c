//! `queens list`.

use std::collections::HashMap;

use board::squares::Square;
use clap::Args;
use console::Term;
use solve::{Notation, Placement, Solutions, Start, Symmetry, solutions};

use super::placement_output::FormatArgs;
use super::queens_input::GivenArgs;
use super::rules::{BlockedArgs, RulesArgs};
use crate::failure::Failure;
use crate::output::Lines;
use crate::terminal::{self, is_coloured};

const EXAMPLES: &str = "\
A placement comes as soon as it is found, in lexicographic order of the column on each rank from 1 on. \
Files are a, b, … z, aa, …; rank 1 is at the bottom of a drawn board. A board without a placement \
prints nothing, and that is no failure. The search is a plain one: the first placement of a board of 30 \
takes a second, and that of one of 100 for ever.

Examples:
  queens list 8 --limit 5
  queens list 8 --fundamental --format fen
  queens list 6 --given b1 --format board
  queens list 8 --by-file --number 87 --orbit
  queens list 8 --numbered           the 92 with their numbers, and those of the twelve groups
  queens list 13 --problem toroidal --format permutation";

#[derive(Debug, Args)]
#[command(after_long_help = EXAMPLES)]
pub(super) struct ListArgs {
    /// Board size, 0 to 10000
    ///
    /// A drawn board says its own.
    #[arg(value_parser = clap::value_parser!(u32).range(..=10_000),
          required_unless_present = "board")]
    n: Option<u32>,
    /// Print one placement of each orbit
    ///
    /// Rotations and reflections of it are left out.
    #[arg(long)]
    fundamental: bool,
    /// Print at most K placements
    #[arg(short = 'n', long, value_name = "K")]
    limit: Option<usize>,
    /// Print only the placement with this number
    ///
    /// It is counted from 1 [default: all].
    #[arg(long, value_name = "K", conflicts_with = "limit",
          value_parser = clap::value_parser!(u64).range(1..))]
    number: Option<u64>,
    /// With --number: all its turned and mirrored forms
    ///
    /// Each is printed once [default: it alone].
    #[arg(long, requires = "number")]
    orbit: bool,
    /// Print the number of each, and of its group
    ///
    /// They are a comment, as in # 7 3. A group is its rotations and reflections; groups are
    /// numbered as they come, and one placement of each is held in memory.
    #[arg(long, conflicts_with_all = ["number", "orbit"])]
    numbered: bool,
    /// Order and write by the rank on each file
    ///
    /// Files are taken from a on [default: by the column on each rank].
    #[arg(long)]
    by_file: bool,
    #[command(flatten)]
    rules: RulesArgs,
    #[command(flatten)]
    blocked: BlockedArgs,
    #[command(flatten)]
    given: GivenArgs,
    #[command(flatten)]
    format: FormatArgs,
}

pub(super) fn run(args: &ListArgs) -> Result<(), Failure> {
    let n = args.given.size(args.n)?;
    let notation = args.format.notation(n, Notation::Squares)?;
    let mut printer = Printer {
        out: Lines::new(),
        notation,
        is_painted: notation == Notation::Board && is_coloured(&Term::stdout()),
        by_file: args.by_file,
        printed: 0,
    };
    let listed = args.listed(n)?;
    if let Some(number) = args.number {
        let mut passed = 0;
        let found = listed.inspect(|_| passed += 1).nth(number as usize - 1);
        let placement = found.ok_or_else(|| {
            let reason = format!("there is no placement {number}: the list ends after {passed}");
            Failure::NoPlacement(reason)
        })?;
        let placements = if args.orbit { placement.orbit() } else { vec![placement] };
        placements.iter().try_for_each(|placement| printer.print(placement, None))?;
        return printer.out.end();
    }
    let mut groups = HashMap::new();
    for placement in listed.take(args.limit.unwrap_or(usize::MAX)) {
        let next = groups.len() + 1;
        let group = args.numbered.then(|| *groups.entry(placement.canonical()).or_insert(next));
        printer.print(&placement, group)?;
    }
    printer.out.end()
}

impl ListArgs {
    /// The placements, in the order that was asked for.
    fn listed(&self, n: u32) -> Result<Solutions, Failure> {
        // For --by-file, the search gets the board with files and ranks exchanged.
        let swap = |Square { column, row }: Square| Square { column: row, row: column };
        let seen = |squares: Vec<Square>| {
            if self.by_file { squares.into_iter().map(swap).collect() } else { squares }
        };
        let given = seen(self.given.read_for(n)?.unwrap_or_default());
        let blocked = seen(self.blocked.squares(n)?);
        let start = Start::with_rules(n, self.rules.rules, &given)?.blocking(&blocked)?;
        Ok(if self.fundamental { Solutions::fundamental(start) } else { solutions(start) })
    }
}

/// Prints placements until nobody reads them.
struct Printer {
    out: Lines,
    notation: Notation,
    /// Whether drawn boards have colours.
    is_painted: bool,
    by_file: bool,
    printed: u64,
}

impl Printer {
    /// Prints the next placement, with its number and that of its `group` if there is one.
    fn print(&mut self, placement: &Placement, group: Option<usize>) -> Result<(), Failure> {
        let text = match self.by_file {
            // The search has filled files, not ranks.
            true => self.notation.by_file(&placement.image(Symmetry::TRANSPOSITION)).to_string(),
            false => self.notation.of(placement).to_string(),
        };
        let text = if self.is_painted { terminal::board(&text) } else { text };
        let takes_lines = matches!(self.notation, Notation::Board | Notation::Columns);
        if takes_lines && self.printed > 0 {
            self.out.print("")?;
        }
        self.printed += 1;
        let number = self.printed;
        self.out.print(match group {
            None => text,
            Some(group) if self.notation == Notation::Json => {
                let fields = text.trim_start_matches('{');
                format!(r#"{{"number":{number},"group":{group},{fields}"#)
            }
            // The numbers are a comment, so that every command can read the placement again.
            Some(group) if takes_lines => format!("# {number} {group}\n{text}"),
            Some(group) => format!("{text} # {number} {group}"),
        })
    }
}
