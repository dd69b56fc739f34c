//! The right counts, independent of the farm: a pure function of plan and ordinal.

use std::collections::BTreeMap;
use std::rc::Rc;

use farm::{
    CheckedCount, Digest, Fact, Fingerprint, IntervalSet, Known, Plan, Range, Shard, TaskCounts,
};
use testkit::{Random, mix};

/// From this size on, boards have counts near 2^63 for each task, so a few of them exceed 2^64.
pub const HUGE_N: u32 = 27;

/// The right counts of a plan.
pub struct Truth {
    plan: Fingerprint,
    /// The checked count of each task.
    tasks: Vec<CheckedCount>,
}

impl Truth {
    fn new(plan: &Plan) -> Truth {
        let fingerprint = plan.fingerprint();
        let checked_count =
            |ordinal| checked_count(fingerprint, ordinal, task_count(plan, ordinal));
        Truth { plan: fingerprint, tasks: (0..plan.tasks).map(checked_count).collect() }
    }

    /// The right count of a range. `None` if it does not fit into 64 bits.
    pub fn checked_count(&self, range: Range) -> Option<CheckedCount> {
        let mut tasks = self.tasks[range.start() as usize..range.end() as usize].iter();
        tasks.try_fold(CheckedCount::EMPTY, |sum, &task| sum.join(task))
    }

    /// The right count of each task of a range.
    pub fn task_counts(&self, range: Range) -> TaskCounts {
        let tasks = self.tasks[range.start() as usize..range.end() as usize].iter();
        TaskCounts::new(&tasks.map(|task| task.count).collect::<Vec<_>>())
    }

    /// A wrong count, as a broken loop reports it: one task has too many, or two tasks have
    /// exchanged their counts. `None` if it does not fit into 64 bits.
    pub fn lie(&self, range: Range, random: &mut Random) -> Option<CheckedCount> {
        let (first, rest) = (range.start(), Range::new(range.start() + 1, range.end()));
        let count = |ordinal: u64| self.tasks[ordinal as usize].count;
        if let Some(rest) = rest
            && random.per_mille(300)
            && count(first) != count(rest.start())
        {
            let (one, two) = (first, rest.start());
            let swapped = checked_count(self.plan, one, count(two)).join(checked_count(
                self.plan,
                two,
                count(one),
            ));
            let others = Range::new(two + 1, range.end());
            return others.map_or(swapped, |others| swapped?.join(self.checked_count(others)?));
        }
        let more = count(first).checked_add(random.between(1, 9))?;
        let wrong = checked_count(self.plan, first, more);
        rest.map_or(Some(wrong), |rest| wrong.join(self.checked_count(rest)?))
    }

    /// The count of a range by machines that lie together. Of a thousand tasks, `per_mille` have a
    /// count that is 16 too high. These are always the same tasks, and the result never equals an
    /// accidental result of a broken loop. `None` if the count is right, or does not fit into 64
    /// bits.
    pub fn plotted(&self, range: Range, per_mille: u64) -> Option<CheckedCount> {
        let is_lie = |ordinal: u64| mix(ordinal ^ 0x1ea9) % 1_000 < per_mille;
        let mut ordinals = range.start()..range.end();
        ordinals.clone().any(is_lie).then_some(())?;
        ordinals.try_fold(CheckedCount::EMPTY, |sum, ordinal| {
            let task = self.tasks[ordinal as usize];
            let more = if is_lie(ordinal) { 16 } else { 0 };
            sum.join(checked_count(self.plan, ordinal, task.count.checked_add(more)?))
        })
    }

    /// The right count of a shard of the plan.
    pub fn total(&self, ordinals: &IntervalSet) -> u128 {
        let tasks = |range: Range| &self.tasks[range.start() as usize..range.end() as usize];
        ordinals.iter().flat_map(tasks).map(|task| u128::from(task.count)).sum()
    }
}

fn checked_count(plan: Fingerprint, ordinal: u64, count: u64) -> CheckedCount {
    // This does not use `CheckedCount::with`, which is under test. The modulus 2^61 - 1 is in its
    // documentation.
    CheckedCount {
        count,
        residue: count % ((1 << 61) - 1),
        digest: Digest::of(plan, ordinal, count),
    }
}

fn task_count(plan: &Plan, ordinal: u64) -> u64 {
    let (n, parameter) = (plan.problem.n(), plan.method.parameter().map_or(0, |(_, value)| value));
    let hash = mix(ordinal ^ mix(u64::from(n) << 32 | u64::from(parameter)));
    match n >= HUGE_N {
        true => hash >> 1 | 1 << 61,
        false => hash % 1000,
    }
}

/// Whether the total of a plan is published.
pub fn is_published(plan: &Plan) -> bool {
    !plan.tasks.is_multiple_of(3)
}

/// The right counts of all plans so far.
#[derive(Default)]
pub struct Truths(BTreeMap<Fingerprint, Rc<Truth>>);

impl Truths {
    pub fn of(&mut self, plan: &Plan) -> Rc<Truth> {
        let truth = self.0.entry(plan.fingerprint());
        truth.or_insert_with(|| Rc::new(Truth::new(plan))).clone()
    }

    /// The known facts about a plan. The totals of some plans are treated as published.
    pub fn known(&mut self, plan: &Plan, shard: Shard) -> Known {
        let value = self.of(plan).total(&plan.ordinals(shard));
        let fact = Fact::Published { value, source: "the truth" };
        let facts = if is_published(plan) { vec![fact] } else { Vec::new() };
        Known { facts, ..Known::nothing() }
    }
}
