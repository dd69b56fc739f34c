//! The direct search in jobs, one for each pair of queens in the first two rows.
//!
//! The MC# project cut N = 26 in this way into 277 jobs (mcsharp.net/nqueens.html, 2009): 23 with a queen in
//! the corner, and for the first queen 1 to 12 squares from it 23 and then 21 jobs each.

use super::{Attacked, Orbits};
use crate::BoardTooLarge;
use crate::bits::ones;
use crate::random::SplitMix64;

/// The boards of the direct search that have these queens in rows 0 and 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Job {
    n: u32,
    /// Column of the queen in row 0, less than half of N. In column 0 it stands in the corner.
    pub first: u32,
    /// Column of the queen in row 1.
    pub second: u32,
}

/// The jobs of a board of size `n`, in the order of their queens. For N of 2 or more their totals add up to
/// that of the board; smaller boards have no second row and no jobs.
///
/// # Errors
///
/// [`BoardTooLarge`], if `n` is greater than 32.
pub fn jobs(n: u32) -> Result<Vec<Job>, BoardTooLarge> {
    BoardTooLarge::check(n)?;
    let of_first = |first| {
        let seconds: Vec<u32> = match first {
            // A queen in the last column would attack that of column 1, which cannot be nearer.
            0 => (2..n.saturating_sub(1)).collect(),
            _ => {
                let orbits = Orbits { first, ..Orbits::new(n) };
                ones(orbits.inside_free(1, Attacked::default().after(1 << first))).collect()
            }
        };
        seconds.into_iter().map(move |second| Job { n, first, second })
    };
    Ok((0..n / 2).flat_map(of_first).collect())
}

impl Job {
    /// The number of placements that the job stands for: the sizes of the orbits that it finds.
    #[must_use]
    pub fn total(self) -> u128 {
        let mut orbits = self.orbits();
        std::iter::from_fn(|| orbits.advance()).map(u128::from).sum()
    }

    /// The search below the job's two queens.
    fn orbits(self) -> Orbits {
        let mut orbits = Orbits { next: None, ..Orbits::new(self.n) };
        orbits.open(&[self.first, self.second]);
        orbits
    }

    /// One random descent: an estimate of the number of queens placed below the job's two. On average it is
    /// right (D. E. Knuth, "Estimating the Efficiency of Backtrack Programs", 1975).
    fn probe(self, random: &mut SplitMix64) -> f64 {
        let orbits = self.orbits();
        let mut attacked = Attacked::default().after(1 << self.first).after(1 << self.second);
        let (mut ways, mut nodes) = (1.0, 0.0);
        for row in 2..self.n {
            let free: Vec<u32> = ones(orbits.level(row, attacked).free).collect();
            if free.is_empty() {
                break;
            }
            ways *= free.len() as f64;
            nodes += ways;
            attacked = attacked.after(1 << free[random.below(free.len())]);
        }
        nodes
    }
}

/// Estimates of the sizes of jobs, in queens placed.
#[derive(Clone, Debug)]
pub struct JobSizes {
    jobs: Vec<Job>,
    random: SplitMix64,
    rounds: u32,
    sums: Vec<f64>,
    squares: Vec<f64>,
}

impl JobSizes {
    /// Sizes of these jobs, of which nothing is known yet. Equal seeds give equal estimates.
    #[must_use]
    pub fn new(jobs: Vec<Job>, seed: u64) -> JobSizes {
        let zeros = vec![0.0; jobs.len()];
        let random = SplitMix64::new(seed);
        JobSizes { jobs, random, rounds: 0, sums: zeros.clone(), squares: zeros }
    }

    /// Sends one more probe down each job.
    pub fn probe(&mut self) {
        let JobSizes { jobs, random, rounds, sums, squares } = self;
        *rounds += 1;
        for ((job, sum), square) in jobs.iter().zip(sums).zip(squares) {
            let nodes = job.probe(random);
            *sum += nodes;
            *square += nodes * nodes;
        }
    }

    /// Number of probes that each job has had.
    #[must_use]
    pub fn probes(&self) -> u32 {
        self.rounds
    }

    /// Each job with the queens that it places, estimated. All are 0 before the first probe.
    pub fn sizes(&self) -> impl Iterator<Item = (Job, f64)> + '_ {
        let rounds = f64::from(self.rounds.max(1));
        self.jobs.iter().zip(&self.sums).map(move |(&job, sum)| (job, sum / rounds))
    }

    /// The queens that all jobs place, and the error of this estimate for 95% confidence, which is infinite
    /// before the second probe.
    #[must_use]
    pub fn nodes(&self) -> (f64, f64) {
        let rounds = f64::from(self.rounds);
        let variance = |(sum, squares): (&f64, &f64)| {
            (squares - sum * sum / rounds).max(0.0) / (rounds * (rounds - 1.0))
        };
        let error = match self.rounds {
            0 | 1 => f64::INFINITY,
            _ => 1.96 * self.sums.iter().zip(&self.squares).map(variance).sum::<f64>().sqrt(),
        };
        (self.sizes().map(|(_, nodes)| nodes).sum(), error)
    }
}
