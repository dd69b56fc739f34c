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
//! other range is one unit. What a draw has hit is counted again as a whole.
//!
//! Even draws are points of the claimed total, so a unit is hit more often if its count is
//! overstated. Odd draws are tasks, so a range is hit even if it claims nothing. Neither
//! probability depends on how the prover has cut tasks into ranges. Auditors of accounts draw in
//! the same way, where each unit of money is equally likely (T. W. McRae, "Statistical Sampling for
//! Audit and Control", 1974, "monetary unit sampling").

use blake3::Hash;
use farm::{CountResult, Range};

/// The sample of ranges to count again.
#[derive(Clone, Copy, Debug)]
pub struct Sample<'a> {
    /// The number of draws.
    pub draws: usize,
    /// The seed of the draws.
    pub seed: Seed<'a>,
    /// Whether to keep all ranges in memory, so that each of them can be counted again, and not
    /// only the drawn ones.
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

/// A claim that a draw can hit: that of a task whose count is reported, or else that of a range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unit {
    /// The ordinals.
    pub range: Range,
    /// Their count and digest.
    pub result: CountResult,
    /// Whether it is a task whose count is reported, and not a range.
    pub is_task: bool,
}

/// The claims that the draws have hit.
#[derive(Clone, Debug)]
pub struct Drawn {
    /// The seed of the draws.
    pub seed: u64,
    /// The hit of each draw, in the order in which they are recounted.
    pub hits: Vec<Unit>,
    /// All ranges, if they are wanted, or if there are no more of them than draws.
    pub ranges: Option<Vec<Unit>>,
    /// The smallest probability with which a draw hits a unit, averaged over both kinds of draws.
    pub least_share: f64,
}

/// Whether draw number `draw` is a point of the claimed total. Otherwise, it is a task.
pub(super) fn is_by_count(draw: usize, counted: u128) -> bool {
    draw.is_multiple_of(2) && counted > 0
}

/// Draws while rows are read. The arrays have an item for points of the claimed total, and one for
/// tasks.
pub(super) struct Drawing {
    /// The points that the rows so far have not reached, the nearest last, each with the number of
    /// its draw.
    points: [Vec<(u128, usize)>; 2],
    passed: [u128; 2],
    sums: [u128; 2],
    hits: Vec<Option<Unit>>,
    seed: u64,
    ranges: Option<Vec<Unit>>,
    least_share: f64,
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
        let draws = if tasks == 0 { 0 } else { sample.draws };
        let (sums, mut points) = ([counted, tasks.into()], [Vec::new(), Vec::new()]);
        for draw in 0..draws {
            let of = usize::from(!is_by_count(draw, counted));
            points[of].push((random(seed, draw) % sums[of], draw));
        }
        for points in &mut points {
            points.sort_unstable_by(|one, other| other.cmp(one));
        }
        Drawing {
            points,
            passed: [0; 2],
            sums,
            hits: vec![None; draws],
            seed,
            ranges: (sample.all || ranges <= sample.draws as u64).then(Vec::new),
            least_share: 1.0,
        }
    }

    /// Reads the next range, in ascending order, with its tasks if their counts are reported.
    pub(super) fn pass(&mut self, range: Unit, tasks: Option<&[Unit]>) {
        if let Some(ranges) = &mut self.ranges {
            ranges.push(range);
        }
        for &unit in tasks.unwrap_or(&[range]) {
            let sizes = [unit.result.count, unit.range.len().into()];
            for (of, size) in sizes.into_iter().enumerate() {
                self.passed[of] = self.passed[of].saturating_add(size);
                let is_hit = |(point, _): &mut (u128, usize)| *point < self.passed[of];
                while let Some((_, draw)) = self.points[of].pop_if(is_hit) {
                    self.hits[draw] = Some(unit);
                }
            }
            let [of_count, of_tasks] = [0, 1].map(|of| sizes[of] as f64 / self.sums[of] as f64);
            let share =
                if self.sums[0] == 0 { of_tasks } else { f64::midpoint(of_count, of_tasks) };
            self.least_share = self.least_share.min(share);
        }
    }

    /// Ends the draw. The sums of the rows must be those that [`Drawing::new`] was given.
    pub(super) fn end(self) -> Drawn {
        let Drawing { hits, seed, ranges, least_share, .. } = self;
        let hits = hits.into_iter().map(|hit| hit.expect("every point lies within the sums"));
        Drawn { seed, hits: hits.collect(), ranges, least_share }
    }
}

/// A random number for a draw: the first half of the BLAKE3 hash of the text
/// `queens verify; seed SEED; draw DRAW`, as a little-endian number. Its remainder modulo M has a
/// bias of less than M / 2^128.
fn random(seed: u64, draw: usize) -> u128 {
    let hash = blake3::hash(format!("queens verify; seed {seed}; draw {draw}").as_bytes());
    let (first, _) = hash.as_bytes().split_first_chunk().expect("it has 32 bytes");
    u128::from_le_bytes(*first)
}

#[cfg(test)]
mod tests {
    use farm::Digest;

    use super::*;

    /// Ranges of these lengths and counts.
    fn rows(rows: &[(u64, u128)]) -> Vec<Unit> {
        let mut start = 100;
        let row = |&(tasks, count): &(u64, u128)| {
            let range = Range::new(start, start + tasks).expect("it has tasks");
            start += tasks;
            Unit { range, result: CountResult { count, digest: Digest(0) }, is_task: false }
        };
        rows.iter().map(row).collect()
    }

    fn draw(draws: usize, seed: u64, rows: &[Unit]) -> Drawn {
        let counted = rows.iter().map(|row| row.result.count).sum();
        let tasks = rows.iter().map(|row| row.range.len()).sum();
        let sample = Sample { draws, seed: Seed::Number(seed), all: false };
        let bundle = blake3::hash(b"");
        let mut drawing = Drawing::new(sample, bundle, rows.len() as u64, (counted, tasks));
        for &row in rows {
            drawing.pass(row, None);
        }
        drawing.end()
    }

    #[test]
    fn draws_hit_ranges_in_proportion_to_counts_and_to_tasks() {
        // Given: a tenth of the tasks claims nothing, and another tenth claims half of the total.
        let all = rows(&[(100, 0), (100, 5_000), (800, 5_000)]);
        let drawn = draw(20_000, 1, &all);
        let hits = |row: usize| drawn.hits.iter().filter(|hit| **hit == all[row]).count();
        // Then: the expected shares are a twentieth, a quarter and a twentieth, and the rest. Four
        // standard deviations of 20,000 draws are 262 at most.
        for (row, expected) in [(0, 1_000), (1, 6_000), (2, 13_000)] {
            assert!(hits(row).abs_diff(expected) < 262, "{row}: {}", hits(row));
        }
    }

    #[test]
    fn how_the_prover_cuts_changes_no_share() {
        let whole = rows(&[(500, 500), (500, 1_500)]);
        let mut cut = vec![(1, 1); 500];
        cut.push((500, 1_500));
        let hits = |all: &[Unit]| {
            let is_second = |hit: &&Unit| hit.range.start() == 600;
            draw(400, 9, all).hits.iter().filter(is_second).count()
        };
        assert_eq!(hits(&whole), hits(&rows(&cut)));
    }

    #[test]
    fn a_seed_replays_its_draws_and_few_ranges_are_kept() {
        let all = rows(&[(10, 10); 1_000]);
        assert_eq!(draw(20, 3, &all).hits, draw(20, 3, &all).hits);
        assert_ne!(draw(20, 3, &all).hits, draw(20, 4, &all).hits);
        assert_eq!(draw(20, 3, &all).ranges, None);
        assert_eq!(draw(2_000, 1, &all).ranges, Some(all));
        assert!(draw(5, 1, &[]).hits.is_empty());
    }

    #[test]
    fn a_draw_hits_a_single_task_if_its_count_is_reported() {
        let tasks = rows(&[(1, 0), (1, 0), (1, 9)]);
        let range = Unit { range: Range::new(100, 103).expect("three"), ..tasks[2] };
        let sample = Sample { draws: 100, seed: Seed::Number(1), all: false };
        let mut drawing = Drawing::new(sample, blake3::hash(b""), 1, (9, 3));
        drawing.pass(range, Some(&tasks));
        let drawn = drawing.end();
        assert!(drawn.hits.iter().step_by(2).all(|hit| *hit == tasks[2]), "points of the total");
        assert!(tasks.iter().all(|task| drawn.hits.contains(task)));
        assert_eq!((drawn.ranges, drawn.least_share), (Some(vec![range]), 1.0 / 6.0));
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
