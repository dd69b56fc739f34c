//! Tests of single behaviours of the farm, in the form given, when, then.
// Everything in a test binary is within the crate.
#![allow(unreachable_pub)]

mod agent;
mod audits;
mod clients;
mod coalitions;
mod disputes;
mod ends;
mod failed_tasks;
mod fair;
mod idle;
mod leasing;
mod liars;
mod memory;
mod overview;
mod owners;
mod removal;
mod restarts;
mod shares;
mod slices;
mod stage;
mod stats;
mod strangers;
mod suspension;
mod verdicts;
mod waiting;
