//! `queens verify`: checks the evidence of a count, and counts a sample of it again.

use std::path::PathBuf;
use std::time::Duration;

use board::MethodChoice;
use clap::builder::NonEmptyStringValueParser;
use clap::parser::ValueSource;
use clap::{ArgMatches, Args};
use count::Variant;
use evidence::{By, Checked, RecountEffort, Sample, Seed};

use super::args::{BackendChoice, RoomArgs, backend_choice, in_units};
use super::show::plural;
use super::verified::Verified;
use crate::failure::Failure;
use crate::output;
use crate::progress::clock;

#[derive(Debug, Args)]
pub(super) struct VerifyArgs {
    /// The bundle, as `queens export` writes it
    bundle: PathBuf,
    /// How many random draws are counted again
    ///
    /// Half of them are drawn from the claimed total, half from the tasks.
    #[arg(long, value_name = "DRAWS", default_value_t = 200, env = "QUEENS_SAMPLE")]
    sample: usize,
    /// How long the recount may take
    ///
    /// A bare number is seconds.
    #[arg(long, value_name = "DURATION", default_value = "60s", env = "QUEENS_SECONDS",
          value_parser = in_units(1_000, 0..=u64::MAX))]
    seconds: u64,
    /// Count every range again, however long it takes
    #[arg(long, conflicts_with_all = ["sample", "seconds"])]
    all: bool,
    /// Count by searching below the tasks
    ///
    /// That shares nothing with the join and takes a hundred times as long; only for bundles by
    /// `halves` [default: by another counting loop than farms use first].
    #[arg(long, conflicts_with = "reference")]
    search: bool,
    /// Count by the reference
    ///
    /// It is as simple as the definition and takes a hundred times as long.
    #[arg(long)]
    reference: bool,
    /// Also count all by another method, and compare
    ///
    /// The methods are rows, prefixes, ring and halves. However long it takes, the totals are compared.
    #[arg(long, value_name = "METHOD", value_parser = method)]
    also: Option<MethodChoice>,
    /// Decides what is drawn [default: a random seed]
    #[arg(long)]
    seed: Option<u64>,
    /// Decides what is drawn, as a public random value
    ///
    /// It is taken together with the bundle's name: a value from after the day on which the name
    /// was published, so that nobody could choose it.
    #[arg(long, value_name = "VALUE", conflicts_with = "seed", value_parser = NonEmptyStringValueParser::new())]
    beacon: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    room: RoomArgs,
    /// What counts: avx2, … [default: another than farms use first]
    ///
    /// A loop of the processor: reference, portable, neon, avx2 or avx512.
    #[arg(long, value_name = "NAME", env = "QUEENS_BACKEND", value_parser = backend_choice)]
    backend: Option<BackendChoice>,
}

impl VerifyArgs {
    /// Leaves graphics processors out that only the environment asks for: the processor counts in any case.
    pub(super) fn prefer_words(&mut self, matches: &ArgMatches) {
        let is_typed = matches.value_source("backend") == Some(ValueSource::CommandLine);
        self.backend.take_if(|it| !is_typed && matches!(it, BackendChoice::Devices(_)));
    }
}

/// The most draws: they are held in memory.
const MOST_DRAWS: usize = 1 << 20;

pub(super) fn verify(args: &VerifyArgs) -> Result<(), Failure> {
    let refused = |reason: String| Failure::bundle(&args.bundle, reason);
    let unreadable = |error: std::io::Error| {
        Failure::Usage(format!(
            "cannot read the bundle {} ({error}); name a file that `queens export` has written",
            args.bundle.display()
        ))
    };
    let opened = std::fs::File::open(&args.bundle).and_then(|file| file.metadata());
    if !opened.map_err(unreadable)?.is_file() {
        // It is read several times, and has to end.
        return Err(unreadable(std::io::Error::other("it is a folder, a pipe or a device")));
    }
    if args.sample > MOST_DRAWS {
        return Err(Failure::Usage(format!(
            "--sample {} is more than {MOST_DRAWS} draws; --all counts everything again",
            args.sample
        )));
    }
    let seed = match &args.beacon {
        Some(value) => Seed::Beacon(value),
        None => Seed::Number(args.seed.unwrap_or_else(rand::random)),
    };
    let draws = if args.all { 0 } else { args.sample };
    let checked = evidence::check(&args.bundle, Sample { draws, seed, all: args.all });
    let checked = checked.map_err(|error| {
        if error.is_of_unknown_format() {
            Failure::Incompatible(format!(
                "cannot tell whether the bundle {} holds: {error}",
                args.bundle.display()
            ))
        } else {
            refused(error.to_string())
        }
    })?;
    let by = match (args.search, args.reference) {
        (true, _) => By::Search,
        (false, true) => By::Reference,
        (false, false) => By::Loop,
    };
    let backend = match args.backend {
        Some(BackendChoice::Devices(devices)) => {
            return Err(Failure::Usage(format!(
                "a bundle is counted again by the processor: give --backend one of its loops, not {devices}"
            )));
        }
        Some(BackendChoice::Processor(backend)) => Some(backend),
        None => None,
    };
    let variant = by.variant(checked.plan.method, backend);
    let variant = variant.ok_or_else(|| {
        Failure::Usage(format!(
            "--search is for bundles by halves, and {} was counted by searching; --reference counts it by the \
             simplest search",
            checked.plan
        ))
    })?;
    if let Variant::Straight(backend) | Variant::Mirrored(backend) = variant {
        count::self_test(backend, MethodChoice::all())?;
    }
    let also = args.also.map_or(Ok(()), |choice| evidence::another(&checked, choice));
    also.map_err(|error| Failure::Usage(error.to_string()))?;
    let effort = RecountEffort {
        threads: args.room.threads(),
        variant,
        memory: args.room.memory(),
        time: (!args.all).then(|| Duration::from_secs(args.seconds)),
    };
    if let Some(outlook) = outlook(&checked, effort) {
        output::tell(format_args!("{outlook}\n"));
    }
    let recounted = evidence::recount(&checked, effort);
    let recounted = recounted.map_err(|error| refused(error.to_string()))?;
    let (threads, memory) = (effort.threads, effort.memory);
    let also = args.also;
    let also = also.map(|choice| evidence::count_by_another(&checked, choice, threads, memory));
    let also = also.transpose().map_err(|error| refused(error.to_string()))?;
    let verified = Verified { checked: &checked, recounted: &recounted, also };
    output::print(if args.json { verified.json() } else { verified.text() })?;
    match checked.state {
        farm::JobState::Done => Ok(()),
        farm::JobState::Cancelled => Err(Failure::Incomplete(format!(
            "the bundle {} holds as far as it goes, but its job was cancelled and has no total; submit the job again to \
             have one",
            args.bundle.display()
        ))),
        state => Err(Failure::Incomplete(format!(
            "the bundle {} holds as far as it goes, but its job is {state} and has no total, or ranges of it wait \
             for a second count; export it again when `queens jobs` says that it is done and that none waits",
            args.bundle.display()
        ))),
    }
}

/// How long the recount will take; `None` if nothing is counted.
fn outlook(checked: &Checked, effort: RecountEffort) -> Option<String> {
    let taken = clock(checked.content.busy.counts.as_secs_f64());
    let threads = effort.threads;
    let what = match effort.time {
        Some(Duration::ZERO) => return None,
        Some(time) => {
            format!("counts a sample again, for {} at most (--seconds)", clock(time.as_secs_f64()))
        }
        None => "counts every range again, however long it takes".into(),
    };
    Some(format!(
        "{what}, on {threads} thread{}; for all ranges the farm took {taken} of one thread",
        plural(threads.get() as u64, "s")
    ))
}

/// Reads the name of a method.
fn method(name: &str) -> anyhow::Result<MethodChoice> {
    let named = MethodChoice::all().find(|choice| choice.name() == name);
    named.ok_or_else(|| anyhow::anyhow!("the methods are rows, prefixes, ring and halves"))
}
