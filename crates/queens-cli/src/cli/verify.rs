//! `queens verify`: checks the evidence of a count, and counts a sample of it again.

use std::fmt::Display;
use std::path::{Path, PathBuf};
use std::time::Duration;

use board::MethodChoice;
use clap::Args;
use clap::builder::NonEmptyStringValueParser;
use count::{Backend, CountError, Variant};
use evidence::{BundleChanged, RecountEffort, Sample, Seed, UnknownFormat};
use executor::CountingError;

use super::options::{ThreadsArgs, in_units};
use super::show::plural;
use super::verified::Verified;
use crate::failure::Failure;
use crate::progress::clock;
use crate::{output, stderr};

#[derive(Debug, Args)]
pub(super) struct VerifyArgs {
    /// The bundle, as `queens export` writes it
    bundle: PathBuf,
    /// How many random draws are counted again
    ///
    /// Half of them are drawn from the claimed total, half from the tasks.
    #[arg(long, value_name = "DRAWS", default_value_t = 200,
          value_parser = clap::value_parser!(u32).range(..=MOST_DRAWS))]
    sample: u32,
    /// How long the recount may take
    ///
    /// In seconds, or with a unit as in 5m.
    #[arg(long, value_name = "SECONDS", default_value = "60s",
          value_parser = in_units(1_000, 0..=u64::MAX))]
    seconds: u64,
    /// Count every range again, however long it takes
    #[arg(long, conflicts_with_all = ["sample", "seconds"])]
    all: bool,
    /// Decides what is drawn [default: a random seed]
    #[arg(long)]
    seed: Option<u64>,
    /// Decides what is drawn, as a public random value
    ///
    /// The draws follow from this value and the bundle's name. The value should become known after
    /// the name was published, so that nobody can choose it.
    #[arg(long, value_name = "VALUE", conflicts_with = "seed", value_parser = NonEmptyStringValueParser::new())]
    beacon: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    threads: ThreadsArgs,
    /// What counts [default: not what farms use first]
    ///
    /// It is a loop of the processor: portable, neon, avx2, avx512, or reference, which is as
    /// simple as the definition and takes hundreds of times as long.
    #[arg(long, value_name = "NAME", value_parser = recounter)]
    backend: Option<Backend>,
}

/// Reads the name of a loop of the processor.
fn recounter(name: &str) -> anyhow::Result<Backend> {
    let backend = name.parse::<Backend>().map_err(|error| {
        anyhow::anyhow!("a bundle is counted again by the processor, and {error}")
    })?;
    Ok(backend.require()?)
}

/// The most draws. All of them are held in memory.
const MOST_DRAWS: i64 = 1 << 20;

pub(super) fn verify(args: &VerifyArgs) -> Result<(), Failure> {
    // A bundle is read several times, and its text must have an end.
    evidence::open_file(&args.bundle).map_err(|error| unreadable(&args.bundle, &error))?;
    let seed = match &args.beacon {
        Some(value) => Seed::Beacon(value),
        None => Seed::Number(args.seed.unwrap_or_else(rand::random)),
    };
    let draws = if args.all { 0 } else { args.sample as usize };
    let checked = evidence::check(&args.bundle, Sample { draws, seed, all: args.all });
    let checked = checked.map_err(|error| refused(&args.bundle, &error))?;
    let variant = match args.backend {
        None => Variant::to_check(Backend::detect().name(), checked.plan.method, false),
        Some(Backend::Reference) => Variant::Straight(Backend::Reference),
        Some(backend) => Variant::Mirrored(backend),
    };
    count::self_test(variant.backend(), MethodChoice::all())?;
    let effort = RecountEffort {
        threads: args.threads.number(),
        variant,
        time: (!args.all).then(|| Duration::from_secs(args.seconds)),
    };
    if effort.time != Some(Duration::ZERO) {
        let limit = effort.time.map(|time| clock(time.as_secs_f64()));
        stderr::print(format_args!(
            "{}, on {} thread{}; for all ranges the farm took {} of one thread\n",
            limit.map_or("counts every range again, however long it takes".into(), |limit| {
                format!("counts a sample again, for {limit} at most (--seconds)")
            }),
            effort.threads,
            plural(effort.threads.get() as u64, "s"),
            clock(checked.content.busy.as_secs_f64())
        ));
    }
    let recounted = evidence::recount(&checked, effort);
    let recounted = recounted.map_err(|error| refused(&args.bundle, &error))?;
    let verified = Verified { checked: &checked, recounted: &recounted };
    output::print(if args.json { verified.json() } else { verified.text() })?;
    match checked.header.state {
        farm::JobState::Done if checked.header.lines.ranges == 0 => {
            Err(Failure::Undecided(format!(
                "nothing was checked: the bundle {} has no tasks that can be counted again, so whether its total holds is \
             undecided",
                args.bundle.display()
            )))
        }
        farm::JobState::Done if verified.nothing_is_checked() => Err(Failure::Undecided(format!(
            "nothing was checked: the bundle {} agrees with itself, but not one of its ranges was counted again, so whether \
             its counts hold is undecided; give it more --seconds, a larger --sample, or --all",
            args.bundle.display()
        ))),
        farm::JobState::Done => Ok(()),
        farm::JobState::Cancelled => Err(Failure::Incomplete(format!(
            "the bundle {} holds as far as it goes, but its job was cancelled and has no total; submit the job again to \
             have one",
            args.bundle.display()
        ))),
        state => Err(Failure::Incomplete(format!(
            "the bundle {} holds as far as it goes, but its job is {state} and has no total; export it again when \
             `queens jobs` says that it is done",
            args.bundle.display()
        ))),
    }
}

/// The failure of a bundle that was not checked, or not counted again, or that does not hold.
pub(super) fn refused(path: &Path, error: &anyhow::Error) -> Failure {
    if error.is::<UnknownFormat>() {
        let bundle = path.display();
        return Failure::Incompatible(format!(
            "cannot tell whether the bundle {bundle} holds: {error}"
        ));
    }
    if error.is::<BundleChanged>() {
        return unreadable(path, error);
    }
    if let Some(error) = error.downcast_ref::<CountError>() {
        return CountingError::Count(*error).into();
    }
    // An error with a number is one of the operating system. Other I/O errors are about the
    // compression of the bundle.
    match error.downcast_ref::<std::io::Error>() {
        Some(error) if error.raw_os_error().is_some() => unreadable(path, error),
        _ => Failure::bundle(path, format_args!("{error:#}")),
    }
}

fn unreadable(path: &Path, reason: &dyn Display) -> Failure {
    Failure::Usage(format!(
        "cannot read the bundle {} ({reason}); name a file that `queens export` has written",
        path.display()
    ))
}
