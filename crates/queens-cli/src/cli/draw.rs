//! `queens draw`.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use board::squares::{Square, SquaresError, check_queens};
use clap::{Args, ValueEnum};
use solve::draw::{self, Diagram, Style};
use solve::{Placement, Rules, Solutions, attack};

use super::queens_input::{self, Queens};
use crate::failure::Failure;
use crate::output;

const EXAMPLES: &str = "\
SVG marks what it shows by class: queen, dark, attack, …

Examples:
  queens draw a1 b5 c8 d6 e3 f7 g2 h4
  queens draw 2 4 6 8 3 1 7 5 --out queens.svg
  queens draw --size 8 --attacks a1 c2 b3 --out attacks.svg
  queens draw --by-file 7 4 2 8 6 1 3 5
  queens draw --tile 3x3 1 3 5 2 4 --out torus.svg
  queens draw --fundamental 8 --out twelve.svg
  queens list 12 --limit 1 --format fen | queens draw --board - --out first.svg";

/// Draws a board with queens.
#[derive(Debug, Args)]
#[command(after_long_help = EXAMPLES)]
pub(super) struct DrawArgs {
    /// Squares (a1 b5), columns (2 4 1 3) or a FEN
    ///
    /// The columns are those on each rank, a FEN is as in 3Q/Q3/….
    #[arg(required_unless_present_any = ["board", "fundamental"])]
    queens: Vec<String>,
    /// Read the queens from this file (-: standard input)
    ///
    /// It has a drawn board, any of these notations or JSON.
    #[arg(long, value_name = "FILE", conflicts_with = "queens")]
    board: Option<PathBuf>,
    /// Draw all different placements of N, up to 10
    ///
    /// They are on one sheet, one of each orbit.
    #[arg(long, value_name = "N",
          conflicts_with_all = ["queens", "board", "size", "attacks", "by_file", "tile"],
          value_parser = clap::value_parser!(u32).range(1..=10))]
    fundamental: Option<u32>,
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
    #[arg(long, env = "QUEENS_BY_FILE")]
    by_file: bool,
    /// Draw copies of a torus, as in 3x3
    ///
    /// The queens must be a placement on it [default: one].
    #[arg(long, value_name = "KxK", value_parser = copies, conflicts_with_all = ["size", "attacks"],
          env = "QUEENS_TILE")]
    tile: Option<u32>,
    /// Write to this file; its extension says the format
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// text or svg
    ///
    /// [default: that of --out's extension, or text]
    #[arg(long, value_enum)]
    format: Option<FormatName>,
    /// Hatch the dark squares, as for print
    #[arg(long)]
    hatched: bool,
    /// Side of a square in pixels, 8 to 256
    ///
    /// [default: 56, and 24 with --fundamental]
    #[arg(long, value_name = "PIXELS", value_parser = clap::value_parser!(u16).range(8..=256))]
    square: Option<u16>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum FormatName {
    /// For a terminal
    Text,
    /// For print and browsers
    Svg,
}

pub(super) fn run(args: &DrawArgs) -> Result<(), Failure> {
    let format = args.format()?;
    let text = match args.fundamental {
        Some(n) => {
            let placements = fundamental(n)?;
            match format {
                FormatName::Text => text_sheet(n, &placements),
                FormatName::Svg => draw::sheet(n, &placements, args.style(24)),
            }
        }
        None => {
            let diagram = args.diagram()?;
            match format {
                FormatName::Text => format!("{}\n", draw::text(&diagram, args.attacks)),
                FormatName::Svg => draw::svg(&diagram, args.style(56)),
            }
        }
    };
    match &args.out {
        Some(path) => {
            std::fs::write(path, text).map_err(|error| Failure::output(path.display(), error))
        }
        None => output::write(text.as_bytes()),
    }
}

impl DrawArgs {
    fn format(&self) -> Result<FormatName, Failure> {
        let extension =
            self.out.as_deref().and_then(Path::extension).and_then(|word| word.to_str());
        match (self.format, &self.out, extension.map(str::to_ascii_lowercase).as_deref()) {
            (Some(format), _, _) => Ok(format),
            (None, None, _) | (None, _, Some("txt")) => Ok(FormatName::Text),
            (None, _, Some("svg")) => Ok(FormatName::Svg),
            (None, Some(path), _) => Err(Failure::Usage(format!(
                "{} has neither the extension txt nor svg: give --format",
                path.display()
            ))),
        }
    }

    fn style(&self, usual: u16) -> Style {
        let square = self.square.unwrap_or(usual);
        Style { square, hatched: self.hatched, attacks: self.attacks }
    }

    fn queens(&self) -> Result<Queens, Failure> {
        let (text, source) = match &self.board {
            Some(path) => queens_input::text_of(path)?,
            None => (self.queens.join(" "), "the queens".into()),
        };
        if self.by_file {
            queens_input::read_ranks(&text, &source)
        } else {
            queens_input::read(&text, &source)
        }
    }

    fn diagram(&self) -> Result<Diagram, Failure> {
        let (said, queens) = self.queens()?;
        if let (Some(said), Some(size)) = (said, self.size)
            && said != size
        {
            let reason = format!("the board is of size {said}: leave out --size {size}");
            return Err(Failure::Usage(reason));
        }
        let n = said.or(self.size).unwrap_or(queens.len() as u32);
        if !(1..=200).contains(&n) {
            let reason = format!("a board of size {n} cannot be drawn: give one from 1 to 200");
            return Err(Failure::Usage(reason));
        }
        let off = |square: &&Square| square.column >= n || square.row >= n;
        if let Some(&square) = queens.iter().find(off) {
            let error = SquaresError::OffBoard { square, n };
            return Err(Failure::Usage(format!("{error}; --size draws a larger one")));
        }
        if let Some(copies) = self.tile {
            return tiled(n, &queens, copies);
        }
        match check_queens(n, &queens) {
            Err(error) if !self.attacks => {
                Err(Failure::Usage(format!("{error}; --attacks draws them nonetheless")))
            }
            _ => {
                let each_once: BTreeSet<Square> = queens.into_iter().collect();
                Ok(Diagram { n, queens: each_once.into_iter().collect() })
            }
        }
    }
}

/// The number of copies in either direction.
fn copies(text: &str) -> anyhow::Result<u32> {
    let wrong = || anyhow::anyhow!("give as many copies across as up, as in 3x3");
    let (across, up) = text.split_once('x').ok_or_else(wrong)?;
    let across: u32 = across.parse()?;
    anyhow::ensure!(up == across.to_string() && across > 0, wrong());
    Ok(across)
}

/// Copies of a torus of size `n` with these queens, which are on it.
fn tiled(n: u32, queens: &[Square], copies: u32) -> Result<Diagram, Failure> {
    let reason = match attack(n, queens, Rules::Torus) {
        Some([one, other]) => Some(format!("{one} and {other} attack each other on a torus")),
        None if queens.len() < n as usize => Some(format!("there are {} queens", queens.len())),
        None => None,
    };
    if let Some(reason) = reason {
        return Err(Failure::Usage(format!("no placement on a torus of size {n}: {reason}")));
    }
    let Some(size) = n.checked_mul(copies).filter(|&size| size <= 200) else {
        return Err(Failure::Usage(format!(
            "{copies} copies of size {n} are more than 200 squares across: give fewer"
        )));
    };
    let starts = || (0..copies).map(|copy| copy * n);
    let copy = |Square { column, row }: Square| {
        starts().flat_map(move |right| {
            starts().map(move |up| Square { column: column + right, row: row + up })
        })
    };
    Ok(Diagram { n: size, queens: queens.iter().copied().flat_map(copy).collect() })
}

fn fundamental(n: u32) -> Result<Vec<Placement>, Failure> {
    let placements: Vec<Placement> = Solutions::fundamental(n).collect();
    if placements.is_empty() {
        return Err(Failure::NoPlacement(format!(
            "there is no placement of {n} queens: give another N"
        )));
    }
    Ok(placements)
}

fn text_sheet(n: u32, placements: &[Placement]) -> String {
    let board = |(number, placement): (usize, &Placement)| {
        let diagram = Diagram { n, queens: placement.squares().collect() };
        let class = placement.symmetry_class().name();
        format!("{}  {class}\n{}\n", number + 1, draw::text(&diagram, false))
    };
    placements.iter().enumerate().map(board).collect::<Vec<_>>().join("\n")
}
