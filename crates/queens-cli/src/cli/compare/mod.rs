//! `queens compare`: every algorithm and method by one thread on the same boards.

mod report;

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::time::Duration;

use board::{MethodChoice, Problem};
use clap::builder::PossibleValue;
use clap::{Args, ValueEnum};
use count::Backend;
use literature::compare::{Algorithm, Contest, ContestError, Line};

use super::args::duration;
use crate::failure::Failure;
use crate::held::check_total;
use crate::memory::MemoryBound;
use crate::output;
use crate::sizes::Sizes;
use crate::table::{ListArgs, ListFormat};

const EXAMPLE: &str = "\
Examples:
  queens compare 12 --algorithms arrays,masks,states,halves --json

Without --all, an algorithm counts boards up to the largest that takes it about two seconds: 7 for \
combinations, 8 for rooks, 11 for permutations-all; 13 for \
direct, arrays, stack and permutations; 14 for forced-columns, forced and states; 15 for masks, \
mirror, flip, mirror-flip, unique and the three by reference; 17 for rows and ring; 18 for halves.

nodes are partial placements: whole boards looked at by the first three, queens placed by the searches from \
direct to mirror-flip and by forced, distinct states by states, states stored by rows and ring; the others do not count \
them. seconds are processor time of the one thread, the least of several runs; the range says how much longer the \
slowest took.";

#[derive(Debug, Args)]
#[command(after_long_help = EXAMPLE)]
pub(in crate::cli) struct CompareArgs {
    /// Board size, or sizes as in 8..16, both ends included; 0 to 32
    #[arg(value_name = "N", value_parser = Sizes::of_boards)]
    boards: Sizes,
    /// What to compare [default: all]
    #[arg(long, value_enum, value_name = "NAME", value_delimiter = ',')]
    algorithms: Vec<Named>,
    /// An algorithm that takes longer than this for some board is left out for larger ones
    #[arg(long, value_name = "DURATION", default_value = "2s", value_parser = seconds)]
    seconds: f64,
    /// Count boards of any size by every algorithm
    ///
    /// A count that has begun is not stopped, whatever --seconds says.
    #[arg(long)]
    all: bool,
    /// The most memory that states and halves may take, as in 500MiB or 2GiB, or as in 25% of what this process
    /// may use
    #[arg(long, value_name = "SIZE", env = "QUEENS_MEMORY", default_value = MemoryBound::HALF)]
    memory: MemoryBound,
    #[command(flatten)]
    list: ListArgs,
    /// Also write the table to this file, as comma-separated values
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,
}

/// An algorithm by its name.
#[derive(Clone, Copy, Debug)]
struct Named(Algorithm);

impl ValueEnum for Named {
    fn value_variants<'a>() -> &'a [Named] {
        static ALL: LazyLock<Vec<Named>> =
            LazyLock::new(|| Algorithm::ALL.into_iter().map(Named).collect());
        &ALL
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        Some(PossibleValue::new(self.0.name()).help(self.0.about()))
    }
}

/// Reads a duration, or a bare number of seconds.
fn seconds(text: &str) -> anyhow::Result<f64> {
    let Ok(seconds) = text.parse() else { return Ok(duration(text)?.as_secs_f64()) };
    Duration::try_from_secs_f64(seconds)?;
    Ok(seconds)
}

pub(in crate::cli) fn run(args: &CompareArgs) -> Result<(), Failure> {
    for backend in [Backend::Reference, Backend::detect()] {
        count::self_test(backend, MethodChoice::all())?;
    }
    // The file is made first, so that a wrong name fails before minutes of counting.
    if let Some(path) = &args.csv {
        File::create(path).map_err(|error| cannot_write(path, &error))?;
    }
    let algorithms = match args.algorithms.as_slice() {
        [] => Algorithm::ALL.to_vec(),
        some => some.iter().map(|named| named.0).collect(),
    };
    let memory = args.memory.bytes();
    let mut contest = Contest::new(&algorithms, args.seconds, args.all, memory);
    let mut lines: Vec<Line> = Vec::new();
    let format = args.list.format();
    let print = if args.csv.is_some() { output::mention::<String> } else { output::print };
    match format {
        ListFormat::Table => print(report::HEAD.into())?,
        ListFormat::Csv => print(report::CSV_HEAD.into())?,
        ListFormat::Json => {}
    }
    for n in args.boards.each() {
        let (board, total) = contest.board(n)?;
        total.map_or(Ok(()), |total| check_total(Problem::Total { n }, total))?;
        for line in &board {
            print(match format {
                ListFormat::Table => report::row(line),
                ListFormat::Csv => report::csv_row(line),
                ListFormat::Json => report::json(line).map_err(anyhow::Error::from)?,
            })?;
        }
        lines.extend(board);
    }
    if let Some(path) = &args.csv {
        std::fs::write(path, report::csv(&lines)).map_err(|error| cannot_write(path, &error))?;
    }
    Ok(())
}

fn cannot_write(path: &Path, error: &std::io::Error) -> Failure {
    Failure::output(path.display(), error)
}

impl From<ContestError> for Failure {
    fn from(error: ContestError) -> Failure {
        match error {
            ContestError::Disagreement { n, counts: [(one, total), (other, its_total)] } => {
                Failure::Miscounted(format!(
                    "N = {n}: {one} counts {total}, and {other} {its_total}: this machine miscounts, or this program has a \
                     fault; do not trust it with counting before its memory and cooling are checked, and report this"
                ))
            }
            ContestError::Failed(error) => error.into(),
        }
    }
}
