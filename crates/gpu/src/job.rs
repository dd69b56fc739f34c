//! What is counted at a time: a split, or a part of it.

use std::ops::Range;

use board::halves::{Shares, Slice, Split};

/// The half-boards of one half that are listed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Listed {
    /// The number of slices that the list is divided into: 1, 2 or 4.
    pub(crate) modulus: u32,
    /// A bit for each slice that is wanted.
    pub(crate) residues: u32,
    /// The choices of columns for the upper quarter that are paired.
    pub(crate) choices: Range<u32>,
}

impl Listed {
    /// The number of lists: for each slice one without ties, and one of ties.
    pub(crate) fn lists(&self) -> usize {
        2 * self.modulus as usize
    }
}

/// A split, some slices of its lists, and a part of their half-boards.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Job {
    /// The split, without its slices.
    pub(crate) split: Split,
    pub(crate) shares: Shares,
    /// Of the upper and of the lower half.
    pub(crate) listed: [Listed; 2],
}

/// How many pairs fit of each upper list with each lower list: `fits[upper * lower lists + lower]`.
pub(crate) type Fits = Vec<u64>;

impl Job {
    /// The jobs of tasks that follow one another: neighbours that differ in slices alone are one
    /// job. For each task the number of its job.
    pub(crate) fn of_tasks(n: u32, choices: u32, tasks: &[Split]) -> (Vec<Job>, Vec<usize>) {
        let mut jobs: Vec<Job> = Vec::new();
        let mut job_of = Vec::with_capacity(tasks.len());
        for task in tasks {
            let split = Split { upper: Slice::WHOLE, lower: Slice::WHOLE, ..*task };
            let moduli = [task.upper, task.lower].map(|slice| slice.modulus());
            let is_same = |job: &&mut Job| {
                job.split == split && [0, 1].iter().all(|&i| job.listed[i].modulus == moduli[i])
            };
            if jobs.last_mut().filter(is_same).is_none() {
                let listed =
                    moduli.map(|modulus| Listed { modulus, residues: 0, choices: 0..choices });
                jobs.push(Job { split, shares: Shares::new(n, split), listed });
            }
            let job = jobs.last_mut().expect("it was just added");
            for (listed, slice) in job.listed.iter_mut().zip([task.upper, task.lower]) {
                listed.residues |= 1 << slice.residue();
            }
            job_of.push(jobs.len() - 1);
        }
        (jobs, job_of)
    }

    /// The sum of the shares of a task's boards; `None` if it passes 64 bits.
    pub(crate) fn sum_of(&self, task: &Split, fits: &Fits) -> Option<u64> {
        let [upper, lower] = [task.upper, task.lower].map(|slice| 2 * slice.residue() as usize);
        let mut sum = 0_u64;
        for (i, times) in self.shares.times.iter().enumerate() {
            for (j, times) in times.iter().enumerate() {
                let place = (upper + i) * self.listed[1].lists() + lower + j;
                sum = sum.checked_add(times.checked_mul(fits[place])?)?;
            }
        }
        Some(sum)
    }

    /// Two jobs that count together what this one counts, with half of the choices of one half
    /// each; `None` if that half has only one.
    pub(crate) fn parted(&self, half: usize) -> Option<[Job; 2]> {
        let Range { start, end } = self.listed[half].choices;
        let middle = start + (end - start) / 2;
        (middle > start).then(|| {
            [start..middle, middle..end].map(|choices| {
                let mut job = self.clone();
                job.listed[half].choices = choices;
                job
            })
        })
    }
}
