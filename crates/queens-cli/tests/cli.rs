//! Tests of the command line: its output and exit codes, its refusals, and the advice in them.

#[path = "support/mod.rs"]
mod support;

#[path = "cli/access.rs"]
mod access;
#[path = "cli/arguments.rs"]
mod arguments;
#[path = "cli/attackers.rs"]
mod attackers;
#[path = "cli/backups.rs"]
mod backups;
#[path = "cli/bundles.rs"]
mod bundles;
#[path = "cli/compare.rs"]
mod compare;
#[path = "cli/devices.rs"]
mod devices;
#[path = "cli/draw.rs"]
mod draw;
#[path = "cli/failed_tasks.rs"]
mod failed_tasks;
#[path = "cli/farm_commands.rs"]
mod farm_commands;
#[path = "cli/following.rs"]
mod following;
#[path = "cli/jobs.rs"]
mod jobs;
#[path = "cli/json_page.rs"]
mod json_page;
#[path = "cli/ledgers.rs"]
mod ledgers;
#[path = "cli/list.rs"]
mod list;
#[path = "cli/local_methods.rs"]
mod local_methods;
#[path = "cli/memory.rs"]
mod memory;
#[path = "cli/metrics.rs"]
mod metrics;
#[path = "cli/nodes.rs"]
mod nodes;
#[path = "cli/older_copies.rs"]
mod older_copies;
#[path = "cli/owners.rs"]
mod owners;
#[path = "cli/peers.rs"]
mod peers;
#[path = "cli/placements.rs"]
mod placements;
#[path = "cli/problems.rs"]
mod problems;
#[path = "cli/progress.rs"]
mod progress;
#[path = "cli/removal.rs"]
mod removal;
#[path = "cli/reproduce.rs"]
mod reproduce;
#[path = "cli/shards.rs"]
mod shards;
#[path = "cli/stopping.rs"]
mod stopping;
#[path = "cli/suspended.rs"]
mod suspended;
#[path = "cli/texts.rs"]
mod texts;
#[path = "cli/tls.rs"]
mod tls;
#[path = "cli/transcripts.rs"]
mod transcripts;
#[path = "cli/trust.rs"]
mod trust;
#[path = "cli/waiting.rs"]
mod waiting;
#[path = "cli/worker_join.rs"]
mod worker_join;

/// Tests that need more than the program: modes and links of files, signals that can be ignored,
/// shells, devices and tools of Linux.
#[cfg(target_os = "linux")]
#[path = "cli"]
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
    mod terminals;
}
