//! Tests of single behaviours of the farm, in the form given, when, then, and properties that hold
//! for all random inputs.
// Everything in a test binary is within the crate.
#![allow(unreachable_pub)]

mod agent;
mod audits;
mod coalitions;
mod disputes;
mod ends;
mod failed_tasks;
mod fair;
mod interval_set;
mod json;
mod leasing;
mod liars;
mod overview;
mod owners;
mod removal;
mod restarts;
mod scene;
mod stats;
mod strangers;
mod suspension;
mod turns;
mod verdicts;
mod waiting;
