//! Options that several commands share: how a problem is cut, and the resources of a count.

use std::num::NonZero;
use std::ops::RangeInclusive;
use std::time::Duration;

use anyhow::{Context, anyhow, bail, ensure};
use board::{MAX_N, MethodChoice};
use bytesize::ByteSize;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueEnum};
use count::{Backend, UnknownBackend};
use executor::{DeviceChoice, DeviceSelfTestError, Devices, allowed_processors};
use farm::{AuditPolicy, AuditScope};

use crate::failure::{Failure, usage};

/// The options for how a problem is cut into tasks.
#[derive(Clone, Debug, Args)]
pub(super) struct MethodArgs {
    /// How to cut and count: rows, prefixes, colours, …
    ///
    /// [default: what suits N]
    #[arg(long, value_enum)]
    method: Option<MethodName>,
    /// With `rows` and `prefixes`: how many rows a task has placed [default: what suits N]
    #[arg(hide_short_help = true, long, value_name = "M")]
    rows: Option<u32>,
    /// Count mirror images too, with rows or states
    ///
    /// Tasks of the method rows are then those of prefixes. The method states then keeps every
    /// state as it is: it does not merge a state with its mirror image, and keeps attacks that meet
    /// no free square.
    #[arg(hide_short_help = true, long)]
    pub(super) no_mirror: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum MethodName {
    /// Place the first M rows, search the rest; mirror images are removed
    Rows,
    /// The same with mirror images: 8, 42, 140, 344 tasks at N = 8
    Prefixes,
    /// Count the queens on black squares and those on white ones, and multiply; N from 4 on
    Colours,
    /// Keep each distinct state of a row once; `queens count` only, one thread, much memory
    States,
    /// Look for dead and forced lines before each queen; `queens count` only, one thread
    Forced,
    /// Look for dead and forced columns alone
    ForcedColumns,
    /// Search for one placement of each orbit, for --problem fundamental; `queens count` and `plan`
    /// only, one thread
    Unique,
}

impl MethodArgs {
    /// The method, if it is one that makes no tasks.
    pub(super) fn local(&self) -> Result<Option<MethodName>, Failure> {
        use MethodName::{Forced, ForcedColumns, States, Unique};
        let local = self.method.filter(|it| matches!(it, States | Forced | ForcedColumns | Unique));
        local.map_or(Ok(()), |method| self.check(method))?;
        Ok(local)
    }

    pub(super) fn is_given(&self) -> bool {
        self.method.is_some() || self.rows.is_some() || self.no_mirror
    }

    pub(super) fn choice(&self) -> Result<Option<MethodChoice>, Failure> {
        let MethodArgs { method, rows, no_mirror } = *self;
        let method = match method {
            Some(method) => method,
            None if rows.is_some() || no_mirror => MethodName::Rows,
            None => return Ok(None),
        };
        self.check(method)?;
        Ok(Some(match method {
            MethodName::Rows if !no_mirror => MethodChoice::Rows { rows },
            MethodName::Rows | MethodName::Prefixes => MethodChoice::Prefixes { rows },
            MethodName::Colours => MethodChoice::Colours,
            _ => {
                return usage(format!(
                    "--method {0} makes no tasks for a farm: count here with `queens count N --method {0}`, \
                     or give rows, prefixes or colours",
                    method.name()
                ));
            }
        }))
    }

    /// Refuses options that do not belong to the method.
    fn check(&self, method: MethodName) -> Result<(), Failure> {
        let is_by_rows = matches!(method, MethodName::Rows | MethodName::Prefixes);
        let keeps_mirror_images = is_by_rows || method == MethodName::States;
        let strange = [
            ("--rows", self.rows.is_some() && !is_by_rows),
            ("--no-mirror", self.no_mirror && !keeps_mirror_images),
        ];
        match strange.into_iter().find(|(_, is_strange)| *is_strange) {
            Some((option, _)) => Err(method.refuses("no such choice", option)),
            None => Ok(()),
        }
    }
}

const MOST_THREADS: NonZero<usize> = NonZero::new(4096).unwrap();

/// Reads a number of counting threads.
pub(super) fn threads(text: &str) -> anyhow::Result<NonZero<usize>> {
    let threads = text.parse()?;
    ensure!(threads <= MOST_THREADS, "give at most {MOST_THREADS}");
    Ok(threads)
}

/// The threads of a count.
#[derive(Clone, Debug, Args)]
pub(super) struct ThreadsArgs {
    /// Counting threads [default: all processors]
    ///
    /// The processors that this process may use follow from affinity, quotas and Slurm's variables.
    #[arg(short = 't', long, value_name = "T", env = "QUEENS_THREADS", value_parser = threads)]
    threads: Option<NonZero<usize>>,
}

impl ThreadsArgs {
    pub(super) fn number(&self) -> NonZero<usize> {
        self.threads.unwrap_or_else(|| allowed_processors().min(MOST_THREADS))
    }
}

/// The threads and the backend of a count.
#[derive(Clone, Debug, Args)]
pub(super) struct CountingArgs {
    #[command(flatten)]
    pub(super) threads: ThreadsArgs,
    /// What counts: avx2, gpu, … [default: the fastest]
    ///
    /// A loop of the processor (reference, portable, neon, avx2 or avx512), or graphics processors
    /// (gpu, cuda or opencl; gpu:1 is the second one). `queens bench --list` shows the fastest
    /// last. Graphics processors count by default from N = 20 on.
    #[arg(long, value_name = "NAME", env = "QUEENS_BACKEND", value_parser = backend_choice)]
    pub(super) backend: Option<BackendChoice>,
}

impl CountingArgs {
    /// The loop of the processor.
    pub(super) fn backend(&self) -> Backend {
        match self.backend {
            Some(BackendChoice::Processor(backend)) => backend,
            Some(BackendChoice::Devices(_)) | None => Backend::detect(),
        }
    }

    /// The backend, after it has passed its self-test with these methods.
    pub(super) fn tested_backend(
        &self,
        methods: impl IntoIterator<Item = MethodChoice>,
    ) -> Result<Backend, Failure> {
        let backend = self.backend();
        count::self_test(backend, methods)?;
        Ok(backend)
    }

    /// The graphics processors that count, after they have passed their self-tests: those that were
    /// asked for, or all of them if no backend was named and the largest board, `most`, is large
    /// enough.
    pub(super) fn tested_devices(&self, most: u32) -> Result<Devices, Failure> {
        let (choice, are_required) = match self.backend {
            Some(BackendChoice::Processor(_)) => return Ok(Devices::default()),
            Some(BackendChoice::Devices(choice)) => (choice, true),
            None if most < executor::LEAST_WORTHWHILE => return Ok(Devices::default()),
            None => (DeviceChoice::ALL, false),
        };
        let found = match choice.find() {
            Ok(found) => found,
            Err(missing) if are_required => return Err(missing.into()),
            Err(_) => return Ok(Devices::default()),
        };
        let mut tested = Vec::new();
        for device in found {
            match device.self_test() {
                Ok(()) => tested.push(device),
                Err(DeviceSelfTestError::Failed(error)) if !are_required => {
                    tracing::warn!(%device, %error, "this device does not count");
                }
                Err(error) => return Err(error.into()),
            }
        }
        Ok(Devices::new(tested, are_required))
    }
}

#[derive(Clone, Copy, Debug)]
pub(super) enum BackendChoice {
    /// A loop of the processor.
    Processor(Backend),
    /// Graphics processors.
    Devices(DeviceChoice),
}

/// Reads the name of a backend: one that this processor has, or that of graphics processors.
pub(super) fn backend_choice(name: &str) -> anyhow::Result<BackendChoice> {
    if let Ok(choice) = name.parse() {
        return Ok(BackendChoice::Devices(choice));
    }
    let unknown = |error: UnknownBackend| anyhow!("{error}, or gpu, cuda or opencl");
    Ok(BackendChoice::Processor(name.parse::<Backend>().map_err(unknown)?.require()?))
}

/// Reads a share, as in 2% or 0.02, and returns it in millionths.
pub(super) fn share(text: &str) -> anyhow::Result<u32> {
    let share = match text.strip_suffix('%') {
        Some(percent) => percent.trim_end().parse::<f64>().map(|percent| percent / 100.0),
        None => text.parse(),
    };
    let share = share.ok().filter(|share| (0.0..=1.0).contains(share));
    let share = share.context("a share is between 0 and 1, as in 2% or 0.02")?;
    let ppm = (share * f64::from(AuditPolicy::ALL)).round() as u32;
    anyhow::ensure!(ppm > 0 || share == 0.0, "the least share above 0 is 0.0001%");
    Ok(ppm)
}

/// Reads the name of one of these values. The help has the names and what they mean.
pub(super) fn one_of<T: Clone + Send + Sync + 'static>(
    values: impl IntoIterator<Item = (&'static str, T, &'static str)>,
) -> impl TypedValueParser<Value = T> {
    let values: Vec<_> = values.into_iter().collect();
    let names = values.iter().map(|(name, _, help)| PossibleValue::new(*name).help(*help));
    PossibleValuesParser::new(names.collect::<Vec<_>>()).map(move |text| {
        let found = values.iter().find(|(name, ..)| *name == text);
        found.expect("it is a possible value").1.clone()
    })
}

/// Reads a name that every coordinator accepts.
pub(super) fn name(text: &str) -> anyhow::Result<String> {
    anyhow::ensure!(farm::is_name(text), farm::rule_of_names());
    Ok(text.into())
}

/// Reads between whom audits are: machines or owners.
pub(super) fn scope() -> impl TypedValueParser<Value = AuditScope> {
    let (machines, owners) = (AuditScope::Machines, AuditScope::Owners);
    one_of([
        (machines.name(), machines, "Between machines"),
        (owners.name(), owners, "Between owners"),
    ])
}

/// Reads a duration as in 90s or 1h30m, or in the notation of cluster schedulers: 00:50:00,
/// 1-12:00:00 with days, or 50:00.
pub(super) fn duration(text: &str) -> anyhow::Result<Duration> {
    match of_clock(text) {
        Some(seconds) => Ok(Duration::from_secs(seconds)),
        None => humantime::parse_duration(text)
            .map_err(|error| anyhow!("{error}; give it as in 90s, 1h30m or 00:50:00")),
    }
}

/// Reads a duration of more than nothing.
pub(super) fn positive_duration(text: &str) -> anyhow::Result<Duration> {
    let given = duration(text)?;
    ensure!(!given.is_zero(), "give more than 0s");
    Ok(given)
}

/// The seconds of a time in the notation of a clock.
fn of_clock(text: &str) -> Option<u64> {
    let number = |digits: &str| {
        let is_number = digits.bytes().all(|digit| digit.is_ascii_digit());
        digits.parse::<u64>().ok().filter(|_| is_number)
    };
    let (days, clock) = match text.split_once('-') {
        Some((days, clock)) => (Some(number(days)?), clock),
        None => (None, text),
    };
    let parts = clock.split(':').map(number).collect::<Option<Vec<u64>>>()?;
    let (hours, minutes, seconds) = match (days, parts.as_slice()) {
        (_, &[hours, minutes, seconds]) => (hours, minutes, seconds),
        (None, &[minutes, seconds]) => (0, minutes, seconds),
        (Some(_), &[hours, minutes]) => (hours, minutes, 0),
        (Some(_), &[hours]) => (hours, 0, 0),
        _ => return None,
    };
    let hours = days.unwrap_or(0).checked_mul(24)?.checked_add(hours)?;
    let minutes = hours.checked_mul(60)?.checked_add(minutes)?;
    minutes.checked_mul(60)?.checked_add(seconds)
}

/// Reads a duration in whole units of `unit_ms` milliseconds, rounded down. A bare number is a
/// number of units.
pub(super) fn in_units(
    unit_ms: u64,
    range: RangeInclusive<u64>,
) -> impl Fn(&str) -> anyhow::Result<u64> + Clone {
    move |text| {
        let shown = |units: u64| {
            humantime::format_duration(Duration::from_millis(units.saturating_mul(unit_ms)))
        };
        let units = match text.parse::<u64>() {
            Ok(units) => units,
            Err(_) => {
                let given = duration(text)?;
                let units = given.as_millis() / u128::from(unit_ms);
                // A duration of less than a unit is refused, so that it does not become 0.
                ensure!(units > 0 || given.is_zero(), "give {} or more", shown(1));
                u64::try_from(units).unwrap_or(u64::MAX)
            }
        };
        match (*range.start(), *range.end()) {
            (least, u64::MAX) => ensure!(units >= least, "give {} or more", shown(least)),
            (least, most) => ensure!(
                range.contains(&units),
                "give a duration from {} to {}",
                shown(least),
                shown(most)
            ),
        }
        Ok(units)
    }
}

/// Reads board sizes from the first to the last, as in `18..22`, or a single one.
pub(super) fn sizes(text: &str) -> anyhow::Result<RangeInclusive<u32>> {
    let (first, last) = text.split_once("..").unwrap_or((text, text));
    let (Ok(first), Ok(last)) = (first.parse::<u32>(), last.parse::<u32>()) else {
        bail!("give a size as in 12, or the first and the last as in 8..16");
    };
    ensure!(first <= last, "the first size is the smaller one, as in {last}..{first}");
    Ok(first..=last)
}

/// Reads sizes that a farm can count without given queens.
pub(super) fn sizes_of_boards(text: &str) -> anyhow::Result<RangeInclusive<u32>> {
    let sizes = sizes(text)?;
    ensure!(*sizes.end() <= MAX_N, "give sizes of at most {MAX_N}");
    Ok(sizes)
}

/// The most memory that the method `states` takes by default, in bytes.
pub(super) const STATES_MEMORY: u64 = 1 << 30;

/// Reads an upper bound of memory, and returns its bytes.
pub(super) fn memory(text: &str) -> anyhow::Result<u64> {
    let bytes = text.parse::<ByteSize>().ok().map(|size| size.as_u64());
    bytes.filter(|&bytes| bytes > 0).context("give a size above 0, as in 500MiB or 2GiB")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_is_read_as_people_and_schedulers_write_it() {
        let durations = [
            ("90s", 90),
            ("1h30m", 5_400),
            ("1h 30m", 5_400),
            ("00:50:00", 3_000),
            ("50:00", 3_000),
            ("90:00", 5_400),
            ("100:00:00", 360_000),
            ("1-00:00:00", 86_400),
            ("2-12", 216_000),
            ("2-12:30", 217_800),
        ];
        for (text, seconds) in durations {
            let found = duration(text).map_err(|error| error.to_string());
            assert_eq!(found, Ok(Duration::from_secs(seconds)), "{text}");
        }
        for wrong in
            ["90", "", "soon", ":", "1:", "-1:00", "1:2:3:4", "+1:00", "1-", "1--2", "1.5:00"]
        {
            let refused = duration(wrong).expect_err(wrong).to_string();
            assert!(refused.contains("00:50:00"), "{wrong}: {refused}");
        }
        assert!(
            duration("99999999999999999999:00").is_err()
                && duration("18446744073709551615-1").is_err()
        );
    }

    #[test]
    fn a_bare_number_is_of_the_units_that_the_option_names() {
        let of = |unit_ms, text| in_units(unit_ms, 1..=100_000)(text).ok();
        assert_eq!(
            (of(1, "90"), of(1, "90s"), of(1, "1:00")),
            (Some(90), Some(90_000), Some(60_000))
        );
        assert_eq!(
            (of(1_000, "90"), of(1_000, "1h"), of(1_000, "1ms")),
            (Some(90), Some(3_600), None)
        );
        for wrong in ["0", "0s", "2m", "x", "-1", "100001"] {
            assert_eq!(of(1, wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_share_is_a_percentage_or_a_part_of_one() {
        let shares = [
            ("5%", 50_000),
            ("2 %", 20_000),
            ("0.5%", 5_000),
            ("0.02", 20_000),
            ("100%", 1_000_000),
            ("0", 0),
        ];
        for (text, ppm) in shares {
            assert_eq!(share(text).ok(), Some(ppm), "{text}");
        }
        for wrong in ["", "%", "101%", "-1%", "1.5", "nan", "nan%", "inf%", "5%%", "a lot"] {
            assert!(share(wrong).is_err(), "{wrong}");
        }
        let refused = share("5").expect_err("it is no percentage").to_string();
        assert!(refused.contains("as in 2%"), "{refused}");
    }

    #[test]
    fn sizes_are_one_or_two_ends() {
        let sizes = sizes_of_boards;
        assert_eq!(sizes("8").expect("a size"), 8..=8);
        assert_eq!(sizes("8..16").expect("two sizes"), 8..=16);
        assert_eq!(sizes("0..32").expect("two sizes"), 0..=32);
        for wrong in ["", "..", "8..", "..8", "8-9", "8..9..10", "-1", "9..8", "8..33", "33"] {
            assert!(sizes(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn memory_is_said_as_a_size() {
        assert_eq!(memory("500MiB").ok(), Some(500 << 20));
        for wrong in ["", "much", "%", "0", "0KiB", "25%", "-5MiB"] {
            assert!(memory(wrong).is_err(), "{wrong}");
        }
    }
}
