//! `queens explain`.

use clap::Args;
use console::Term;
use literature::explain;

use crate::failure::Failure;
use crate::output;
use crate::terminal::{self, is_coloured};

#[derive(Debug, Args)]
pub(super) struct ExplainArgs {
    /// Board size, for all methods: 6, 8 or 10; or `colours`, for this method alone
    #[arg(value_name = "N", value_parser = ["6", "8", "10", COLOURS], default_value = "8")]
    topic: String,
}

const COLOURS: &str = "colours";

pub(super) fn run(args: &ExplainArgs) -> Result<(), Failure> {
    let page = match args.topic.as_str() {
        COLOURS => explain::colours_page()?,
        n => explain::page(n.parse().map_err(anyhow::Error::from)?)?,
    };
    // Elsewhere it stays Markdown, which is how docs/EXPLAINED.md is made.
    let terminal = Term::stdout();
    if terminal.is_term() {
        return output::print(terminal::page(&page, is_coloured(&terminal)));
    }
    output::print(page.trim_end())
}
