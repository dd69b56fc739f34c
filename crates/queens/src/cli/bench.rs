//! `queens bench`: which counting loops and devices this machine has, and how fast they are.

use std::num::NonZero;
use std::time::Duration;

use board::ring::suggested_width;
use board::rows::suggested_rows;
use board::{Cut, Method, Problem};
use bytesize::ByteSize;
use clap::Args;
use count::Backend;
use executor::{Device, DeviceSample, Effort, fit};
use farm::Plan;
use serde_json::json;

use super::args::{BackendChoice, backend_choice, in_units};
use crate::failure::Failure;
use crate::memory::MemoryBound;
use crate::output;
use crate::progress::{clock, si};

#[derive(Debug, Args)]
pub(super) struct BenchArgs {
    /// Board size, 8 to 27
    #[arg(long, value_name = "N", default_value_t = 16,
          value_parser = clap::value_parser!(u32).range(8..=27))]
    n: u32,
    /// Counting loops to measure, or graphics processors, as in avx2,gpu [default: all that this machine has]
    #[arg(long, value_name = "NAME", value_delimiter = ',', value_parser = backend_choice)]
    backend: Vec<BackendChoice>,
    /// How long each of them counts, at least; a bare number is milliseconds
    #[arg(long, value_name = "DURATION", default_value = "300ms", value_parser = in_units(1, 1..=600_000))]
    sample_ms: u64,
    /// The most memory that one of them may take, as in 500MiB or 2GiB, or as in 25% of what this process may
    /// use
    #[arg(long, value_name = "SIZE", env = "QUEENS_MEMORY", default_value = MemoryBound::HALF)]
    memory: MemoryBound,
    /// The most memory to take of each graphics processor, as in 4GiB [default: nine tenths of it]
    #[arg(long, value_name = "SIZE", env = "QUEENS_DEVICE_MEMORY")]
    device_memory: Option<ByteSize>,
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
        return devices.iter().try_for_each(|device| output::print(described(device)));
    }
    let n = args.n;
    let methods = [
        Method::Rows { rows: suggested_rows(n) },
        Method::Ring { width: suggested_width(n) },
        Method::Halves,
    ];
    if !args.json {
        output::print(format!(
            "N = {n}, one thread, or one device; the whole board is estimated from a sample, which is too short where no \
             number stands: give more --sample-ms"
        ))?;
        output::print("backend    method           solutions/s  whole board")?;
    }
    for backend in backends {
        for method in methods {
            output::print(line(args, backend, method)?)?;
        }
    }
    devices.iter().try_for_each(|device| output::print(line_of_device(args, device)?))
}

/// A device's name for `--backend`, and what it is.
fn described(device: &Device) -> String {
    let Device { version, memory, .. } = device;
    format!("{device}, {version}, {}", ByteSize(*memory).display().iec())
}

/// Measures one device on a sample. Returns a line of the table.
fn line_of_device(args: &BenchArgs, device: &Device) -> Result<String, Failure> {
    device.self_test()?;
    let memory = args.device_memory.map_or(device.memory / 10 * 9, |size| size.as_u64());
    let time = Duration::from_millis(args.sample_ms);
    let sample = DeviceSample::new(device, args.n, memory, time)?;
    let DeviceSample { solutions, tasks, share, seconds, lanes, kernels, lanes_of_kernels } =
        sample;
    let rate = solutions as f64 / seconds;
    let name = format!("{}:{}", device.driver.name(), device.index);
    if args.json {
        let kernels: serde_json::Map<String, serde_json::Value> =
            kernels.iter().map(|(name, seconds)| ((*name).into(), (*seconds).into())).collect();
        let object = json!({
            "n": args.n,
            "backend": name,
            "method": Method::Halves.name(),
            "device": device.name,
            "driver": device.version,
            "multiprocessors": device.units,
            "solutions_per_second": rate,
            "board_seconds": seconds / share,
            "tasks_counted": tasks,
            "lanes_per_solution": lanes as f64 / solutions as f64,
            "kernel_seconds": kernels,
            "kernel_lanes": lanes_of_kernels.to_string(),
        });
        return Ok(object.to_string());
    }
    Ok(row(&name, &Method::Halves.to_string(), Some(rate), Some(seconds / share)))
}

/// A line of the table, with a dash for what too short a sample does not tell.
fn row(name: &str, method: &str, rate: Option<f64>, board_seconds: Option<f64>) -> String {
    let board = match board_seconds {
        Some(seconds) if seconds < 10.0 => format!("{seconds:.3} s"),
        Some(seconds) => clock(seconds),
        None => "-".into(),
    };
    let rate = rate.map_or("-".into(), si);
    format!("{name:<9}  {method:<15}  {rate:>11}  {board:>11}")
}

/// Measures one backend and method on a sample. Returns a line of the table.
fn line(args: &BenchArgs, backend: Backend, method: Method) -> Result<String, Failure> {
    let problem = Problem::Total { n: args.n };
    let cut = Cut::new(problem, method)?;
    let plan = Plan { problem, method, tasks: cut.len() };
    let memory = fit(plan, NonZero::<usize>::MIN, args.memory.bytes())?.bytes;
    let time = Duration::from_millis(args.sample_ms);
    let effort = Effort { plan, backend, threads: 1, memory, time, seed: 1 };
    let estimated = effort.estimate(cut).map_err(anyhow::Error::from)?;
    let board_seconds = estimated.map(|it| it.core_seconds.value);
    let solutions = estimated.and_then(|it| it.total).map(|total| total.value);
    let rate = solutions.zip(board_seconds).map(|(solutions, seconds)| solutions / seconds);
    if args.json {
        let object = json!({
            "n": args.n,
            "backend": backend.name(),
            "method": method.name(),
            "solutions_per_second": rate,
            "board_seconds": board_seconds,
        });
        return Ok(object.to_string());
    }
    Ok(row(backend.name(), &method.to_string(), rate, board_seconds))
}
