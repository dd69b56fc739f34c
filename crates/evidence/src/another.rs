//! Counts all boards of a bundle by a method that shares no tasks with the bundle's.

use std::num::NonZero;

use anyhow::{Result, ensure};
use board::{Method, MethodChoice};
use count::{Counting, with_method};
use farm::Plan;

use crate::check::Checked;
use crate::{BundleError, RecountError};

/// Checks that the method of `choice` can be compared with the bundle.
///
/// # Errors
///
/// [`BundleError`] if the bundle has no total, was counted by the same method, or cannot be counted
/// by the chosen one.
pub fn another(checked: &Checked, choice: MethodChoice) -> Result<(), BundleError> {
    let Plan { problem, method: own, .. } = checked.plan;
    let suits = choice.for_problem(problem).cuts(problem);
    let check = || -> Result<()> {
        ensure!(
            checked.is_total(),
            "a bundle without a total cannot be compared with another method"
        );
        ensure!(
            choice.name() != own.name(),
            "the bundle was counted by {} itself; name another method",
            own.name()
        );
        ensure!(suits, "{problem} cannot be counted by {}", choice.name());
        Ok(())
    };
    Ok(check()?)
}

/// Counts all boards of the bundle by a choice that [`another`] accepts, without a time limit.
/// Returns the method if its total is the bundle's.
///
/// # Errors
///
/// [`RecountError::Differs`] if the totals differ. Other variants if this machine cannot count it.
pub fn count_by_another(
    checked: &Checked,
    choice: MethodChoice,
    threads: NonZero<usize>,
    memory: u64,
) -> Result<Method, RecountError> {
    let problem = checked.plan.problem;
    let method = choice.for_problem(problem);
    let counting = Counting::new(problem).threads(threads.get()).memory(memory);
    let total = with_method(counting, choice).run()?.answer.placements;
    if total != checked.total {
        return Err(RecountError::Differs(format!(
            "{method} counts {total} here, and the bundle says {}: one of the two counted wrong",
            checked.total
        )));
    }
    Ok(method)
}
