//! Derives the verdict on a bundle from recounts: an estimate of its total, and how much may be
//! wrong.
//!
//! ```text
//!   draw ──► a whole range,
//!            or a reported task  equal count here, or the bundle is refused
//!        └─► a piece of a        its count is compared with its share of the range's count:
//!            large range         the mean difference over many draws is the error of the total
//! ```
//!
//! The probability q of a piece is the mean of its share of the claimed total and its share of the
//! tasks. So q is at least half of the latter, whatever a bundle claims (a defensive mixture: T.
//! Hesterberg, "Weighted average importance sampling and defensive mixture distributions",
//! Technometrics 37, 1995). The draws alternate between the two kinds. This makes the standard
//! error smaller than the formula for independent draws says, and never larger (A. Owen and Y.
//! Zhou, "Safe and effective importance sampling", Journal of the American Statistical Association
//! 95, 2000).

use crate::draw::{Drawn, is_by_count};
use crate::pieces::{Piece, Pieces};
use crate::statistics::{Estimate, LEAST_DRAWS, at_most};

/// The probability with which a statement about a sample may be wrong.
const RISK: f64 = 0.05;

/// The largest accepted distance between total and estimate, in standard errors. An honest bundle
/// exceeds it in at most one of 3,000 verifications if its pieces are as unequal as short ones are,
/// and otherwise in one of 11,000.
const TOO_FAR: f64 = 4.0;

/// The relative difference that rounding of floating-point numbers may cause.
const ROUNDING: f64 = 1e-9;

/// The outcome of a piece.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// The time was over before it began.
    NotBegun,
    /// The time was over while it was counted.
    Unfinished,
    /// It was counted. Its count is the bundle's, if the bundle claims one.
    Counted(u128),
}

/// The statements about a bundle that follow from recounts.
#[derive(Clone, Debug, PartialEq)]
pub struct Verdict {
    /// Whether every range was counted again.
    pub is_exact: bool,
    /// Number of draws whose pieces were counted again.
    pub draws: usize,
    /// Whether single tasks were counted again instead of their ranges.
    pub by_task: bool,
    /// Number of draws that hit ranges which are too large to count as a whole and have no reported
    /// tasks.
    pub in_large: usize,
    /// The total, estimated from the recounts alone. `None` if there are too few.
    pub estimate: Option<Estimate>,
    /// The largest share of the claimed total that is wrong, with 95% confidence.
    pub wrong_of_total: f64,
    /// The largest share of the tasks that are in wrong ranges, with 95% confidence. If tasks were
    /// counted one by one, wrong tasks count instead of wrong ranges. `None` if ranges are so large
    /// that they were only estimated.
    pub wrong_of_tasks: Option<f64>,
    /// The probability of missing a single wrong range, for the range that is hardest to hit. If
    /// tasks were counted one by one, it is for a single wrong task. It is 1 if ranges are so large
    /// that they were only estimated.
    pub missed: f64,
}

/// The error of a total that is too far away from the estimate.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[error(
    "its total of {counted} is {distance:.1} standard errors away from {:.6e} +- {:.1e}, the estimate \
     that follows from {} draws counted again here; an honest bundle has such bad luck once in 3,000 \
     times, so verify it again with another --seed",
    estimate.value, estimate.standard_error, estimate.draws
)]
pub struct TooFar {
    /// The bundle's total.
    pub counted: u128,
    /// The estimate.
    pub estimate: Estimate,
    /// The distance between the two, in standard errors.
    pub distance: f64,
}

impl Verdict {
    /// The verdict on a bundle that counts `counted` in `tasks` tasks.
    ///
    /// # Errors
    ///
    /// [`TooFar`] if the counts of the pieces contradict the total.
    pub(super) fn of(
        (counted, tasks): (u128, u64),
        drawn: &Drawn,
        Pieces { pieces, of_draw }: &Pieces,
        outcomes: &[Outcome],
    ) -> Result<Verdict, TooFar> {
        let begun = of_draw.iter().take_while(|&&piece| outcomes[piece] != Outcome::NotBegun);
        let begun: Vec<usize> = begun.copied().collect();
        let shares = Shares::new(counted, tasks, begun.len());
        let (mut totals, mut differences) = (Vec::new(), Vec::new());
        // For each kind: the draws, those without a result, and those in large ranges.
        let (mut draws, mut unknown, mut in_large) = ([0; 2], [0; 2], [0; 2]);
        for (draw, &number) in begun.iter().enumerate() {
            let (piece, kind) = (&pieces[number], usize::from(!is_by_count(draw, counted)));
            draws[kind] += 1;
            in_large[kind] += usize::from(piece.result.is_none());
            let Outcome::Counted(count) = outcomes[number] else {
                unknown[kind] += 1;
                continue;
            };
            let row = &drawn.rows[piece.row];
            let of_row = piece.range.len() as f64 / row.range.len() as f64;
            let average = row.result.count as f64 * of_row;
            let claimed = piece.result.map_or(average, |result| result.count as f64);
            let probability = shares.of(claimed, piece.range.len());
            totals.push(count as f64 / probability);
            differences.push((claimed - count as f64) / probability);
        }

        let estimate = Estimate::of(&totals);
        let error = Estimate::of(&differences);
        let by_difference =
            error.map(|error| Estimate { value: counted as f64 - error.value, ..error });
        for estimate in [estimate, by_difference].into_iter().flatten() {
            let apart = (counted as f64 - estimate.value).abs();
            let distance = apart / estimate.standard_error;
            if distance > TOO_FAR && apart > ROUNDING * counted as f64 {
                return Err(TooFar { counted, estimate, distance });
            }
        }

        let is_counted = |number: usize| matches!(outcomes[number], Outcome::Counted(_));
        let is_row = |piece: &Piece| piece.range == drawn.rows[piece.row].range;
        let counted_rows =
            (0..pieces.len()).filter(|&at| is_row(&pieces[at]) && is_counted(at)).count();
        let is_exact = drawn.are_all && counted_rows == drawn.rows.len();
        let bound = |kind: usize, estimated: Option<Estimate>| match estimated {
            Some(error) => {
                let estimated = (error.value.abs() + error.error()) / (counted as f64).max(1.0);
                at_most(draws[kind], unknown[kind], RISK / 2.0) + estimated
            }
            None => at_most(draws[kind], unknown[kind] + in_large[kind], RISK),
        };
        let is_task = |&number: &usize| pieces[number].result.is_some() && !is_row(&pieces[number]);
        let by_task = begun.iter().any(is_task);
        let least_share = if by_task { drawn.least_unit_share } else { drawn.least_share };
        let all_in_large = in_large.iter().sum::<usize>();
        // Few draws in large ranges have no error bar of their own. Their ranges then count as
        // unknown.
        let error = error.filter(|_| all_in_large >= LEAST_DRAWS);
        Ok(Verdict {
            is_exact,
            draws: begun.len() - unknown.iter().sum::<usize>(),
            by_task,
            in_large: all_in_large,
            estimate,
            wrong_of_total: if is_exact { 0.0 } else { bound(0, error).min(1.0) },
            wrong_of_tasks: match error {
                _ if is_exact => Some(0.0),
                Some(_) => None,
                None => Some(bound(1, None)),
            },
            missed: match all_in_large {
                _ if is_exact => 0.0,
                0 => (1.0 - least_share).powf(begun.len() as f64),
                // A small error in a large range does not show in any piece.
                _ => 1.0,
            },
        })
    }
}

/// The sums from which the probability of a draw is computed.
struct Shares {
    counted: f64,
    tasks: f64,
    /// The share of draws that are points of the claimed total.
    by_count: f64,
}

impl Shares {
    fn new(counted: u128, tasks: u64, draws: usize) -> Shares {
        let by_count = (0..draws).filter(|&draw| is_by_count(draw, counted)).count();
        let by_count = by_count as f64 / draws.max(1) as f64;
        Shares { counted: (counted as f64).max(1.0), tasks: tasks as f64, by_count }
    }

    /// The probability of a piece with this claim and this number of tasks, averaged over the draws
    /// of both kinds.
    fn of(&self, claimed: f64, tasks: u64) -> f64 {
        self.by_count * claimed / self.counted + (1.0 - self.by_count) * tasks as f64 / self.tasks
    }
}

#[cfg(test)]
mod tests;
