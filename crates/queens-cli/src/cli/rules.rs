//! The options for the rules of attack and for blocked squares, for commands about whole
//! placements.

use anyhow::{Context, ensure};
use board::squares::{Square, SquaresError};
use clap::Args;
use solve::Rules;

use super::options::one_of;
use crate::failure::Failure;

#[derive(Debug, Args)]
pub(super) struct RulesArgs {
    /// total, toroidal or superqueens
    ///
    /// How queens attack.
    #[arg(long = "problem", value_name = "PROBLEM", default_value = "total", value_parser = one_of(RULES))]
    pub(super) rules: Rules,
}

#[derive(Clone, Debug, Args)]
pub(super) struct BlockedArgs {
    /// Squares on which no queen may stand
    ///
    /// They are named as in a1,c2. A line as in a1-h8 stands for all squares from a1 to h8 on one
    /// row, column or diagonal.
    #[arg(hide_short_help = true, long, value_name = "SQUARES")]
    blocked: Option<String>,
}

/// Problems by their names in `queens count`. Modular is another word for toroidal.
const RULES: [(&str, Rules, &str); 4] = [
    ("total", Rules::Plain, "Along rows, columns and diagonals"),
    ("toroidal", Rules::Torus, "On a torus, where diagonals go on at the opposite edge"),
    ("modular", Rules::Torus, "Another word for toroidal"),
    ("superqueens", Rules::Superqueens, "Also as knights"),
];

impl RulesArgs {
    /// The name that the problem with these rules has in `queens count`.
    pub(super) fn name(&self) -> &'static str {
        RULES.iter().find(|(_, rules, _)| *rules == self.rules).map_or("", |(name, ..)| name)
    }
}

impl BlockedArgs {
    pub(super) fn is_given(&self) -> bool {
        self.blocked.is_some()
    }

    /// The blocked squares of a board of size `n`; empty if there are none.
    pub(super) fn squares(&self, n: u32) -> Result<Vec<Square>, Failure> {
        let squares = self.blocked.as_deref().map_or(Ok(Vec::new()), |text| blocked(text, n));
        squares.map_err(|error| Failure::Usage(format!("--blocked: {error}")))
    }
}

fn blocked(text: &str, n: u32) -> anyhow::Result<Vec<Square>> {
    let mut squares = Vec::new();
    for word in text.split([',', ' ']).filter(|word| !word.is_empty()) {
        let (from, to) = word.split_once('-').unwrap_or((word, word));
        let ends: [Square; 2] = [from.parse()?, to.parse()?];
        if let Some(&square) = ends.iter().find(|it| it.column >= n || it.row >= n) {
            return Err(SquaresError::OffBoard { square, n }.into());
        }
        squares.extend(line(ends).with_context(|| {
            format!("{word} is no row, column or diagonal: give the two ends of one")
        })?);
    }
    ensure!(
        !squares.is_empty(),
        "there is no square: name at least one, as in a1, or leave it out"
    );
    Ok(squares)
}

/// The squares between two ends, with these, if both are on one row, column or diagonal.
fn line([from, to]: [Square; 2]) -> Option<impl Iterator<Item = Square>> {
    let [across, up] = [(from.column, to.column), (from.row, to.row)]
        .map(|(from, to)| i64::from(to) - i64::from(from));
    let steps = across.abs().max(up.abs());
    let fits = [across, up].iter().all(|way| [0, steps].contains(&way.abs()));
    let at = |from: u32, way: i64, step: i64| (i64::from(from) + way.signum() * step) as u32;
    fits.then(|| {
        (0..=steps).map(move |step| Square {
            column: at(from.column, across, step),
            row: at(from.row, up, step),
        })
    })
}
