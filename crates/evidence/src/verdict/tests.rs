//! Forged bundles and their verdicts. The counts of single tasks are those of a real board. A
//! forger changes what is claimed.

use std::sync::LazyLock;

use board::{Method, PlanIndex, Problem, Tasks};
use count::{Backend, Kernel};
use farm::{CountResult, Digest, Range};

use super::{Outcome, Verdict};
use crate::draw::{Drawing, Drawn, Sample, Seed};
use crate::format::StatedRow;
use crate::pieces::{Pieces, Sizes};

/// The count of each task of N = 13, cut by its first four rows.
static COUNTS: LazyLock<Vec<u64>> = LazyLock::new(|| {
    let (problem, method) = (Problem::Total { n: 13 }, Method::Rows { rows: 4 });
    let index = PlanIndex::new(problem, method).expect("such a plan exists");
    let mut tasks = Tasks::new();
    index.fill(0..index.len(), &mut tasks).expect("they are all tasks");
    let mut counts = Vec::new();
    let mut kernel = Kernel::new(Backend::detect(), 13, method).expect("it suits");
    kernel.count_each(tasks.as_slice(), |count| counts.push(count)).expect("it counts");
    assert_eq!(u128::from(counts.iter().sum::<u64>()), vectors::total(13));
    counts
});

const DRAWS: usize = 200;
const SEEDS: u64 = 100;

/// Ranges with more than `whole` tasks cannot be recounted whole.
const SIZES: Sizes = Sizes { whole: 64, piece: 8 };

fn counted(range: Range) -> u128 {
    COUNTS[range.start() as usize..range.end() as usize]
        .iter()
        .map(|&count| u128::from(count))
        .sum()
}

/// Honest rows that end at these ordinals and at the end of the plan.
fn honest(ends: impl IntoIterator<Item = u64>) -> Vec<StatedRow> {
    let mut start = 0;
    let ends = ends.into_iter().chain([COUNTS.len() as u64]);
    let ranges = ends.filter_map(|end| {
        let range = Range::new(start, end);
        start = end;
        range
    });
    ranges
        .map(|range| StatedRow {
            range,
            result: CountResult { count: counted(range), digest: Digest(0) },
            by: 0,
        })
        .collect()
}

/// Honest rows of almost equal lengths.
fn rows(number: u64) -> Vec<StatedRow> {
    honest((1..number).map(|at| at * COUNTS.len() as u64 / number))
}

/// The draws of a verifier with this seed.
fn draw(rows: &[StatedRow], seed: u64) -> Drawn {
    let counted = rows.iter().map(|row| row.result.count).sum();
    let sample = Sample { draws: DRAWS, seed: Seed::Number(seed), all: false };
    let sums = (counted, COUNTS.len() as u64);
    let mut drawing = Drawing::new(sample, blake3::hash(b""), rows.len() as u64, sums);
    for row in rows {
        drawing.row(row);
    }
    drawing.end()
}

/// The verdict of a verifier with this seed, or `None` if it refuses the bundle.
fn verdict(rows: &[StatedRow], seed: u64) -> Option<Verdict> {
    judged(rows, &draw(rows, seed))
}

fn judged(rows: &[StatedRow], drawn: &Drawn) -> Option<Verdict> {
    let counted_by_all: u128 = rows.iter().map(|row| row.result.count).sum();
    let tasks = COUNTS.len() as u64;
    let pieces = Pieces::cut(drawn, SIZES);
    let is_wrong = |piece: &crate::pieces::Piece| {
        piece.result.is_some_and(|result| result.count != counted(piece.range))
    };
    if pieces.pieces.iter().any(is_wrong) {
        return None;
    }
    let outcomes = pieces.pieces.iter().map(|piece| Outcome::Counted(counted(piece.range)));
    let outcomes: Vec<Outcome> = outcomes.collect();
    Verdict::of((counted_by_all, tasks), drawn, &pieces, &outcomes).ok()
}

/// Rows of almost equal lengths with these claims of their tasks.
fn rows_of(number: u64, claimed: &[u64]) -> Vec<StatedRow> {
    let mut all = rows(number);
    for StatedRow { range, result, .. } in &mut all {
        let tasks = &claimed[range.start() as usize..range.end() as usize];
        result.count = tasks.iter().map(|&count| u128::from(count)).sum();
    }
    all
}

/// The verdict with this seed if the claims of tasks are reported, except in every third row.
fn verdict_on_reported(rows: &[StatedRow], claimed: &[u64], seed: u64) -> Option<Verdict> {
    let total = rows.iter().map(|row| row.result.count).sum();
    let sample = Sample { draws: DRAWS, seed: Seed::Number(seed), all: false };
    let sums = (total, COUNTS.len() as u64);
    let mut drawing = Drawing::new(sample, blake3::hash(b""), rows.len() as u64, sums);
    for (number, row) in rows.iter().enumerate() {
        if number % 3 == 2 {
            drawing.row(row);
            continue;
        }
        let task = |ordinal: u64| {
            let task = Range::new(ordinal, ordinal + 1).expect("it is one task");
            let count = claimed[ordinal as usize].into();
            (task, CountResult { count, digest: Digest(0) })
        };
        let tasks: Vec<_> = (row.range.start()..row.range.end()).map(task).collect();
        drawing.reported(row, &tasks, blake3::hash(b""));
    }
    judged(rows, &drawing.end())
}

/// The number of seeds with which the verifier refuses.
fn refusals(rows: &[StatedRow]) -> u64 {
    (0..SEEDS).filter(|&seed| verdict(rows, seed).is_none()).count() as u64
}

#[test]
fn honest_bundles_hold_however_they_are_cut() {
    let total = vectors::total(13) as f64;
    for all in
        [rows(COUNTS.len() as u64), rows(936), rows(300), rows(10), rows(1), cheap_first(1.0)]
    {
        let is_small = |row: &StatedRow| row.range.len() <= SIZES.whole;
        let (mut near, mut bounds, mut refused) = (0, 0.0, 0);
        for seed in 0..SEEDS {
            let Some(verdict) = verdict(&all, seed) else {
                refused += 1;
                continue;
            };
            let estimate = verdict.estimate.expect("there are enough draws");
            near += u64::from((estimate.value - total).abs() <= estimate.error());
            bounds += verdict.wrong_of_total / SEEDS as f64;
            if all.iter().all(is_small) {
                assert!((verdict.wrong_of_total - 0.0295).abs() < 1e-4, "{verdict:?}");
                assert_eq!(verdict.wrong_of_tasks, Some(verdict.wrong_of_total));
            }
        }
        let rows = all.len();
        // Counts of small pieces are skewed. So four standard errors are exceeded more often than
        // by a normal distribution: once in 3,000 cases.
        assert!(refused <= 1, "{rows} rows: {refused} of {SEEDS}");
        // The smallest number that 95% confidence allows with a probability of 99.99%.
        assert!(near >= SEEDS * 86 / 100, "{rows} rows: {near} of {SEEDS} error bars hold");
        assert!(bounds < 0.2, "{rows} rows: at most {bounds} may be wrong, on average");
    }
}

/// The cheapest tasks at the beginning of the plan as honest ranges of one task each, and one range
/// of all the others that claims `factor` times the truth.
fn cheap_first(factor: f64) -> Vec<StatedRow> {
    let total = vectors::total(13);
    let mut sum = 0;
    let cheap = COUNTS.iter().take_while(|&&count| {
        sum += u128::from(count);
        sum < total / 20
    });
    let mut all = honest(1..=cheap.count() as u64);
    let last = all.last_mut().expect("there is one");
    last.result.count = (last.result.count as f64 * factor) as u128;
    all
}

#[test]
fn one_invented_range_among_thousands_is_refused() {
    for (factor, least) in [(1.28, SEEDS * 90 / 100), (0.75, SEEDS * 90 / 100), (3.0, SEEDS)] {
        let refused = refusals(&cheap_first(factor));
        assert!(refused >= least, "{factor}: {refused} of {SEEDS}");
    }
}

#[test]
fn a_range_of_a_hundred_times_its_neighbours_is_refused() {
    let mut all = rows(936);
    let mean = vectors::total(13) / 936;
    let average = all.iter_mut().min_by_key(|row| row.result.count.abs_diff(mean));
    average.expect("there are many").result.count *= 100;
    assert_eq!(refusals(&all), SEEDS);
}

#[test]
fn ranges_that_claim_nothing_are_drawn_too() {
    let mut all = rows(936);
    all[400..500].iter_mut().for_each(|row| row.result.count = 0);
    // They are a tenth of the tasks. A hundred draws miss it with a probability of 0.9^100.
    assert_eq!(refusals(&all), SEEDS);
}

#[test]
fn the_odds_of_missing_two_errors_that_cancel_are_reported() {
    let mut all = rows(936);
    all[100].result.count += 1;
    all[800].result.count -= 1;

    let verdicts = || (0..SEEDS).map(|seed| verdict(&all, seed));
    let missed = verdicts().flatten().count() as f64 / SEEDS as f64;

    // Then: a single range is missed as often as the verdict says, and two ranges with the square
    // of that. Each is about as large as any other. Four standard deviations are 0.19.
    let stated = verdicts().flatten().next().expect("it is missed often").missed;
    let single = (1.0_f64 - 1.0 / 936.0).powi(DRAWS as i32);
    assert!((missed - single * single).abs() < 0.19, "{missed}");
    assert!(
        stated >= single && stated < 1.0,
        "the hardest to hit is harder than the average: {stated}"
    );
}

/// A reader of "at most x% of the total" may be misled in one of 20 cases.
#[test]
fn limits_with_95_percent_confidence_hold_in_95_of_100_cases() {
    let total = vectors::total(13) as f64;
    for wrong in [3, 10, 20, 30, 60] {
        // Given: so many ranges of 936 that claim half as much again.
        let mut all = rows(936);
        let truth: u128 = all.iter().map(|row| row.result.count).sum();
        for at in 0..wrong {
            let row = &mut all[15 * at + 7];
            row.result.count += row.result.count / 2 + 1;
        }
        let counted: u128 = all.iter().map(|row| row.result.count).sum();
        let share = (counted - truth) as f64 / total;
        let misled = |seed: &u64| {
            verdict(&all, *seed).is_some_and(|reported| reported.wrong_of_total < share)
        };
        let misled = (0..SEEDS).filter(misled).count();
        // Four standard deviations of 5% are 9 seeds.
        assert!(misled as u64 <= SEEDS * 5 / 100 + 9, "{wrong}: {misled} of {SEEDS}");
    }
    for factor in [0.96, 1.02, 1.05, 1.1] {
        // Given: ranges that are too large to be counted, and claim a little too much or too
        // little.
        let mut all = rows(10);
        all.iter_mut().for_each(|row| {
            row.result.count = (row.result.count as f64 * factor) as u128;
        });
        let counted: u128 = all.iter().map(|row| row.result.count).sum();
        let share = (counted as f64 - total).abs() / counted as f64;
        let misled = |seed: &u64| {
            verdict(&all, *seed).is_some_and(|reported| reported.wrong_of_total < share)
        };
        let misled = (0..SEEDS).filter(misled).count();
        assert!(misled as u64 <= SEEDS * 5 / 100 + 9, "{factor}: {misled} of {SEEDS}");
    }
}

/// Honest bundles that report most tasks, in rows that are too large to be counted whole and in
/// smaller ones.
#[test]
fn honest_bundles_that_report_their_tasks_hold() {
    for number in [10, 100, 936] {
        let all = rows_of(number, &COUNTS);
        let verdicts = (0..SEEDS).filter_map(|seed| verdict_on_reported(&all, &COUNTS, seed));
        let verdicts: Vec<Verdict> = verdicts.collect();
        assert!(verdicts.len() as u64 >= SEEDS - 1, "{number}: {} hold", verdicts.len());
        // Rows of 936 are short enough to be counted whole.
        assert!(verdicts.iter().all(|verdict| verdict.by_task == (number < 936)), "{number}");
        let large = verdicts.iter().filter(|verdict| verdict.in_large > 0).count();
        assert_eq!(
            large > 0,
            number < 100,
            "{number}: rows without reported tasks are large or not"
        );
    }
}

/// Tasks claim half as much again, or nothing, and their sums are those of their rows.
#[test]
fn limits_for_reported_tasks_hold_in_95_of_100_cases() {
    for (every, factor) in [(20, 3), (50, 3), (100, 3), (50, 0), (200, 0)] {
        let mut claimed = COUNTS.clone();
        let wrong = claimed.iter_mut().step_by(every).filter(|count| **count > 0);
        let mut wrong_tasks = 0.0;
        for count in wrong {
            *count = *count * factor / 2;
            wrong_tasks += 1.0;
        }
        let all = rows_of(100, &claimed);
        let counted: u128 = all.iter().map(|row| row.result.count).sum();
        let off = |(&result, &count): (&u64, &u64)| result.abs_diff(count);
        let off: u64 = claimed.iter().zip(COUNTS.iter()).map(off).sum();
        let share = if factor > 1 { off as f64 / counted as f64 } else { 0.0 };
        let of_tasks = wrong_tasks / COUNTS.len() as f64;
        let misled = |seed: &u64| {
            verdict_on_reported(&all, &claimed, *seed).is_some_and(|reported| {
                let tasks = reported.wrong_of_tasks.expect("nothing is estimated alone");
                reported.wrong_of_total < share || tasks < of_tasks
            })
        };
        let misled = (0..SEEDS).filter(misled).count();
        // There are two statements. Four standard deviations of 10% are 12 seeds.
        assert!(misled as u64 <= SEEDS * 10 / 100 + 12, "{every}, {factor}: {misled} of {SEEDS}");
    }
}

#[test]
fn draws_that_were_not_finished_count_as_wrong_ones() {
    let all = rows(936);
    let counted_by_all = vectors::total(13);
    let tasks = COUNTS.len() as u64;
    let drawn = draw(&all, 1);
    let pieces = Pieces::cut(&drawn, SIZES);
    let done = |piece: usize| Outcome::Counted(counted(pieces.pieces[piece].range));
    let verdict = |outcome: &dyn Fn(usize) -> Outcome| {
        let outcomes: Vec<_> = (0..pieces.pieces.len()).map(outcome).collect();
        Verdict::of((counted_by_all, tasks), &drawn, &pieces, &outcomes).expect("it is honest")
    };
    let whole = verdict(&done);
    let unfinished = |piece| if piece == 4 { Outcome::Unfinished } else { done(piece) };
    assert!(verdict(&unfinished).wrong_of_total > 1.5 * whole.wrong_of_total);
    let short = |piece| if piece >= 50 { Outcome::NotBegun } else { done(piece) };
    let short = verdict(&short);
    assert!(short.draws >= 50 && short.draws < 60 && short.wrong_of_total > 0.08, "{short:?}");
    let nothing = verdict(&|_| Outcome::NotBegun);
    assert_eq!((nothing.draws, nothing.wrong_of_total, nothing.missed), (0, 1.0, 1.0));
}
