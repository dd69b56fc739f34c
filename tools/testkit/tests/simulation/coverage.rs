//! Counts how often each kind of fault happened. A simulation without faults would prove nothing.

/// Defines a struct `Coverage` of counts, each with a name and a description: `coverage! { crashes:
/// "crashes", }`.
macro_rules! coverage {
    ($($kind:ident: $what:literal,)*) => {
        /// Counts of events, summed over seeds.
        #[derive(Clone, Copy, Debug, Default)]
        pub struct Coverage {
            $(#[doc = $what] pub $kind: u64,)*
        }

        impl ::std::ops::AddAssign for Coverage {
            fn add_assign(&mut self, other: Coverage) {
                $(self.$kind += other.$kind;)*
            }
        }

        impl Coverage {
            /// The descriptions of the faults that never happened.
            pub fn missing(&self) -> Vec<&'static str> {
                [$((self.$kind, $what),)*]
                    .into_iter()
                    .filter_map(|(times, what)| (times == 0).then_some(what))
                    .collect()
            }
        }

        impl ::std::fmt::Display for Coverage {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                $(writeln!(f, "{:>12}  {}", self.$kind, $what)?;)*
                Ok(())
            }
        }
    };
}

coverage! {
    steps: "farm steps",
    effects: "effects carried out",
    jobs_done: "jobs done, with the exact total",
    jobs_over_64_bits: "of these with a total beyond 2^64",
    jobs_without_tasks: "of these without any task",
    long_leases: "leases of tasks that last longer than leases without news",
    jobs_resting: "jobs left paused",
    jobs_cancelled: "jobs cancelled",
    suspended: "totals suspended, because they contradicted what was known",
    suspended_and_audited: "of these audited",
    jobs_suspended: "jobs left suspended",
    crashes: "coordinator crashes",
    cut_steps: "of these between two effects of one step",
    omitted: "records durable but not reported when it crashed",
    forgotten: "records not durable when it crashed",
    lost_sectors: "sectors of a ledger that were lost with the power",
    lost: "messages lost",
    repeated: "messages repeated",
    reordered: "messages overtaken by a later one",
    breaks: "sessions broken",
    half_open: "of these noticed late by the coordinator",
    dismissals: "sessions replaced by their own worker",
    deaths: "workers killed",
    hangs: "workers hung",
    hung_for_good: "of these for ever",
    stops: "workers asked to stop",
    clock_jumps: "clock jumps",
    clock_freezes: "clock standing still or going back",
    expiries: "leases expired",
    overtaken: "ranges leased to a second worker that had nothing else to do",
    no_news: "reports that took nothing off their lease",
    adoptions: "ranges adopted from an earlier session",
    accepted: "reports accepted",
    agreed: "reports that agreed with an earlier one",
    superseded: "reports superseded",
    obsolete: "reports of no job",
    nonsense: "reports of another plan, outside of it, or altered",
    lies: "wrong counts reported",
    leagues: "worlds in which machines of one owner lied together",
    conspiracies: "worlds in which two owners lied together",
    trusted: "wrong counts that nobody counted again",
    disputes: "conflicts recorded",
    settlements: "disputes settled",
    corrections: "of these against the accepted count",
    by_trusted: "of these by a trusted worker's count alone",
    corrected_by_own: "of these by one owner about its own machine",
    joined: "reports that became one row with those before",
    rows_reported: "rows with reported tasks, checked after settlements",
    audits_wanted: "ranges accepted that are to be counted again",
    of_suspects: "of these by an owner of whom a machine was proven wrong",
    audits_asked: "requests for audits granted",
    audits_withdrawn: "audits withdrawn",
    audited_anew: "of these on a job that was done",
    audits_leased: "recounts leased for an audit",
    signs_of_life: "signs of life during a recount",
    confirmed: "ranges confirmed by another worker and another kernel",
    repetitions: "recounts with the kernel that was to be checked",
    full_windows: "searches for audits that found more than was asked for",
    proven_wrong: "workers proven wrong",
    withdrawn: "ranges of theirs invalidated",
    voided: "jobs of which confirmations of theirs were void",
    reopened: "jobs that were done and then lost rows or confirmations",
    put_off: "jobs whose end waited for a settlement",
    doubts: "reports left unanswered while rows were changing",
    sent_away: "sessions ended because of distrust",
    unproven: "sessions ended because nothing was leased",
    contradictions: "counts that nobody asked for and that contradict",
    counted_again: "of these that have a range counted again",
    certified: "jobs done of which every range was counted twice",
    certified_against_liars: "of these where a worker was proven wrong",
    killed_by_tasks: "workers killed by the task that they counted",
    failed: "tasks that are failed",
    spared: "tasks that did not fail as one owner alone lost them and another could count them",
    blamed_on_machines: "crashed workers of machines that had crashed very often",
    failures_lifted: "permanently failed tasks with which a process had not crashed",
    tried_again: "permanently failed tasks tried again",
    stuck_on_failed: "jobs of which only permanently failed tasks were left",
    shards: "jobs done that were a shard of a plan",
    with_file: "worlds with their ledger in a file",
    restored: "coordinators that restarted from an older copy of the ledger",
}
