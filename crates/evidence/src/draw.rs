//! Which ranges are recounted: those that contain randomly drawn points.
//!
//! ```text
//!   counted    |--- range 1 ---|-2-|---------- range 3 ----------|4|    each as long as its count
//!                        ^draw 0              ^draw 2   ^draw 4          points of the claimed total
//!   tasks      |-1-|--- range 2 ---|--- range 3 ---|--- range 4 ---|    each as long as its tasks
//!                          ^draw 1         ^draw 3             ^draw 5   tasks
//! ```
//!
//! A range of which a bundle tells what each task counts is one unit for each of its tasks, and any other range is one
//! unit. Even draws are points of the claimed total, so that whoever overstates counts is hit the more often, the more
//! they overstate. Odd draws are tasks, so that a range is hit even if it claims nothing. Neither depends on how
//! the prover has cut tasks into ranges. Auditors of accounts draw in the same way, each unit of money being as likely
//! as any other (T. W. McRae, "Statistical Sampling for Audit and Control", 1974, "monetary unit sampling").

use std::cmp::Reverse;
use std::collections::HashMap;

use blake3::Hash;
use farm::{Claim, Range};

use crate::format::StatedRow;

/// Which ranges are counted again.
#[derive(Clone, Copy, Debug)]
pub struct Sample<'a> {
    /// The number of draws.
    pub draws: usize,
    /// What decides which.
    pub seed: Seed<'a>,
    /// Whether to keep all ranges, in memory, and not only those that are drawn.
    pub all: bool,
}

/// What decides what is drawn.
#[derive(Clone, Copy, Debug)]
pub enum Seed<'a> {
    /// A number that whoever wrote the bundle could not know.
    Number(u64),
    /// A public random value from after the day on which the bundle's name was published, such as a round of drand.
    /// With it everybody draws the same, and neither who wrote the bundle nor who checks it had a choice.
    Beacon(&'a str),
}

impl Seed<'_> {
    /// The number, for the bundle of this name. With a beacon it is the first 8 bytes, little-endian, of the
    /// BLAKE3 hash of `queens beacon; bundle NAME; value VALUE`.
    pub(super) fn number(self, bundle: Hash) -> u64 {
        match self {
            Seed::Number(seed) => seed,
            Seed::Beacon(value) => {
                let text = format!("queens beacon; bundle {bundle}; value {value}");
                let hash = blake3::hash(text.as_bytes());
                let (first, _) = hash.as_bytes().split_first_chunk().expect("it has 32 bytes");
                u64::from_le_bytes(*first)
            }
        }
    }
}

/// What a draw has hit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Draw {
    /// The place of the range in [`Drawn::rows`].
    pub row: usize,
    /// A task of this range. It is the one that was hit if the range's tasks are told; otherwise each is equally likely.
    pub ordinal: u64,
    /// What the task counts, if that is told.
    pub reported: Option<Claim>,
}

/// The draws and the ranges that they have hit.
#[derive(Clone, Debug, Default)]
pub struct Drawn {
    /// The seed of the draws.
    pub seed: u64,
    /// The ranges, in ascending order.
    pub rows: Vec<StatedRow>,
    /// Each draw, in the order in which they are to be recounted.
    pub draws: Vec<Draw>,
    /// Whether the rows are all rows of the bundle.
    pub are_all: bool,
    /// A hash over what each task of such a range counts, by the place of the range, if it is told.
    pub checksums: HashMap<usize, Hash>,
    /// The ranges with the largest counts, the largest first, one more than draws.
    pub largest: Vec<StatedRow>,
    /// The least probability with which a draw hits any of the ranges, averaged over both kinds of draws.
    pub least_share: f64,
    /// The same for the units.
    pub least_unit_share: f64,
}

/// Whether draw number `draw` is a point of the claimed total; otherwise, it is a task.
pub(super) fn is_by_count(draw: usize, counted: u128) -> bool {
    draw.is_multiple_of(2) && counted > 0
}

/// Draws while rows pass by. It keeps the rows that were hit and no others, unless there are no more rows than
/// draws: then it keeps all.
pub(super) struct Drawing {
    /// Points that are not yet reached, the nearest last, with the number of the draw.
    by_count: Vec<(u128, usize)>,
    by_task: Vec<(u64, usize)>,
    counted: u128,
    tasks: u64,
    keeps_all: bool,
    draws: Vec<Option<Draw>>,
    seed: u64,
    rows: Vec<StatedRow>,
    /// Whether the row that passes by is kept already.
    is_kept: bool,
    checksums: HashMap<usize, Hash>,
    /// The largest rows, one more than draws, and some others until there are too many.
    largest: Vec<StatedRow>,
    sums: (u128, u64),
    least_share: f64,
    least_unit_share: f64,
}

impl Drawing {
    /// Draws from `ranges` rows, which count `counted` and have `tasks` tasks.
    pub(super) fn new(
        sample: Sample<'_>,
        bundle: Hash,
        ranges: u64,
        (counted, tasks): (u128, u64),
    ) -> Drawing {
        let seed = sample.seed.number(bundle);
        let (mut by_count, mut by_task) = (Vec::new(), Vec::new());
        let draws = if tasks == 0 { 0 } else { sample.draws };
        for draw in 0..draws {
            let (point, _) = random(seed, draw);
            if is_by_count(draw, counted) {
                by_count.push((point % counted, draw))
            } else {
                by_task.push(((point % u128::from(tasks)) as u64, draw))
            }
        }
        by_count.sort_unstable_by(|one, other| other.cmp(one));
        by_task.sort_unstable_by(|one, other| other.cmp(one));
        Drawing {
            by_count,
            by_task,
            counted: 0,
            tasks: 0,
            keeps_all: sample.all || ranges <= sample.draws as u64,
            draws: vec![None; draws],
            seed,
            rows: Vec::new(),
            is_kept: false,
            checksums: HashMap::new(),
            largest: Vec::new(),
            sums: (counted, tasks),
            least_share: 1.0,
            least_unit_share: 1.0,
        }
    }

    /// Sees the next row, in ascending order.
    pub(super) fn row(&mut self, row: &StatedRow) {
        self.begin(row);
        self.unit(row, row.range, row.claim, None);
    }

    /// Sees the next row, of which it is told what each task counts, with the hash over that.
    pub(super) fn reported(&mut self, row: &StatedRow, tasks: &[(Range, Claim)], checksum: Hash) {
        self.begin(row);
        for &(task, claim) in tasks {
            self.unit(row, task, claim, Some(claim));
        }
        if self.is_kept {
            self.checksums.insert(self.rows.len() - 1, checksum);
        }
    }

    fn begin(&mut self, row: &StatedRow) {
        self.is_kept = self.keeps_all;
        self.rows.extend(self.keeps_all.then_some(*row));
        self.least_share = self.least_share.min(self.share(row.range, row.claim));
        self.weigh(row);
    }

    fn unit(&mut self, row: &StatedRow, range: Range, claim: Claim, reported: Option<Claim>) {
        self.counted = self.counted.saturating_add(claim.count);
        let begin = self.tasks;
        self.tasks += range.len();
        while let Some((_, draw)) = self.by_count.pop_if(|(point, _)| *point < self.counted) {
            let (_, within) = random(self.seed, draw);
            let ordinal = range.start() + (within % u128::from(range.len())) as u64;
            self.hit(row, draw, ordinal, reported);
        }
        while let Some((task, draw)) = self.by_task.pop_if(|(task, _)| *task < self.tasks) {
            self.hit(row, draw, range.start() + (task - begin), reported);
        }
        self.least_unit_share = self.least_unit_share.min(self.share(range, claim));
    }

    fn hit(&mut self, row: &StatedRow, draw: usize, ordinal: u64, reported: Option<Claim>) {
        if !std::mem::replace(&mut self.is_kept, true) {
            self.rows.push(*row);
        }
        self.draws[draw] = Some(Draw { row: self.rows.len() - 1, ordinal, reported });
    }

    /// The probability with which a draw hits it, averaged over both kinds.
    fn share(&self, range: Range, claim: Claim) -> f64 {
        let (counted, tasks) = self.sums;
        let of_tasks = range.len() as f64 / tasks as f64;
        match counted {
            0 => of_tasks,
            _ => f64::midpoint(claim.count as f64 / counted as f64, of_tasks),
        }
    }

    fn weigh(&mut self, row: &StatedRow) {
        self.largest.push(*row);
        if self.largest.len() > 2 * self.draws.len() + 1_000 {
            self.keep_largest();
        }
    }

    /// Keeps the largest rows only, the largest first, and the earlier one first among equals.
    fn keep_largest(&mut self) {
        self.largest.sort_unstable_by_key(|row| (Reverse(row.claim.count), row.range));
        self.largest.truncate(self.draws.len() + 1);
    }

    /// What was drawn. The rows must have had the sums that they were said to have.
    pub(super) fn end(mut self) -> Drawn {
        self.keep_largest();
        let draws = self.draws.into_iter();
        let draws = draws.map(|draw| draw.expect("every point lies within the sums")).collect();
        Drawn {
            seed: self.seed,
            rows: self.rows,
            draws,
            are_all: self.keeps_all,
            checksums: self.checksums,
            largest: self.largest,
            least_share: self.least_share,
            least_unit_share: self.least_unit_share,
        }
    }
}

/// Two independent random numbers for a draw: the halves of the BLAKE3 hash of the text
/// `queens verify; seed SEED; draw DRAW`, as little-endian numbers. Their remainders modulo M are biased by less than
/// M / 2^128.
fn random(seed: u64, draw: usize) -> (u128, u128) {
    let hash = blake3::hash(format!("queens verify; seed {seed}; draw {draw}").as_bytes());
    let half = |at: usize| {
        let half = hash.as_bytes()[at..at + 16].try_into();
        u128::from_le_bytes(half.expect("it has 32 bytes"))
    };
    (half(0), half(16))
}

#[cfg(test)]
mod tests {
    use farm::Digest;

    use super::*;

    /// Rows of these lengths and counts.
    fn rows(rows: &[(u64, u128)]) -> Vec<StatedRow> {
        let mut start = 100;
        let row = |&(tasks, count): &(u64, u128)| {
            let range = Range::new(start, start + tasks).expect("it has tasks");
            start += tasks;
            StatedRow { range, claim: Claim { count, digest: Digest(0) }, by: 0 }
        };
        rows.iter().map(row).collect()
    }

    fn draw(draws: usize, seed: u64, rows: &[StatedRow]) -> Drawn {
        let counted = rows.iter().map(|row| row.claim.count).sum();
        let tasks = rows.iter().map(|row| row.range.len()).sum();
        let sample = Sample { draws, seed: Seed::Number(seed), all: false };
        let bundle = blake3::hash(b"");
        let mut drawing = Drawing::new(sample, bundle, rows.len() as u64, (counted, tasks));
        for row in rows {
            drawing.row(row);
        }
        drawing.end()
    }

    #[test]
    fn a_range_is_hit_by_half_of_the_draws_in_proportion_to_its_count_and_by_half_to_its_tasks() {
        // Given: a tenth of the tasks claims nothing, and another tenth claims half of the total.
        let all = rows(&[(100, 0), (100, 5_000), (800, 5_000)]);
        let drawn = draw(20_000, 1, &all);
        let hits = |row: usize| drawn.draws.iter().filter(|draw| draw.row == row).count();
        // Then: a twentieth; a quarter and a twentieth; the rest. Four standard deviations of 20,000 draws are 262 at
        // most.
        for (row, expected) in [(0, 1_000), (1, 6_000), (2, 13_000)] {
            assert!(hits(row).abs_diff(expected) < 262, "{row}: {}", hits(row));
        }
        let mean = drawn.draws.iter().filter(|draw| draw.row == 2).map(|draw| draw.ordinal as f64);
        let mean = mean.sum::<f64>() / hits(2) as f64;
        assert!((mean - 699.5).abs() < 10.0, "each task of a range is equally likely: {mean}");
    }

    #[test]
    fn how_the_prover_cuts_changes_no_share() {
        let whole = rows(&[(500, 500), (500, 1_500)]);
        let mut cut = vec![(1, 1); 500];
        cut.push((500, 1_500));
        let hits = |all: &[StatedRow]| {
            let drawn = draw(400, 9, all);
            let is_second = |draw: &&Draw| drawn.rows[draw.row].range.start() == 600;
            drawn.draws.iter().filter(is_second).count()
        };
        assert_eq!(hits(&whole), hits(&rows(&cut)));
    }

    #[test]
    fn only_what_is_hit_is_kept_and_a_seed_replays_it() {
        let all = rows(&[(10, 10); 1_000]);
        let places = |seed| {
            let drawn = draw(20, seed, &all);
            assert!(drawn.rows.len() <= 20 && !drawn.are_all);
            drawn.draws.iter().map(|draw| draw.ordinal).collect::<Vec<_>>()
        };
        assert_eq!(places(3), places(3));
        assert_ne!(places(3), places(4));
        let few = draw(2_000, 1, &all);
        assert!(few.are_all && few.rows == all, "all of them, if there are no more than draws");
        assert!(draw(5, 1, &[]).draws.is_empty());
    }

    #[test]
    fn a_beacon_draws_alike_for_everybody_and_otherwise_for_another_bundle() {
        let number =
            |value, bundle: &str| Seed::Beacon(value).number(blake3::hash(bundle.as_bytes()));
        assert_eq!(number("round 7", "a"), number("round 7", "a"));
        assert_ne!(number("round 7", "a"), number("round 8", "a"));
        assert_ne!(number("round 7", "a"), number("round 7", "b"));
        assert_eq!(Seed::Number(5).number(blake3::hash(b"a")), 5);
    }
}
