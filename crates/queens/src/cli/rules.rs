//! The option that says how queens attack, for commands about whole placements.

use clap::{Args, ValueEnum};
use solve::Rules;

#[derive(Debug, Args)]
pub(super) struct RulesArgs {
    /// total, toroidal or superqueens [default: total]
    #[arg(long, value_enum, value_name = "PROBLEM", env = "QUEENS_RULES")]
    problem: Option<RulesName>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum RulesName {
    /// Along rows, columns and diagonals
    Total,
    /// On a torus, where diagonals go on at the opposite edge; modular is another word for it
    #[value(alias = "modular")]
    Toroidal,
    /// Also as knights
    Superqueens,
}

impl RulesArgs {
    pub(super) fn rules(&self) -> Rules {
        match self.problem {
            None | Some(RulesName::Total) => Rules::Plain,
            Some(RulesName::Toroidal) => Rules::Torus,
            Some(RulesName::Superqueens) => Rules::Superqueens,
        }
    }

    /// The name of the problem, as `queens count` has it.
    pub(super) fn name(&self) -> &'static str {
        match self.rules() {
            Rules::Plain => "total",
            Rules::Torus => "toroidal",
            Rules::Superqueens => "superqueens",
        }
    }
}
