//! How often each fault struck, and what became of it. A simulation that has stopped hurting proves nothing.

use std::fmt;

macro_rules! tally {
    ($($kind:ident: $what:literal,)*) => {
        /// Counts of what happened, summed over seeds.
        #[derive(Clone, Debug, Default)]
        pub struct Tally {
            $(pub $kind: u64,)*
        }

        impl Tally {
            pub fn add(&mut self, other: &Tally) {
                $(self.$kind += other.$kind;)*
            }

            /// What never happened.
            pub fn missing(&self) -> Vec<&'static str> {
                [$((self.$kind, $what),)*]
                    .into_iter()
                    .filter_map(|(times, what)| (times == 0).then_some(what))
                    .collect()
            }
        }

        impl fmt::Display for Tally {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                $(writeln!(f, "{:>12}  {}", self.$kind, $what)?;)*
                Ok(())
            }
        }
    };
}

tally! {
    lives: "lives of a coordinator",
    batches: "batches acknowledged",
    closed: "ledgers closed",
    kills: "processes killed",
    power_cuts: "power cuts",
    stopped: "of kills and power cuts, those in the middle of a call",
    read_errors: "reads that failed",
    write_errors: "writes that failed",
    sync_errors: "syncs that failed",
    full: "writes that the disk had no room for",
    lossy_syncs: "syncs that failed and lost what was to be written",
    lost_writes: "pages that were said to be written and were not",
    misdirected: "pages written to another page's place",
    rotten_ledgers: "ledger files that rotted",
    rotten_logs: "write-ahead logs that rotted",
    vanished: "write-ahead logs that vanished",
    failed_openings: "openings that a failing call ended",
    failed_batches: "batches that a failing call ended",
    exact: "openings with all that was acknowledged",
    in_flight: "of these with the batch that was being written, as a whole",
    missed: "ledgers refused without their write-ahead log, and exact with it again",
    refused_opening: "damaged ledgers refused when they were opened",
    refused_reading: "damaged ledgers refused when all of them was read",
    refused_writing: "damaged ledgers refused when something was written",
    never_begun: "files refused that were no ledgers yet, after three failures in a row",
    older_refused: "older states that a client's mark has told",
    counted_again: "older states that lack nothing but counts, which were counted again",
    mixed_counts: "states that lack right counts of several moments, which were counted again",
    mixed_decisions: "states of right counts, in which the disk has altered what has no seal",
    finished: "histories that ended with exact totals",
    jobs_done: "jobs done, with the exact total",
}
