//! `queens bench`: which counting loops and devices this machine has, and how fast they are.

use std::num::NonZero;
use std::sync::mpsc;
use std::time::Duration;

use board::{Method, MethodChoice, PlanIndex, Problem};
use bytesize::ByteSize;
use clap::Args;
use count::Backend;
use executor::{Device, DeviceSample, Effort};
use farm::Plan;
use serde_json::{Value, json};

use super::options::{BackendChoice, backend_choice, in_units, threads};
use crate::failure::{Failure, usage};
use crate::output;
use crate::progress::{clock, si, while_time_passes};
use crate::table::dash;

#[derive(Debug, Args)]
pub(super) struct BenchArgs {
    /// Board size, 8 to 32
    #[arg(long, value_name = "N", default_value_t = 16,
          value_parser = clap::value_parser!(u32).range(8..=32))]
    n: u32,
    /// Counting loops to measure, or graphics processors, as in avx2,gpu [default: all that this
    /// machine has]
    #[arg(long, value_name = "NAME", value_delimiter = ',', value_parser = backend_choice)]
    backend: Vec<BackendChoice>,
    /// How long each of five samples takes, at least; in milliseconds, or with a unit as in 5s
    #[arg(long, value_name = "MS", default_value = "300ms", value_parser = in_units(1, 1..=600_000))]
    sample_ms: u64,
    /// Counting threads of a loop that are measured at a time; a rate is of one of them
    ///
    /// Several numbers, as in 1,2,4, print a table of how the fastest loop, or the one that is
    /// named, scales.
    #[arg(short = 't', long, value_name = "T", default_value = "1", env = "QUEENS_THREADS",
          value_delimiter = ',', value_parser = threads)]
    threads: Vec<NonZero<usize>>,
    /// Only show the names of the counting loops that this processor has, slowest first, and of
    /// graphics processors
    #[arg(long)]
    list: bool,
    /// Print one JSON object a line
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &BenchArgs) -> Result<(), Failure> {
    let (mut backends, mut devices) = (Vec::new(), Vec::new());
    for choice in &args.backend {
        match choice {
            BackendChoice::Processor(backend) => backends.push(*backend),
            BackendChoice::Devices(choice) => devices.extend(choice.find()?),
        }
    }
    let scales = args.threads.len() > 1;
    if args.backend.is_empty() && scales && !args.list {
        backends.push(Backend::detect());
    } else if args.backend.is_empty() {
        backends = Backend::available().collect();
        // A device that is the processor itself is left out, because the loops measure the
        // processor.
        devices = Device::all();
        devices.retain(|device| args.list || !device.is_processor);
    }
    if scales && !devices.is_empty() {
        return usage("several numbers of --threads measure loops: name no graphics processor");
    }
    if args.list {
        backends.iter().try_for_each(output::print)?;
        return devices.iter().try_for_each(|device| {
            let memory = ByteSize(device.memory).display().iec();
            let largest = *device.boards().end();
            output::print(format_args!("{device}, {}, {memory}, N to {largest}", device.version))
        });
    }
    let mut contenders = args.contenders(backends, devices)?;
    let seconds = args.sample_ms * SAMPLES * contenders.len() as u64 / 1_000;
    let measured = while_time_passes(true, "bench", Duration::from_secs(seconds), || {
        (0..SAMPLES).try_for_each(|_| {
            contenders.iter_mut().try_for_each(|contender| contender.sample(args))
        })
    });
    measured?;
    if args.json {
        return contenders.iter().try_for_each(|contender| output::print(contender.json(args)));
    }
    if scales {
        return print_scaling(args, &contenders);
    }
    let rate = |it: &Contender| it.median(|sample| sample.rate).unwrap_or(0.0);
    contenders.sort_by(|one, other| rate(other).total_cmp(&rate(one)));
    output::print(format!(
        "N = {}, one thread, or one device: the median of {SAMPLES} samples, and the slowest and the fastest; \
         lines without numbers need more --sample-ms\n\
         backend    method           solutions/s           samples  whole board",
        args.n
    ))?;
    contenders.iter().try_for_each(|contender| {
        output::print(contender.row())?;
        contender.device_row().map_or(Ok(()), output::print)
    })
}

/// Prints how the rate of all threads together grows with their number.
fn print_scaling(args: &BenchArgs, contenders: &[Contender]) -> Result<(), Failure> {
    output::print(format!(
        "N = {}: the median of {SAMPLES} samples; lines without numbers need more --sample-ms\n\
         backend    method      threads  solutions/s  times the first     MHz  whole board",
        args.n
    ))?;
    let all = |it: &Contender| Some(it.median(|sample| sample.rate)? * it.threads.get() as f64);
    let is_same =
        |one: &Contender, other: &Contender| (&one.name, one.method) == (&other.name, other.method);
    for contender in contenders {
        let first = contenders.iter().find(|first| is_same(first, contender)).and_then(all);
        let (rate, times) = (all(contender), all(contender).zip(first));
        let seconds = contender.median(|sample| sample.board_seconds);
        let seconds = seconds.map(|seconds| seconds / contender.threads.get() as f64);
        output::print(format!(
            "{:<9}  {:<10}  {:>7}  {:>11}  {:>15}  {:>6}  {:>11}",
            contender.name,
            contender.method.to_string(),
            contender.threads,
            rate.map_or_else(dash, si),
            times.map_or_else(dash, |(rate, first)| format!("{:.2}", rate / first)),
            contender.clock_mhz().map_or_else(dash, |mhz| format!("{mhz:.0}")),
            seconds.map_or_else(dash, board_time),
        ))?;
    }
    Ok(())
}

/// The number of samples of each contender, which are taken in turns.
const SAMPLES: u64 = 5;

/// A loop or a device, and its samples.
struct Contender {
    what: What,
    method: Method,
    name: String,
    /// The threads that are measured at a time; 1 for a device.
    threads: NonZero<usize>,
    /// Whether `queens count` uses it by default on a machine without graphics processors.
    is_default: bool,
    /// The samples that were long enough.
    samples: Vec<Measurement>,
    /// Other results for a graphics processor.
    device: Value,
}

/// The result of a sample of one thread, or of a device.
#[derive(Clone, Copy)]
struct Measurement {
    /// Solutions per second.
    rate: f64,
    /// The seconds of the whole board.
    board_seconds: f64,
    /// The clock of the processors that counted, in MHz; 0 if the system does not tell.
    clock_mhz: f64,
}

enum What {
    Loop(Backend),
    Device(Device),
}

impl BenchArgs {
    fn contenders(
        &self,
        loops: Vec<Backend>,
        devices: Vec<Device>,
    ) -> Result<Vec<Contender>, Failure> {
        let problem = Problem::Total { n: self.n };
        let suggested = MethodChoice::suggested(problem).for_problem(problem);
        let rows = MethodChoice::Rows { rows: None }.for_problem(problem);
        let colours = MethodChoice::Colours.for_problem(problem);
        let methods = if self.threads.len() > 1 { vec![suggested] } else { vec![rows, colours] };
        let usual = (Backend::detect(), suggested);
        let mut contenders = Vec::new();
        let mut add = |what, method, name, threads, is_default| {
            let (samples, device) = (Vec::new(), Value::Null);
            contenders.push(Contender { what, method, name, threads, is_default, samples, device });
        };
        for backend in loops {
            for &method in &methods {
                for &threads in &self.threads {
                    let is_default = (backend, method) == usual;
                    let name = backend.name().to_string();
                    add(What::Loop(backend), method, name, threads, is_default);
                }
            }
        }
        for device in devices {
            device.self_test()?;
            let name = format!("{}:{}", device.driver.name(), device.index);
            add(What::Device(device), Method::Colours, name, NonZero::<usize>::MIN, false);
        }
        Ok(contenders)
    }
}

impl Contender {
    fn sample(&mut self, args: &BenchArgs) -> Result<(), Failure> {
        let time = Duration::from_millis(args.sample_ms);
        let device = match &self.what {
            What::Loop(backend) => {
                let sample = sample_of_loop(args.n, *backend, self.method, self.threads, time)?;
                self.samples.extend(sample);
                return Ok(());
            }
            What::Device(device) => device,
        };
        if let Some(lack) = device.lacks(args.n) {
            return usage(format!("{lack}: give a smaller --n"));
        }
        let DeviceSample { solutions, tasks, share, seconds, placements_per_second } =
            DeviceSample::new(device, args.n, time)?;
        let (rate, board_seconds) = (solutions / seconds, seconds / share);
        let clock_mhz = device.clock_mhz.into();
        self.samples.push(Measurement { rate, board_seconds, clock_mhz });
        self.device = json!({
            "name": device.name,
            "driver": device.version,
            "multiprocessors": device.units,
            "tasks_counted": tasks,
            "placements_per_second": placements_per_second,
        });
        Ok(())
    }

    /// The least, the median and the greatest of a value of the samples.
    fn spread(&self, of: impl Fn(&Measurement) -> f64) -> Option<[f64; 3]> {
        let mut values: Vec<f64> = self.samples.iter().map(of).collect();
        values.sort_by(f64::total_cmp);
        Some([*values.first()?, values[values.len() / 2], *values.last()?])
    }

    fn median(&self, of: impl Fn(&Measurement) -> f64) -> Option<f64> {
        self.spread(of).map(|[_, median, _]| median)
    }

    /// The clock, if the system tells it.
    fn clock_mhz(&self) -> Option<f64> {
        self.median(|sample| sample.clock_mhz).filter(|&mhz| mhz > 0.0)
    }

    fn json(&self, args: &BenchArgs) -> Value {
        let rate = self.spread(|sample| sample.rate);
        json!({
            "n": args.n,
            "threads": self.threads,
            "backend": self.name,
            "method": self.method.name(),
            "default": self.is_default,
            "samples": self.samples.len(),
            "solutions_per_second": rate.map(|[_, median, _]| median),
            "slowest_per_second": rate.map(|[slowest, ..]| slowest),
            "fastest_per_second": rate.map(|[.., fastest]| fastest),
            "board_seconds": self.median(|sample| sample.board_seconds),
            "clock_mhz": self.clock_mhz(),
            "device": self.device,
        })
    }

    /// A line of the table, with dashes if all samples were too short.
    fn row(&self) -> String {
        let board = self.median(|sample| sample.board_seconds).map_or_else(dash, board_time);
        let rate = self.spread(|sample| sample.rate);
        let median = rate.map_or_else(dash, |[_, median, _]| si(median));
        let range =
            rate.map_or_else(dash, |[slow, _, fast]| format!("{} to {}", si(slow), si(fast)));
        let mark = if self.is_default { "  default" } else { "" };
        let (name, method) = (&self.name, self.method.to_string());
        format!("{name:<9}  {method:<15}  {median:>11}  {range:>16}  {board:>11}{mark}")
    }
}

/// The time of a whole board.
fn board_time(seconds: f64) -> String {
    if seconds < 10.0 { format!("{seconds:.3} s") } else { clock(seconds) }
}

impl Contender {
    /// A second line for a graphics processor: the placements of single colours that it finds per
    /// second, and what that is for each multiprocessor and clock, by which cards can be compared.
    fn device_row(&self) -> Option<String> {
        let number = |field: &str| self.device.get(field)?.as_f64();
        let (placements, units) = (number("placements_per_second")?, number("multiprocessors")?);
        // A processor's driver may not know its clock.
        let clock = self.clock_mhz().map_or_else(String::new, |mhz| {
            let each = placements / mhz / 1e6 / units;
            format!(" of {mhz} MHz, {each:.2} a clock and multiprocessor")
        });
        let placements = si(placements);
        Some(format!("           {placements} placements/s by {units} multiprocessors{clock}"))
    }
}

/// Measures one loop and method on a sample.
fn sample_of_loop(
    n: u32,
    backend: Backend,
    method: Method,
    threads: NonZero<usize>,
    time: Duration,
) -> Result<Option<Measurement>, Failure> {
    let problem = Problem::Total { n };
    let index = PlanIndex::new(problem, method)?;
    let plan = Plan { problem, method, tasks: index.len() };
    let effort = Effort { plan, backend, threads, time, seed: 1 };
    let (estimated, clock_mhz) = std::thread::scope(|scope| {
        let (ends, ended) = mpsc::channel::<()>();
        // The clock is read in the middle of the sample, or at its end if the sample is shorter
        // than expected.
        let clock = scope.spawn(move || {
            let _ = ended.recv_timeout(time / 2);
            executor::clock_mhz(threads.get())
        });
        let estimated = effort.estimate(index);
        drop(ends);
        (estimated, clock.join().expect("it does not panic"))
    });
    let estimated = estimated.map_err(anyhow::Error::from)?;
    Ok(estimated.and_then(|it| {
        let board_seconds = it.core_seconds.value;
        Some(Measurement { rate: it.total?.value / board_seconds, board_seconds, clock_mhz })
    }))
}
