//! The right counts, known independently of the farm: a pure function of (plan, ordinal).

use std::collections::BTreeMap;
use std::rc::Rc;

use farm::{Fingerprint, Plan, Range};

use crate::random::mix;

/// Boards of this size and more have counts near 2^63 per task: a few of them pass 2^64.
pub const HUGE_N: u32 = 27;

/// All right counts of one plan.
pub struct Truth {
    /// `sums[i]`: the counts of the tasks `0..i` together.
    sums: Vec<u128>,
}

impl Truth {
    fn new(plan: &Plan) -> Truth {
        let mut sums = vec![0];
        let counts = (0..plan.tasks).map(|ordinal| u128::from(task_count(plan, ordinal)));
        sums.extend(counts.scan(0u128, |sum, count| {
            *sum += count;
            Some(*sum)
        }));
        Truth { sums }
    }

    /// The right count of a range.
    pub fn of(&self, range: Range) -> u128 {
        self.sums[range.end() as usize] - self.sums[range.start() as usize]
    }

    /// The right count of the whole plan.
    pub fn total(&self) -> u128 {
        *self.sums.last().expect("it begins with 0")
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

/// The truths of all plans that have come up.
#[derive(Default)]
pub struct Truths(BTreeMap<Fingerprint, Rc<Truth>>);

impl Truths {
    pub fn of(&mut self, plan: &Plan) -> Rc<Truth> {
        let truth = self.0.entry(plan.fingerprint());
        truth.or_insert_with(|| Rc::new(Truth::new(plan))).clone()
    }
}
