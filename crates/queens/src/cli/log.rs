//! Logs: to standard error, for people or for machines.

use std::io::IsTerminal;

use clap::{Args, ValueEnum};
use tracing_subscriber::EnvFilter;

#[derive(Debug, Args)]
#[command(next_help_heading = "Logs")]
pub(super) struct LogArgs {
    /// How log lines look
    #[arg(long, global = true, value_enum, default_value_t, env = "QUEENS_LOG_FORMAT")]
    log_format: LogFormat,
    /// What is logged: error, warn, info, debug or trace, also by module [default: info for
    /// servers, warn for everything else]
    #[arg(long, global = true, value_name = "FILTER", env = "QUEENS_LOG")]
    log: Option<EnvFilter>,
}

#[derive(Clone, Copy, Debug, Default, ValueEnum)]
enum LogFormat {
    /// One line for people
    #[default]
    Text,
    /// One JSON object a line
    Json,
}

impl LogArgs {
    pub(super) fn start(&self, serves: bool) {
        let filter = self.log.clone();
        let filter = filter.unwrap_or_else(|| EnvFilter::new(if serves { "info" } else { "warn" }));
        let log = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
        let plain = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        match self.log_format {
            LogFormat::Text => {
                log.with_ansi(!plain && std::io::stderr().is_terminal()).with_target(false).init();
            }
            LogFormat::Json => log.json().flatten_event(true).init(),
        }
    }
}
