//! Logs: to standard error, for people or for machines.

use std::io::{self, Write};

use clap::Args;
use console::Term;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{Layer, fmt, registry};

use super::arguments::LOGS;
use crate::progress::{LOG_TARGET, erase};
use crate::terminal::is_coloured;

#[derive(Debug, Args)]
#[command(next_help_heading = LOGS)]
pub(super) struct LogArgs {
    /// How log lines look: for people, or an object each
    #[arg(long, global = true, value_name = "FORMAT", default_value = "text",
          value_parser = ["text", "json"], env = "QUEENS_LOG_FORMAT")]
    log_format: String,
    /// What is logged: error, warn, info, debug or trace, also by module [default: info for
    /// servers, warn for everything else]
    #[arg(long, global = true, value_name = "FILTER", env = "QUEENS_LOG", value_parser = filter)]
    log: Option<Targets>,
    /// Log more: -v for info, -vv for debug
    #[arg(short = 'v', long, global = true, action = clap::ArgAction::Count, conflicts_with = "log")]
    verbose: u8,
}

/// Reads a filter. A word alone is a level, so that a mistyped one is not taken for the name of a
/// module.
fn filter(text: &str) -> anyhow::Result<Targets> {
    for part in text.split(',') {
        let level = part.rsplit_once('=').map_or(part, |(_, level)| level);
        anyhow::ensure!(
            level.parse::<LevelFilter>().is_ok(),
            "'{level}' is no level: give off, error, warn, info, debug or trace, or one for a module, as in farm=debug"
        );
    }
    Ok(text.parse()?)
}

impl LogArgs {
    /// Whether each line of standard error is to be an object.
    pub(super) fn is_json(&self) -> bool {
        self.log_format == "json"
    }

    pub(super) fn start(&self, serves: bool) {
        let usual = match self.verbose {
            0 if serves => LevelFilter::INFO,
            0 => LevelFilter::WARN,
            1 => LevelFilter::INFO,
            _ => LevelFilter::DEBUG,
        };
        let usual = Targets::new()
            .with_default(usual)
            .with_target(LOG_TARGET, usual.max(LevelFilter::INFO));
        let filter = self.log.clone().unwrap_or(usual);
        let log = fmt::layer().with_writer(|| OneLine).log_internal_errors(false);
        if self.is_json() {
            registry().with(log.json().flatten_event(true).with_filter(filter)).init();
        } else {
            let log = log.with_ansi(is_coloured(&Term::stderr())).with_target(false);
            registry().with(log.with_filter(filter)).init();
        }
    }
}

/// Writes each event to standard error as one line. The values of an event may have ends of lines
/// and other hidden characters, but no escapes any more: those that are left are its colours.
struct OneLine;

impl Write for OneLine {
    fn write(&mut self, event: &[u8]) -> io::Result<usize> {
        let text = String::from_utf8_lossy(event);
        let parts: Vec<String> = text.trim_end().split('\x1b').map(farm::visible).collect();
        // A line takes the place of the bar, which is drawn again below it.
        erase();
        io::stderr().write_all(format!("{}\n", parts.join("\x1b")).as_bytes())?;
        Ok(event.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
