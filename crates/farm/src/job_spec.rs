//! What a job is, and where it stands.

#![cfg_attr(not(test), warn(clippy::arithmetic_side_effects))]

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use utoipa::ToSchema;

use crate::shard::ShardText;
use crate::{Plan, PlanText, Shard};

/// A job as it is submitted, stored and shown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct JobSpec {
    /// Who submitted it.
    #[serde(flatten)]
    pub origin: Origin,
    /// What it counts.
    #[serde(flatten)]
    #[schema(value_type = PlanText)]
    pub plan: Plan,
    /// The shard that is wanted of it.
    #[serde(flatten, with = "crate::shard")]
    #[schema(value_type = ShardText)]
    pub shard: Shard,
    /// Jobs of higher priority are served first.
    pub priority: i32,
}

/// Who submitted a job, and what they call it. No two jobs have the same owner and the same key.
#[derive(
    Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, ToSchema,
)]
pub struct Origin {
    /// The owner of the credential; empty if ledgers were merged.
    pub owner: String,
    /// The name that the owner gave it, which no other job of the owner has.
    #[serde(rename = "name")]
    pub key: Option<String>,
}

impl Origin {
    /// A job of this owner, without a name.
    #[must_use]
    pub fn of(owner: &str) -> Origin {
        Origin { owner: owner.into(), key: None }
    }
}

crate::named! {
    /// Where a job stands.
    #[derive(Serialize, Deserialize, ToSchema)]
    #[serde(rename_all = "snake_case")]
    pub enum JobState {
        /// Its ranges are leased whenever workers have room.
        Running = "running",
        /// Nothing of it is leased; results that still arrive are accepted.
        Paused = "paused",
        /// Every ordinal is accepted, nothing is disputed and nothing waits for an audit, but the
        /// total contradicts what is known of it. A person has to look into it: an audit makes it
        /// run again.
        Suspended = "suspended",
        /// Every ordinal is accepted, nothing is disputed, and nothing that is known contradicts
        /// the total. Nothing waited for an audit when it became so; since then ranges may be
        /// counted again.
        Done = "done",
        /// Ended by a client, without a total. Final.
        Cancelled = "cancelled",
    }
}

impl JobState {
    /// Whether it is done or cancelled.
    pub fn is_over(self) -> bool {
        matches!(self, JobState::Cancelled | JobState::Done)
    }

    /// Whether clients need not wait for the job any longer: it is over, or suspended.
    pub fn is_at_rest(self) -> bool {
        self.is_over() || self == JobState::Suspended
    }
}

impl fmt::Display for JobState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// When something happened to a job: Unix milliseconds, for people.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Times {
    /// When it was submitted.
    pub submitted_at_ms: Option<i64>,
    /// When the first of its ranges was leased: until then it has waited for workers.
    pub begun_at_ms: Option<i64>,
    /// Since when all its tasks are accepted: what follows are audits.
    pub counted_at_ms: Option<i64>,
    /// Since when it is paused, or counts of it were taken back in that pause.
    pub paused_at_ms: Option<i64>,
    /// For how long it rested between its first lease and `counted_at_ms`: it was paused, waited
    /// while workers counted other jobs, or had all its tasks until some were taken back. What has
    /// passed since `paused_at_ms` is not in it yet, if the job has not all its tasks.
    pub paused_ms: i64,
    /// When the job was done or cancelled.
    pub ended_at_ms: Option<i64>,
}

impl Times {
    /// How long the job was counted: from its first lease until all its tasks were accepted, or
    /// until its end if they never were. Pauses, audits, and the time in which other jobs were
    /// counted instead are left out. `None` before then, and if nothing of the job was leased.
    #[must_use]
    pub fn counting(self) -> Option<Duration> {
        let end = self.counted_at_ms.or(self.ended_at_ms)?;
        let ms = end.saturating_sub(self.begun_at_ms?).saturating_sub(self.paused_ms);
        Some(Duration::from_millis(u64::try_from(ms).unwrap_or(0)))
    }

    /// Notes that the job waited for `ms` while workers counted others.
    pub fn note_wait(&mut self, ms: u64) {
        self.paused_ms = self.paused_ms.saturating_add_unsigned(ms);
    }

    /// Notes that the job came to this at this time. A ledger and a clock may say any time, so that
    /// differences and sums end at the limits of their type.
    pub fn note(&mut self, milestone: Milestone, now_ms: i64) {
        // A clock may have been set back.
        let rested =
            |since: Option<i64>| since.map_or(0, |since| now_ms.saturating_sub(since).max(0));
        // A pause adds nothing before the first lease, nor while all tasks are accepted.
        let pause = match (self.begun_at_ms, self.counted_at_ms) {
            (Some(begun), None) => rested(self.paused_at_ms.map(|since| since.max(begun))),
            _ => 0,
        };
        match milestone {
            Milestone::Begun => _ = self.begun_at_ms.get_or_insert(now_ms),
            Milestone::Counted => {
                self.paused_ms = self.paused_ms.saturating_add(pause);
                self.counted_at_ms.get_or_insert(now_ms);
            }
            Milestone::TakenBack => {
                let rested = rested(self.counted_at_ms.take());
                self.paused_ms = self.paused_ms.saturating_add(pause).saturating_add(rested);
                self.paused_at_ms = self.paused_at_ms.and(Some(now_ms));
            }
            Milestone::State(JobState::Paused) => {
                self.paused_at_ms.get_or_insert(now_ms);
            }
            Milestone::State(state) => {
                self.paused_ms = self.paused_ms.saturating_add(pause);
                self.paused_at_ms = None;
                self.ended_at_ms = state.is_over().then(|| self.ended_at_ms.unwrap_or(now_ms));
            }
        }
    }
}

/// What a job has come to. Its times follow from these, and the ledger's log of changes has them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Milestone {
    /// Its first range is leased.
    Begun,
    /// All its tasks are accepted.
    Counted,
    /// Some of its tasks are accepted no longer.
    TakenBack,
    /// It stands elsewhere now.
    State(JobState),
}

impl Milestone {
    /// Its name in the ledger's log.
    pub fn name(self) -> &'static str {
        match self {
            Milestone::Begun => "begun",
            Milestone::Counted => "counted",
            Milestone::TakenBack => "taken_back",
            Milestone::State(state) => state.name(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Seconds of counting after each list of changes, with the second of each.
    const TOOK: [(&str, Option<u64>); 13] = [
        ("begun 0, counted 5, done 9", Some(5)),
        ("begun 0, paused 2", None),
        ("begun 0, paused 2, counted 5, running 7, taken_back 8, counted 9", Some(3)),
        ("begun 0, paused 2, counted 5, taken_back 7, running 9, counted 10", Some(3)),
        ("begun 0, paused 2, taken_back 3, running 9, counted 10", Some(3)),
        ("begun 0, counted 1, paused 2, taken_back 3, running 3603, counted 3604", Some(2)),
        ("begun 0, counted 1, paused 2, done 8, running 9, taken_back 9, counted 12", Some(4)),
        ("begun 0, paused 2, cancelled 9", Some(2)),
        ("begun 0, counted 1, paused 2, cancelled 9", Some(1)),
        ("begun 0, counted 1, paused 2, taken_back 4, cancelled 9", Some(1)),
        ("paused 0, running 5, begun 6, counted 8", Some(2)),
        ("paused 0, begun 5, running 6, counted 8", Some(2)),
        ("begun 10, paused 20, running 15, counted 18", Some(8)),
    ];

    #[test]
    fn pauses_audits_and_what_was_taken_back_are_no_part_of_the_time_that_a_job_took() {
        let note = |times: &mut Times, text: &str| {
            let (name, second) = text.split_once(' ').expect("a change and its second");
            let change = match name {
                "begun" => Milestone::Begun,
                "counted" => Milestone::Counted,
                "taken_back" => Milestone::TakenBack,
                state => Milestone::State(JobState::named(state).expect("it is a state")),
            };
            times.note(change, 1_000 * second.parse::<i64>().expect("a second"));
        };
        for (changes, took) in TOOK {
            let mut times = Times::default();
            // What is noted again changes nothing, and a wrong order is no panic.
            changes.split(", ").flat_map(|it| [it; 2]).for_each(|it| note(&mut times, it));
            assert_eq!(times.counting(), took.map(Duration::from_secs), "{changes}");
            changes.rsplit(", ").for_each(|it| note(&mut times, it));
        }
    }

    /// A ledger from elsewhere and a wrong clock may say any time.
    #[test]
    fn no_time_is_too_early_or_too_late() {
        const TIMES: [i64; 4] = [i64::MIN, -1, 1, i64::MAX];
        for at in 0..TIMES.len().pow(5) {
            let time = |step: usize| TIMES[at / step % TIMES.len()];
            let [begun, counted, paused, paused_ms, now] = [1, 4, 16, 64, 256].map(time);
            for milestone in [
                Milestone::Begun,
                Milestone::Counted,
                Milestone::TakenBack,
                Milestone::State(JobState::Paused),
                Milestone::State(JobState::Done),
            ] {
                for counted_at_ms in [None, Some(counted)] {
                    let mut times = Times {
                        submitted_at_ms: None,
                        begun_at_ms: Some(begun),
                        counted_at_ms,
                        paused_at_ms: Some(paused),
                        paused_ms,
                        ended_at_ms: Some(counted),
                    };
                    times.note(milestone, now);
                    let _ = times.counting();
                }
            }
        }
    }
}
