//! `queens bench`: which counting loops and devices this machine has, and how fast they are.

use std::num::NonZero;
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
    /// Board size, 8 to 27
    #[arg(long, value_name = "N", default_value_t = 16,
          value_parser = clap::value_parser!(u32).range(8..=27))]
    n: u32,
    /// Counting loops to measure, or graphics processors, as in avx2,gpu [default: all that this machine has]
    #[arg(long, value_name = "NAME", value_delimiter = ',', value_parser = backend_choice)]
    backend: Vec<BackendChoice>,
    /// How long each of five samples takes, at least; in milliseconds, or with a unit as in 5s
    #[arg(long, value_name = "MS", default_value = "300ms", value_parser = in_units(1, 1..=600_000))]
    sample_ms: u64,
    /// Counting threads of a loop that are measured at a time; a rate is of one of them
    #[arg(short = 't', long, value_name = "T", default_value = "1", env = "QUEENS_THREADS",
          value_parser = threads)]
    threads: NonZero<usize>,
    /// Only show the names of the counting loops that this processor has, slowest first, and of graphics processors
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
    if args.backend.is_empty() {
        backends = Backend::available().collect();
        // The processor itself is measured by its own loops.
        devices = Device::all();
        devices.retain(|device| args.list || !device.is_processor);
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
    let rate = |it: &Contender| it.spread(|sample| sample.0).map_or(0.0, |[_, median, _]| median);
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

/// The number of samples of each contender, which are taken in turns.
const SAMPLES: u64 = 5;

/// A loop or a device, and its samples.
struct Contender {
    what: What,
    method: Method,
    name: String,
    /// Whether `queens count` takes it, without graphics processors.
    is_default: bool,
    /// Solutions per second and the seconds of the whole board, for each sample that was long enough.
    samples: Vec<(f64, f64)>,
    /// Other results for a graphics processor.
    device: Value,
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
        let methods = [MethodChoice::Rows { rows: None }, MethodChoice::Colours];
        let methods = methods.map(|choice| choice.for_problem(problem));
        let usual = (Backend::detect(), MethodChoice::suggested(problem).for_problem(problem));
        let mut contenders = Vec::new();
        let mut add = |what, method, name, is_default| {
            let (samples, device) = (Vec::new(), Value::Null);
            contenders.push(Contender { what, method, name, is_default, samples, device });
        };
        for backend in loops {
            for method in methods {
                let is_default = (backend, method) == usual;
                add(What::Loop(backend), method, backend.name().to_string(), is_default);
            }
        }
        for device in devices {
            device.self_test()?;
            let name = format!("{}:{}", device.driver.name(), device.index);
            add(What::Device(device), Method::Colours, name, false);
        }
        Ok(contenders)
    }
}

impl Contender {
    fn sample(&mut self, args: &BenchArgs) -> Result<(), Failure> {
        let time = Duration::from_millis(args.sample_ms);
        let device = match &self.what {
            What::Loop(backend) => {
                self.samples.extend(sample_of_loop(args, *backend, self.method, time)?);
                return Ok(());
            }
            What::Device(device) => device,
        };
        if let Some(lack) = device.lacks(args.n) {
            return usage(format!("{lack}: give a smaller --n"));
        }
        let DeviceSample { solutions, tasks, share, seconds, placements_per_second } =
            DeviceSample::new(device, args.n, time)?;
        self.samples.push((solutions / seconds, seconds / share));
        self.device = json!({
            "name": device.name,
            "driver": device.version,
            "multiprocessors": device.units,
            "clock_mhz": device.clock_mhz,
            "tasks_counted": tasks,
            "placements_per_second": placements_per_second,
        });
        Ok(())
    }

    /// The least, the median and the most of what the samples say.
    fn spread(&self, of: impl Fn(&(f64, f64)) -> f64) -> Option<[f64; 3]> {
        let mut values: Vec<f64> = self.samples.iter().map(of).collect();
        values.sort_by(f64::total_cmp);
        Some([*values.first()?, values[values.len() / 2], *values.last()?])
    }

    fn json(&self, args: &BenchArgs) -> Value {
        let rate = self.spread(|sample| sample.0);
        let threads = if let What::Loop(_) = self.what { args.threads.get() } else { 1 };
        json!({
            "n": args.n,
            "threads": threads,
            "backend": self.name,
            "method": self.method.name(),
            "default": self.is_default,
            "samples": self.samples.len(),
            "solutions_per_second": rate.map(|[_, median, _]| median),
            "slowest_per_second": rate.map(|[slowest, ..]| slowest),
            "fastest_per_second": rate.map(|[.., fastest]| fastest),
            "board_seconds": self.spread(|sample| sample.1).map(|[_, median, _]| median),
            "device": self.device,
        })
    }

    /// A line of the table, with dashes if all samples were too short.
    fn row(&self) -> String {
        let board = match self.spread(|sample| sample.1) {
            Some([_, seconds, _]) if seconds < 10.0 => format!("{seconds:.3} s"),
            Some([_, seconds, _]) => clock(seconds),
            None => dash(),
        };
        let rate = self.spread(|sample| sample.0);
        let median = rate.map_or_else(dash, |[_, median, _]| si(median));
        let range =
            rate.map_or_else(dash, |[slow, _, fast]| format!("{} to {}", si(slow), si(fast)));
        let mark = if self.is_default { "  default" } else { "" };
        let (name, method) = (&self.name, self.method.to_string());
        format!("{name:<9}  {method:<15}  {median:>11}  {range:>16}  {board:>11}{mark}")
    }
}

impl Contender {
    /// A second line for a graphics processor: what it searches, as far as a card's speed depends on it.
    fn device_row(&self) -> Option<String> {
        let number = |field: &str| self.device.get(field)?.as_f64();
        let placements = number("placements_per_second")?;
        let (units, clock) = (number("multiprocessors")?, number("clock_mhz")?);
        // A processor's driver may not know its clock.
        let each = if clock > 0.0 {
            format!(", {:.2} a clock and multiprocessor", placements / clock / 1e6 / units)
        } else {
            String::new()
        };
        let placements = si(placements);
        Some(format!(
            "           {placements} placements/s by {units} multiprocessors of {clock} MHz{each}"
        ))
    }
}

/// Measures one loop and method on a sample. Returns solutions per second and the seconds of the whole board.
fn sample_of_loop(
    args: &BenchArgs,
    backend: Backend,
    method: Method,
    time: Duration,
) -> Result<Option<(f64, f64)>, Failure> {
    let problem = Problem::Total { n: args.n };
    let index = PlanIndex::new(problem, method)?;
    let plan = Plan { problem, method, tasks: index.len() };
    let effort = Effort { plan, backend, threads: args.threads.get(), time, seed: 1 };
    let estimated = effort.estimate(index).map_err(anyhow::Error::from)?;
    Ok(estimated.and_then(|it| {
        let seconds = it.core_seconds.value;
        Some((it.total?.value / seconds, seconds))
    }))
}
