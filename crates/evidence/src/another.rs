//! Counts all boards of a bundle by a method that shares no tasks with the bundle's.

use std::num::NonZero;
use std::sync::atomic::{AtomicU64, Ordering};

use anyhow::{Result, ensure};
use board::{Cut, Method, MethodChoice};
use count::{Backend, Kernel};
use executor::{Fit, fit};
use farm::Plan;

use crate::check::Checked;
use crate::{BundleError, RecountError};

/// The total of a bundle by another method.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Another {
    /// By which.
    pub method: Method,
    /// What it counts: what the bundle says.
    pub total: u128,
}

/// The method of this choice for the bundle's boards.
///
/// # Errors
///
/// [`BundleError`] if the bundle has no total, was counted by the same method, or cannot be counted by that one.
pub fn another(checked: &Checked, choice: MethodChoice) -> Result<Method, BundleError> {
    let Plan { problem, method: own, .. } = checked.plan;
    let method = choice.for_problem(problem);
    let choose = || -> Result<()> {
        ensure!(
            checked.is_total(),
            "a bundle without a total cannot be compared with another method"
        );
        ensure!(
            choice.name() != own.name(),
            "the bundle was counted by {} itself; name another method",
            own.name()
        );
        ensure!(problem.suits(method), "{problem} cannot be counted by {}", choice.name());
        Ok(())
    };
    choose()?;
    Ok(method)
}

/// Counts all boards of the bundle by a method that [`another`] has chosen, however long it takes.
///
/// # Errors
///
/// [`RecountError::Differs`] if the total is another one; other variants if this machine cannot count it.
pub fn count_by_another(
    checked: &Checked,
    method: Method,
    threads: NonZero<usize>,
    memory: u64,
) -> Result<Another, RecountError> {
    let problem = checked.plan.problem;
    let cut = Cut::new(problem, method)?;
    let plan = Plan { problem, method, tasks: cut.len() };
    let Fit { threads, bytes } = fit(plan, threads, memory)?;
    let block = plan.tasks.div_ceil(64 * threads.get() as u64).max(1);
    let next = AtomicU64::new(0);
    let work = || -> Result<u128, RecountError> {
        let kernel = Kernel::of(bytes, Backend::detect(), problem, method);
        let mut kernel = kernel.expect("the problem suits the method");
        let mut sum = 0;
        loop {
            let start = next.fetch_add(1, Ordering::Relaxed).saturating_mul(block);
            if start >= plan.tasks {
                return Ok(sum);
            }
            let end = plan.tasks.min(start + block);
            sum += u128::from(kernel.count_range(&cut, start..end)?);
        }
    };
    let sums = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..threads.get()).map(|_| scope.spawn(work)).collect();
        let sums = threads.into_iter().map(|thread| thread.join().expect("it does not panic"));
        sums.collect::<Result<Vec<u128>, RecountError>>()
    })?;
    let total: u128 = sums.into_iter().sum();
    if total == checked.total {
        Ok(Another { method, total })
    } else {
        Err(RecountError::Differs(format!(
            "{method} counts {total} here, and the bundle says {}: one of the two counted wrong",
            checked.total
        )))
    }
}
