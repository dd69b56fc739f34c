//! `queens draw`.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::PathBuf;

use board::squares::{Square, SquaresError, check_queens};
use clap::{Args, ValueEnum};
use console::Term;
use service::write_file;
use solve::QueensRead;
use solve::draw::{self, Diagram};

use super::queens_input::{self, QueensArgs};
use crate::failure::{Failure, usage};
use crate::output;
use crate::terminal::{self, is_coloured};

const EXAMPLES: &str = "\
The elements of an SVG have classes: queen, dark, attack, …

Examples:
  queens draw a1 b5 c8 d6 e3 f7 g2 h4
  queens draw 2 4 6 8 3 1 7 5 --out queens.svg
  queens draw --size 8 --attacks a1 c2 b3 --out attacks.svg
  queens draw --by-file 7 4 2 8 6 1 3 5
  queens list 12 --limit 1 | queens draw --out first.svg";

#[derive(Debug, Args)]
#[command(after_long_help = EXAMPLES)]
pub(super) struct DrawArgs {
    #[command(flatten)]
    queens: QueensArgs,
    /// Board size, 1 to 200 [default: by the queens]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=200))]
    size: Option<u32>,
    /// Draw the lines of every queen
    ///
    /// Those on which two attack each other are red.
    #[arg(long)]
    attacks: bool,
    /// Read a permutation as ranks on files
    ///
    /// Files are taken from a on [default: as the column on each rank].
    #[arg(long)]
    by_file: bool,
    /// Write to this file; its extension says the format
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// text or svg
    ///
    /// [default: that of --out's extension, or text]
    #[arg(long, value_enum)]
    format: Option<FormatName>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum FormatName {
    /// For a terminal
    #[value(alias = "txt")]
    Text,
    /// For print and browsers
    Svg,
}

pub(super) fn run(args: &DrawArgs) -> Result<(), Failure> {
    let (format, diagram) = (args.format()?, args.diagram()?);
    let text = match format {
        FormatName::Text if args.out.is_none() && is_coloured(&Term::stdout()) => {
            terminal::board(&draw::text(&diagram, args.attacks))
        }
        FormatName::Text => format!("{}\n", draw::text(&diagram, args.attacks)),
        FormatName::Svg => draw::svg(&diagram, args.attacks),
    };
    match &args.out {
        Some(path) => write_file(path, text.as_bytes())
            .map_err(|error| Failure::output(path.display(), error)),
        None => output::print(text.trim_end()),
    }
}

impl DrawArgs {
    fn format(&self) -> Result<FormatName, Failure> {
        let (None, Some(out)) = (self.format, &self.out) else {
            return Ok(self.format.unwrap_or(FormatName::Text));
        };
        let extension = out.extension().and_then(OsStr::to_str).unwrap_or_default();
        FormatName::from_str(extension, true).or_else(|_| {
            usage(format!("{} has neither the extension txt nor svg: give --format", out.display()))
        })
    }

    fn diagram(&self) -> Result<Diagram, Failure> {
        let (text, source) = self.queens.text()?;
        if let Ok(n @ 2..) = text.trim().parse::<u32>() {
            return usage(format!(
                "{n} alone names no queens; `queens solve {n} --format board` draws a placement, and `queens draw --size {n} a1` \
                 a board of this size"
            ));
        }
        let QueensRead { n: said, squares: queens, .. } =
            queens_input::read(&text, &source, self.by_file, None)?;
        if let (Some(said), Some(size)) = (said, self.size)
            && said != size
        {
            return usage(format!("the board is of size {said}: leave out --size {size}"));
        }
        let n = said.or(self.size).unwrap_or(queens.len() as u32);
        if !(1..=200).contains(&n) {
            return usage(format!("a board of size {n} cannot be drawn: give one from 1 to 200"));
        }
        let off = |square: &&Square| square.column >= n || square.row >= n;
        if let Some(&square) = queens.iter().find(off) {
            let error = SquaresError::OffBoard { square, n };
            return usage(format!("{error}; --size draws a larger one"));
        }
        match check_queens(n, &queens) {
            Err(error) if !self.attacks => {
                usage(format!("{error}; --attacks draws them nonetheless"))
            }
            _ => {
                let each_once: BTreeSet<Square> = queens.into_iter().collect();
                Ok(Diagram { n, queens: each_once.into_iter().collect() })
            }
        }
    }
}
