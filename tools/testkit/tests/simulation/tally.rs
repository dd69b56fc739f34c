//! How often each kind of trouble struck. A simulation that has stopped hurting proves nothing.

/// Makes a struct `Tally` of counts, each with a name and with words for people: `tally! { crashes: "crashes", }`.
macro_rules! tally {
    ($($kind:ident: $what:literal,)*) => {
        /// Counts of what happened, summed over seeds.
        #[derive(Clone, Copy, Debug, Default)]
        pub struct Tally {
            $(#[doc = $what] pub $kind: u64,)*
        }

        impl ::std::ops::AddAssign for Tally {
            fn add_assign(&mut self, other: Tally) {
                $(self.$kind += other.$kind;)*
            }
        }

        impl Tally {
            /// What never happened.
            pub fn missing(&self) -> Vec<&'static str> {
                [$((self.$kind, $what),)*]
                    .into_iter()
                    .filter_map(|(times, what)| (times == 0).then_some(what))
                    .collect()
            }
        }

        impl ::std::fmt::Display for Tally {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                $(writeln!(f, "{:>12}  {}", self.$kind, $what)?;)*
                Ok(())
            }
        }
    };
}

tally! {
    steps: "farm steps",
    effects: "effects carried out",
    jobs_done: "jobs done, with the exact total",
    jobs_over_64_bits: "of these with a total beyond 2^64",
    jobs_without_tasks: "of these without any task",
    jobs_resting: "jobs left paused",
    jobs_cancelled: "jobs cancelled",
    held: "totals held, because they contradicted what was known",
    held_and_audited: "of these audited",
    jobs_held: "jobs left held",
    crashes: "coordinator crashes",
    cut_steps: "of these between two effects of one step",
    omitted: "records durable but not told when it crashed",
    forgotten: "records not durable when it crashed",
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
    overtaken: "ranges leased to a second worker, who had nothing else to do",
    declined: "leases given back for want of memory",
    no_news: "reports that took nothing off their lease",
    adoptions: "ranges adopted from an earlier session",
    accepted: "reports accepted",
    agreed: "reports that agreed with an earlier one",
    superseded: "reports superseded",
    obsolete: "reports of no job",
    nonsense: "reports of another plan, outside of it, or altered",
    lies: "wrong counts told",
    leagues: "worlds in which machines of one owner lied together",
    conspiracies: "worlds in which two owners lied together",
    trusted: "wrong counts that nobody counted again",
    disputes: "conflicts recorded",
    settlements: "disputes settled",
    corrections: "of these against the accepted count",
    by_trusted: "of these by a trusted worker's count alone",
    corrected_by_own: "of these by one owner about its own machine",
    joined: "reports that became one row with those before",
    rows_told: "rows of which each task is told, looked at after settlements",
    audits_wanted: "ranges accepted that are to be counted again",
    audits_asked: "requests for audits granted",
    audits_withdrawn: "audits withdrawn",
    audited_anew: "of these on a job that was done",
    audits_leased: "recounts leased for an audit",
    signs_of_life: "signs of life during a recount",
    confirmed: "ranges confirmed by another worker and another kernel",
    repetitions: "recounts with the kernel that was to be checked",
    full_windows: "searches for audits that found more than was asked for",
    proven_wrong: "workers proven wrong",
    withdrawn: "ranges of theirs withdrawn",
    voided: "jobs of which confirmations of theirs were void",
    reopened: "jobs that were done and then lost rows or confirmations",
    put_off: "jobs whose end waited for a settlement",
    doubts: "reports left unanswered while rows were changing",
    sent_away: "sessions ended for want of trust",
    unproven: "sessions ended because nothing was leased",
    contradictions: "counts that nobody asked for and that contradict",
    counted_again: "of these that have a range counted again",
    certified: "jobs done of which every range was counted twice",
    certified_against_liars: "of these where a worker was proven wrong",
    killed_by_tasks: "workers killed by the task that they counted",
    halvings: "leases of what had killed two workers",
    poisoned: "tasks found to be poison",
    blamed_on_machines: "lost workers of machines that had lost very many",
    poison_lifted: "poisoned tasks that a worker still held",
    tried_again: "poisoned tasks tried again",
    stuck_on_poison: "jobs of which only poison was left",
    slices: "jobs done that were a slice of a plan",
    with_real_ledger: "worlds with the real ledger",
    restored: "coordinators that went on from an older copy of the ledger",
}
