//! Totals that contradict what is known.

use farm::{Fact, Problem};

use crate::failure::Failure;

/// Checks a total that was counted without ranges: the sum of all placements, before symmetry.
///
/// # Errors
///
/// [`Failure::Suspended`], if it contradicts what is known.
pub(crate) fn check_total(problem: Problem, total: u128) -> Result<(), Failure> {
    let Some(reason) = Fact::contradiction(&known::facts(problem), total) else { return Ok(()) };
    Err(Failure::total_suspended(problem, &reason, None))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_total_that_cannot_be_right_is_no_result() {
        let problem = Problem::Total { n: 8 };
        check_total(problem, vectors::total(8)).expect("it is right");
        let failure = check_total(problem, 93).expect_err("it is wrong");
        assert_eq!(failure.code(), 17);
        let said = failure.to_string();
        assert!(said.contains("comes to 93") && said.contains("OEIS A000170"), "{said}");
    }
}
