//! A sample in a process of its own, so that its peak memory can be measured.
//!
//! The parent sends requests and the child answers, one JSON value a line, over the child's standard input
//! and output. The child ends when the parent does.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::time::Duration;

use anyhow::{Context, anyhow};
use board::{Method, Problem};
use clap::Args;
use count::Backend;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::args::{CountingArgs, CutArgs};
use crate::process::{memory_of, this_program};
use anyhow::Result;

use crate::print;
use crate::sample::{Counted, Sample};

/// A request of the parent.
#[derive(Clone, Copy, Serialize, Deserialize)]
enum Ask {
    /// Choose a sample that takes at least so many milliseconds, or the whole plan. Answer: [`Fitted`].
    Fit(u64),
    /// Count the sample. Answer: [`Counted`].
    Count,
    /// Count the sample of another backend, given by [`Fitted::wanted`]. Answer: its solutions.
    Solutions(u64),
}

/// Describes a sample.
#[derive(Clone, Copy, Serialize, Deserialize)]
pub(crate) struct Fitted {
    /// The seed that decides which tasks are drawn.
    pub(crate) wanted: u64,
    pub(crate) tasks: usize,
    /// The number of its tasks as a share of the plan, from 0 to 1.
    pub(crate) share: f64,
    /// The nodes of the plain recursion, for the method `rows`.
    pub(crate) plain_nodes: Option<u64>,
}

#[derive(Debug, Args)]
pub(crate) struct SampleArgs {
    n: u32,
    #[command(flatten)]
    cut: CutArgs,
    #[command(flatten)]
    counting: CountingArgs,
    /// Free the kernel's memory after each answer, because other processes need it
    #[arg(long)]
    rests: bool,
}

/// The child's end. It answers requests until its standard input ends.
pub(crate) fn serve(args: &SampleArgs) -> Result<()> {
    let problem = Problem::Total { n: args.n };
    let method = args.cut.method(problem)?;
    let (backend, memory) = (args.counting.backend(), args.counting.memory());
    let mut sample = Sample::new(args.n, method, backend, memory)?;
    for line in std::io::stdin().lock().lines() {
        let line = line.context("cannot read from the parent")?;
        let answer = match serde_json::from_str(&line)? {
            Ask::Fit(least_ms) => {
                sample.fit(Duration::from_millis(least_ms))?;
                json(Fitted {
                    wanted: sample.wanted(),
                    tasks: sample.tasks().len(),
                    share: sample.share(),
                    plain_nodes: sample.plain_nodes().filter(|_| backend == Backend::Reference),
                })
            }
            Ask::Count => json(sample.count()?),
            Ask::Solutions(wanted) => {
                let own = sample.wanted();
                sample.choose(wanted);
                let solutions = sample.count()?.solutions;
                sample.choose(own);
                json(solutions)
            }
        }?;
        // The memory is freed before the answer, so that it is free for the next process.
        if args.rests {
            sample.rest();
        }
        print(answer)?;
    }
    Ok(())
}

fn json(value: impl Serialize) -> Result<String> {
    Ok(serde_json::to_string(&value)?)
}

/// The parent's end. The child ends with it.
pub(crate) struct SampleProcess {
    child: Child,
    asks: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl SampleProcess {
    /// Starts a child whose kernel may take `memory` bytes. If it `rests`, it frees them after each answer.
    pub(crate) fn start(
        n: u32,
        method: Method,
        backend: Backend,
        memory: u64,
        rests: bool,
    ) -> Result<SampleProcess> {
        let mut command = this_program()?;
        command.args(["sample", &n.to_string(), "--method", method.name()]);
        if let Some((_, value)) = method.parameter() {
            command.args(["--parameter", &value.to_string()]);
        }
        command.args(["--backend", backend.name(), "--memory", &memory.to_string()]);
        command.args(rests.then_some("--rests"));
        let child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
        let mut child = child.context("a process of this program cannot be started")?;
        let asks = child.stdin.take().expect("it is piped");
        let answers = BufReader::new(child.stdout.take().expect("it is piped"));
        Ok(SampleProcess { child, asks, answers })
    }

    /// Chooses a sample that takes `least_ms` milliseconds or longer, or the whole plan.
    pub(crate) fn fit(&mut self, least_ms: u64) -> Result<Fitted> {
        self.ask(Ask::Fit(least_ms))
    }

    /// Counts the sample once.
    pub(crate) fn count(&mut self) -> Result<Counted> {
        self.ask(Ask::Count)
    }

    /// Counts another backend's sample of the same plan. Returns its solutions.
    pub(crate) fn solutions_of(&mut self, other: &Fitted) -> Result<u64> {
        self.ask(Ask::Solutions(other.wanted))
    }

    /// Peak of the resident memory, in MiB; `None` if the system does not tell.
    pub(crate) fn peak_mib(&self) -> Option<f64> {
        memory_of(self.child.id(), "VmHWM:")
    }

    fn ask<T: DeserializeOwned>(&mut self, ask: Ask) -> Result<T> {
        let mut line = json(ask)?;
        line.push('\n');
        self.asks.write_all(line.as_bytes()).context("a measuring process is gone")?;
        line.clear();
        self.answers.read_line(&mut line).context("a measuring process is gone")?;
        let answer = serde_json::from_str(&line);
        answer.map_err(|_| anyhow!("a measuring process answered {line:?}"))
    }
}

impl Drop for SampleProcess {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
