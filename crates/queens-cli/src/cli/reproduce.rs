//! `queens reproduce`.

use std::path::PathBuf;

use clap::Args;
use literature::reproduce::{HEAD, Outputs, subject, summary};
use literature::sources::{Figure, figures};
use literature::times::Times;
use service::write_file;

use crate::failure::{Failure, usage};
use crate::{output, stderr};

const EXAMPLES: &str = "\
Examples:
  queens reproduce --quick           the figures that take a moment each
  queens reproduce --only forced     those of one subject
  queens reproduce --times --svg times.svg

An exact figure that differs without a known reason ends the command with exit code 14. Measured figures, \
such as ratios of times, depend on the machine and never do.";

#[derive(Debug, Args)]
#[command(after_long_help = EXAMPLES)]
pub(super) struct ReproduceArgs {
    /// Only the figures of this name or subject, several separated by commas [default: all]
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    only: Vec<String>,
    /// Leave out the figures that take longer than a second or two [default: all are reproduced]
    #[arg(long)]
    quick: bool,
    /// Print JSON instead of the table, one object a line [default: the table]
    #[arg(long)]
    json: bool,
    /// The times that a source prints for N = 4 to 16, beside those here, and a plot
    ///
    /// With --quick, for N = 4 to 12.
    #[arg(long, conflicts_with_all = ["only", "json"])]
    times: bool,
    /// Write the plot of --times to this file, as an SVG
    #[arg(long, value_name = "FILE", requires = "times")]
    svg: Option<PathBuf>,
}

/// The largest board of `--times --quick`.
const QUICK_N: u32 = 12;

pub(super) fn run(args: &ReproduceArgs) -> Result<(), Failure> {
    if args.times {
        let times = Times::measured(if args.quick { QUICK_N } else { u32::MAX })?;
        if let Some(file) = &args.svg {
            let written = write_file(file, times.svg().as_bytes());
            written.map_err(|error| Failure::output(file.display(), error))?;
        }
        return output::print(times.text());
    }
    let chosen = args.chosen()?;
    let mut outputs = Outputs::default();
    let mut lines = Vec::new();
    if !args.json {
        output::print(HEAD)?;
    }
    for figure in chosen {
        let line = outputs.line(figure)?;
        output::print(if args.json { line.json().to_string() } else { line.row() })?;
        lines.push(line);
    }
    stderr::print(format_args!("{}\n", summary(&lines)));
    let faults: Vec<String> =
        lines.iter().filter(|line| line.is_fault()).map(|line| line.figure.name.clone()).collect();
    if faults.is_empty() {
        return Ok(());
    }
    Err(Failure::Miscounted(format!(
        "not reproduced here: {}; this machine miscounts, or this program has a fault: run `queens reproduce` on another \
         machine, and report this",
        faults.join(", ")
    )))
}

impl ReproduceArgs {
    fn chosen(&self) -> Result<Vec<&'static Figure>, Failure> {
        let is_of = |figure: &Figure, only: &str| {
            let rest = figure.name.strip_prefix(only);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        for only in &self.only {
            if !figures().iter().any(|figure| is_of(figure, only)) {
                let mut subjects: Vec<&str> = figures().iter().map(subject).collect();
                subjects.sort();
                subjects.dedup();
                return usage(format!(
                    "there is no figure or subject {only}: give one of {}",
                    subjects.join(", ")
                ));
            }
        }
        let wanted = |figure: &&Figure| {
            let named = self.only.is_empty() || self.only.iter().any(|only| is_of(figure, only));
            named && !(self.quick && figure.slow)
        };
        Ok(figures().iter().filter(wanted).collect())
    }
}
