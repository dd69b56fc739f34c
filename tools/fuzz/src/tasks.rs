//! Counts tasks as a worker does that gets them from a wrong or malicious coordinator.

use std::time::Duration;

use board::{Cut, Prefix, Tasks};
use count::Backend;
use executor::{Executor, Step};
use farm::{KernelName, Loan, LoanKind, LoanProof, Plan, Range, Recount, TasksBlock};
use wire::v1;

use crate::Source;
use crate::generate::small_plan;

/// Far more than a small board needs.
const MEMORY: u64 = 64 << 20;

/// What became of the tasks of an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Counted {
    /// All of them were counted.
    All,
    /// One of them was refused.
    NotAll,
    /// The messages were refused.
    Nothing,
}

/// Counts tasks that are made from `input`, by any kernel.
///
/// # Panics
///
/// If what was counted is not what was lent.
pub fn tasks(input: &[u8]) {
    let _ = count_tasks(input);
}

/// Counts tasks as [`tasks`] does, and says what became of them.
///
/// # Panics
///
/// If what was counted is not what was lent.
pub fn count_tasks(input: &[u8]) -> Counted {
    let source = &mut Source::new(input);
    let plan = small_plan(source);
    let start = source.number() >> 1;
    let sent = altered(plan, source);
    let recount = source.one_in(2).then(|| {
        let unlike = *source.choose(&KernelName::ALL);
        let unlike = if source.one_in(8) { KernelName::default() } else { unlike };
        Recount { unlike, by_search: source.one_in(2) }
    });
    let Some((loan, block)) = arrive(plan, start, sent, recount) else { return Counted::Nothing };
    let backends: Vec<Backend> = Backend::available().collect();
    let (executor, mut stepper) = Executor::stepped(*source.choose(&backends), MEMORY);
    let accepted = executor.accepts(loan).expect("a small board takes little memory");
    let mut left = block.tasks.len();
    executor.push(accepted, block.start, block.tasks);
    while let Step::Counted(part) = stepper.step(Duration::ZERO) {
        match part {
            Ok(part) => {
                assert!(part.range.start() >= start && part.range.end() <= loan.range.end());
                left -= 1;
            }
            Err(error) => {
                assert!(!error.to_string().is_empty());
                return Counted::NotAll;
            }
        }
    }
    assert_eq!(left, 0, "tasks of {plan} were lost");
    Counted::All
}

/// A few tasks of the plan, of which bits may have changed.
fn altered(plan: Plan, source: &mut Source<'_>) -> Tasks {
    let cut = Cut::new(plan.problem, plan.method).expect("it is cut so");
    let mut altered = Tasks::new();
    for _ in 0..=source.below(3) {
        let mut one = Tasks::new();
        if !cut.is_empty() {
            let ordinal = source.number() % cut.len();
            cut.fill(ordinal..ordinal + 1, &mut one).expect("the plan has it");
        }
        let (mut task, mut weight) = if one.is_empty() { (Prefix::EMPTY, 1) } else { one.get(0) };
        while source.one_in(3) {
            match source.below(5) {
                0 => task.left ^= 1 << source.below(32),
                1 => task.down ^= 1 << source.below(32),
                2 => task.right ^= 1 << source.below(32),
                3 => task.down = source.number() as u32,
                _ => weight = source.byte(),
            }
        }
        altered.push(task, weight);
    }
    altered
}

/// The messages of a loan and its tasks, as the worker reads them. `None` if it refuses them.
#[allow(clippy::needless_update, reason = "fields that come later are as they are by default")]
fn arrive(
    plan: Plan,
    start: u64,
    sent: Tasks,
    recount: Option<Recount>,
) -> Option<(Loan, TasksBlock)> {
    let end = start + sent.len() as u64;
    // Whoever forges a plan makes its fingerprint fit.
    let plan = Plan { tasks: plan.tasks.max(end), ..plan };
    let lent = Range::new(start, end)?;
    let proof = LoanProof { range: lent, kind: LoanKind::Count, seal: [0; 16] };
    let loan = v1::Loan {
        lease: 1,
        job: 1,
        plan: Some((&plan).into()),
        range: Some(v1::OrdinalRange { start, end }),
        recount: recount.map(|recount| v1::Recount {
            unlike: recount.unlike.to_string(),
            by_search: recount.by_search,
        }),
        proof: proof.to_bytes().to_vec(),
        ..Default::default()
    };
    let Tasks { left, down, right, weight } = sent;
    let tasks = v1::Tasks { lease: 1, start, left, down, right, weight, ..Default::default() };
    Some((loan.try_into().ok()?, tasks.try_into().ok()?))
}
