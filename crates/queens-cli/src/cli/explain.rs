//! `queens explain`.

use clap::Args;
use literature::explain;

use crate::failure::Failure;
use crate::output;

#[derive(Debug, Args)]
pub(super) struct ExplainArgs {
    /// Board size: 6, 8 or 10
    #[arg(value_parser = ["6", "8", "10"], default_value = "8")]
    n: String,
}

pub(super) fn run(args: &ExplainArgs) -> Result<(), Failure> {
    let n = args.n.parse().map_err(anyhow::Error::from)?;
    output::print(explain::page(n)?.trim_end())
}
