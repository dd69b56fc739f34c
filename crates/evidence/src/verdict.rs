//! What recounts say about a bundle: an estimate of its total, and how much of it may be wrong.
//!
//! ```text
//!   draw ──► a whole range,
//!            or a told task    counted alike here, or the bundle does not hold
//!        └─► a piece of a     what it counts is compared with its share of the range's count:
//!            large range      on average, over many draws, the difference is the error of the total
//! ```
//!
//! The probability q of a piece is the mean of its share of the claimed total and of its share of the tasks, so that q is
//! at least half of the latter, whatever a bundle claims (a defensive mixture: T. Hesterberg, "Weighted average
//! importance sampling and defensive mixture distributions", Technometrics 37, 1995). The draws alternate between the
//! two, which makes the standard error smaller than the formula for independent draws says (A. Owen and Y. Zhou, "Safe and
//! effective importance sampling", Journal of the American Statistical Association 95, 2000), and never larger.

use std::collections::HashSet;

use farm::Range;

use crate::draw::{Drawn, is_by_count};
use crate::format::StatedRow;
use crate::pieces::{Piece, Pieces};
use crate::statistics::{Estimate, LEAST_DRAWS, at_most};

/// How often a statement about a sample may be wrong.
const RISK: f64 = 0.05;

/// Standard errors between total and estimate beyond which a bundle is refused. An honest one sees that in one of 3,000
/// verifications at most, if its pieces are as unequal as short ones are; otherwise in one of 11,000.
const TOO_FAR: f64 = 4.0;

/// Relative differences that may come from the rounding of floating-point numbers.
const ROUNDING: f64 = 1e-9;

/// What became of a piece.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// The time was over before its turn.
    NotBegun,
    /// The time was over while it was counted.
    Unfinished,
    /// It was counted. If the bundle says what it counts, it says the same.
    Counted(u128),
}

/// What the recounts say.
#[derive(Clone, Debug, PartialEq)]
pub struct Verdict {
    /// Whether every range was counted again.
    pub is_exact: bool,
    /// Number of draws that were counted again.
    pub draws: usize,
    /// Whether single tasks of ranges were counted again in their place.
    pub by_task: bool,
    /// Draws of them that hit ranges which are too large to be counted as a whole, and whose tasks are not told.
    pub in_large: usize,
    /// The total, estimated from the recounts alone; `None` if there are too few.
    pub estimate: Option<Estimate>,
    /// The largest share of the claimed total that is wrong, with 95% confidence.
    pub wrong_of_total: f64,
    /// The largest share of the tasks that are in wrong ranges, or are wrong themselves where they were counted one by one, with
    /// 95% confidence. `None` if ranges are so large that they were only estimated.
    pub wrong_of_tasks: Option<f64>,
    /// The probability that a single wrong range would have been missed, or a single wrong task where tasks were counted one by
    /// one, if it is the one that is hardest to hit. It is 1 if ranges are so large that they were only estimated.
    pub missed: f64,
    /// The range with the largest count that was not counted again as a whole.
    pub largest_left: Option<StatedRow>,
}

/// A total that is too far away from what the recounts say.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[error(
    "its total of {counted} is {distance:.1} standard errors away from {:.6e} +- {:.1e}, the estimate that follows \
     from {} draws counted again here; if that was bad luck, as it is once in 3,000 times, another --seed does not say so \
     again",
    estimate.value, estimate.standard_error, estimate.draws
)]
pub struct TooFar {
    /// What the bundle says.
    pub counted: u128,
    /// What the recounts say.
    pub estimate: Estimate,
    /// Standard errors between the two.
    pub distance: f64,
}

impl Verdict {
    /// The verdict on a bundle that counts `counted` in `tasks` tasks.
    ///
    /// # Errors
    ///
    /// [`TooFar`] if the counts of the pieces do not go together with the total.
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
        // Draws of each kind, and those of them that say nothing about their range.
        let (mut draws, mut unknown, mut in_large) = ([0; 2], [0; 2], [0; 2]);
        for (draw, &number) in begun.iter().enumerate() {
            let (piece, kind) = (&pieces[number], usize::from(!is_by_count(draw, counted)));
            draws[kind] += 1;
            in_large[kind] += usize::from(piece.claim.is_none());
            let Outcome::Counted(count) = outcomes[number] else {
                unknown[kind] += 1;
                continue;
            };
            let row = &drawn.rows[piece.row];
            let of_row = piece.range.len() as f64 / row.range.len() as f64;
            let average = row.claim.count as f64 * of_row;
            let claimed = piece.claim.map_or(average, |claim| claim.count as f64);
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
        let is_task = |&number: &usize| pieces[number].claim.is_some() && !is_row(&pieces[number]);
        let by_task = begun.iter().any(is_task);
        let least_share = if by_task { drawn.least_unit_share } else { drawn.least_share };
        let all_in_large = in_large.iter().sum::<usize>();
        // Few draws in large ranges have no error bar of their own: these ranges count as unknown then.
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
                // A small error in a large range shows in no piece.
                _ => 1.0,
            },
            largest_left: largest_left(drawn, pieces, is_counted),
        })
    }
}

/// The range with the largest count that was not counted as a whole.
fn largest_left(
    drawn: &Drawn,
    pieces: &[Piece],
    is_counted: impl Fn(usize) -> bool,
) -> Option<StatedRow> {
    let is_row = |piece: &Piece| piece.range == drawn.rows[piece.row].range;
    let counted = (0..pieces.len()).filter(|&at| is_row(&pieces[at]) && is_counted(at));
    let counted: HashSet<Range> = counted.map(|at| pieces[at].range).collect();
    drawn.largest.iter().find(|row| !counted.contains(&row.range)).cloned()
}

/// What the probability of a draw follows from.
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

    /// The probability, averaged over the draws of both kinds, of a piece that claims so much and has so many tasks.
    fn of(&self, claimed: f64, tasks: u64) -> f64 {
        self.by_count * claimed / self.counted + (1.0 - self.by_count) * tasks as f64 / self.tasks
    }
}

#[cfg(test)]
mod tests;
