//! Tests of the command line: its output and exit codes, its refusals, and the advice in them.

#[path = "../support/mod.rs"]
mod support;

mod access;
mod advice;
mod arguments;
mod attackers;
mod backups;
mod bench;
mod devices;
mod draw;
mod ends;
mod farm_commands;
mod following;
mod jobs;
mod json_page;
mod ledgers;
mod list;
mod literature;
mod local_methods;
mod metrics;
mod owners;
mod peers;
mod placements;
mod problems;
mod releases;
mod shards;
mod stopping;
mod suspended;
mod tls;
mod transcripts;
mod trust;
mod waiting;

/// Tests that need more than the program: modes and links of files, signals that can be ignored,
/// shells, devices and tools of Linux.
#[cfg(target_os = "linux")]
#[path = "."]
mod linux {
    mod autoscale;
    mod disk;
    mod documentation;
    mod draining;
    mod frozen;
    mod health;
    mod machine_limits;
    mod output;
    mod secrets;
    mod stranger;
    mod terminals;
    mod widths;
}

/// Reads one JSON object.
#[track_caller]
fn object(text: &str) -> serde_json::Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}
