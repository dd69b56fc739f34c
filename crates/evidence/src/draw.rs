//! Chooses the ranges that are recounted: those that contain randomly drawn points.
//!
//! ```text
//!   counted    |--- range 1 ---|-2-|---------- range 3 ----------|4|    each as long as its count
//!                        ^draw 0              ^draw 2   ^draw 4       points of the claimed total
//!   tasks      |-1-|--- range 2 ---|--- range 3 ---|--- range 4 ---|    each as long as its tasks
//!                          ^draw 1         ^draw 3             ^draw 5   tasks
//! ```
//!
//! If a bundle reports the count of each task of a range, each of these tasks is one unit. Any
//! other range is one unit. Even draws are points of the claimed total, so a unit is hit more often
//! if its count is overstated. Odd draws are tasks, so a range is hit even if it claims nothing.
//! Neither depends on how the prover has cut tasks into ranges. Auditors of accounts draw in the
//! same way, where each unit of money is equally likely (T. W. McRae, "Statistical Sampling for
//! Audit and Control", 1974, "monetary unit sampling").

use std::collections::HashMap;

use blake3::Hash;
use farm::{CountResult, Range};

use crate::format::StatedRow;

/// The sample of ranges to count again.
#[derive(Clone, Copy, Debug)]
pub struct Sample<'a> {
    /// The number of draws.
    pub draws: usize,
    /// The seed of the draws.
    pub seed: Seed<'a>,
    /// Whether to keep all ranges in memory, and not only the drawn ones.
    pub all: bool,
}

/// The source of the draws.
#[derive(Clone, Copy, Debug)]
pub enum Seed<'a> {
    /// A number that the writer of the bundle could not know.
    Number(u64),
    /// A public random value that appeared after the bundle's name was published, such as a round
    /// of drand. With it everybody draws the same ranges. Neither the writer of the bundle nor its
    /// reader can choose them.
    Beacon(&'a str),
}

impl Seed<'_> {
    /// The seed as a number, for the bundle with this name. With a beacon it is the first 8 bytes,
    /// little-endian, of the BLAKE3 hash of `queens beacon; bundle NAME; value VALUE`.
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

/// The range and the task that a draw has hit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Draw {
    /// The index of the range in [`Drawn::rows`].
    pub row: usize,
    /// A task of this range. If the counts of its tasks are reported, it is the task that was hit.
    /// Otherwise it is chosen uniformly.
    pub ordinal: u64,
    /// The claim of this task, if it is reported.
    pub reported: Option<CountResult>,
}

/// The draws and the ranges that they have hit.
#[derive(Clone, Debug, Default)]
pub struct Drawn {
    /// The seed of the draws.
    pub seed: u64,
    /// The ranges, in ascending order.
    pub rows: Vec<StatedRow>,
    /// The draws, in the order in which they are recounted.
    pub draws: Vec<Draw>,
    /// Whether `rows` has all rows of the bundle.
    pub are_all: bool,
    /// The checksum of the task counts of a range, by the index of the range, if they are reported.
    pub checksums: HashMap<usize, Hash>,
    /// The smallest probability with which a draw hits a range, averaged over both kinds of draws.
    pub least_share: f64,
    /// The smallest such probability of a unit.
    pub least_unit_share: f64,
}

/// Whether draw number `draw` is a point of the claimed total. Otherwise, it is a task.
pub(super) fn is_by_count(draw: usize, counted: u128) -> bool {
    draw.is_multiple_of(2) && counted > 0
}

/// Draws while rows are read. It keeps only the rows that were hit, or all rows if there are no
/// more of them than draws.
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
    /// Whether the current row is kept already.
    is_kept: bool,
    checksums: HashMap<usize, Hash>,
    sums: (u128, u64),
    least_share: f64,
    least_unit_share: f64,
}

impl Drawing {
    /// Draws from `ranges` rows, which together count `counted` and have `tasks` tasks.
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
            sums: (counted, tasks),
            least_share: 1.0,
            least_unit_share: 1.0,
        }
    }

    /// Reads the next row, in ascending order.
    pub(super) fn row(&mut self, row: &StatedRow) {
        self.begin(row);
        self.unit(row, row.range, row.result, None);
    }

    /// Reads the next row with the claims of its tasks and their checksum.
    pub(super) fn reported(
        &mut self,
        row: &StatedRow,
        tasks: &[(Range, CountResult)],
        checksum: Hash,
    ) {
        self.begin(row);
        for &(task, result) in tasks {
            self.unit(row, task, result, Some(result));
        }
        if self.is_kept {
            self.checksums.insert(self.rows.len() - 1, checksum);
        }
    }

    fn begin(&mut self, row: &StatedRow) {
        self.is_kept = self.keeps_all;
        self.rows.extend(self.keeps_all.then_some(*row));
        self.least_share = self.least_share.min(self.share(row.range, row.result));
    }

    fn unit(
        &mut self,
        row: &StatedRow,
        range: Range,
        result: CountResult,
        reported: Option<CountResult>,
    ) {
        self.counted = self.counted.saturating_add(result.count);
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
        self.least_unit_share = self.least_unit_share.min(self.share(range, result));
    }

    fn hit(&mut self, row: &StatedRow, draw: usize, ordinal: u64, reported: Option<CountResult>) {
        if !std::mem::replace(&mut self.is_kept, true) {
            self.rows.push(*row);
        }
        self.draws[draw] = Some(Draw { row: self.rows.len() - 1, ordinal, reported });
    }

    /// The probability with which a draw hits the unit, averaged over both kinds of draws.
    fn share(&self, range: Range, result: CountResult) -> f64 {
        let (counted, tasks) = self.sums;
        let of_tasks = range.len() as f64 / tasks as f64;
        match counted {
            0 => of_tasks,
            _ => f64::midpoint(result.count as f64 / counted as f64, of_tasks),
        }
    }

    /// Ends the draw. The sums of the rows must be those that [`Drawing::new`] was given.
    pub(super) fn end(self) -> Drawn {
        let draws = self.draws.into_iter();
        let draws = draws.map(|draw| draw.expect("every point lies within the sums")).collect();
        Drawn {
            seed: self.seed,
            rows: self.rows,
            draws,
            are_all: self.keeps_all,
            checksums: self.checksums,
            least_share: self.least_share,
            least_unit_share: self.least_unit_share,
        }
    }
}

/// Two independent random numbers for a draw. They are the halves of the BLAKE3 hash of the text
/// `queens verify; seed SEED; draw DRAW`, as little-endian numbers. Their remainders modulo M have
/// a bias of less than M / 2^128.
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
            StatedRow { range, result: CountResult { count, digest: Digest(0) }, by: 0 }
        };
        rows.iter().map(row).collect()
    }

    fn draw(draws: usize, seed: u64, rows: &[StatedRow]) -> Drawn {
        let counted = rows.iter().map(|row| row.result.count).sum();
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
    fn draws_hit_ranges_in_proportion_to_counts_and_to_tasks() {
        // Given: a tenth of the tasks claims nothing, and another tenth claims half of the total.
        let all = rows(&[(100, 0), (100, 5_000), (800, 5_000)]);
        let drawn = draw(20_000, 1, &all);
        let hits = |row: usize| drawn.draws.iter().filter(|draw| draw.row == row).count();
        // Then: the expected shares are a twentieth, a quarter and a twentieth, and the rest. Four
        // standard deviations of 20,000 draws are 262 at most.
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
    fn only_rows_that_were_hit_are_kept_and_a_seed_replays_them() {
        let all = rows(&[(10, 10); 1_000]);
        let places = |seed| {
            let drawn = draw(20, seed, &all);
            assert!(drawn.rows.len() <= 20 && !drawn.are_all);
            drawn.draws.iter().map(|draw| draw.ordinal).collect::<Vec<_>>()
        };
        assert_eq!(places(3), places(3));
        assert_ne!(places(3), places(4));
        let few = draw(2_000, 1, &all);
        assert!(
            few.are_all && few.rows == all,
            "all rows are kept if there are no more than draws"
        );
        assert!(draw(5, 1, &[]).draws.is_empty());
    }

    #[test]
    fn a_beacon_draws_the_same_for_everybody_per_bundle() {
        let number =
            |value, bundle: &str| Seed::Beacon(value).number(blake3::hash(bundle.as_bytes()));
        assert_eq!(number("round 7", "a"), number("round 7", "a"));
        assert_ne!(number("round 7", "a"), number("round 8", "a"));
        assert_ne!(number("round 7", "a"), number("round 7", "b"));
        assert_eq!(Seed::Number(5).number(blake3::hash(b"a")), 5);
    }
}
