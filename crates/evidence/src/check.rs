//! Checks that a bundle does not contradict itself.
//!
//! This module counts nothing. It trusts nothing that a bundle says: lines have a bounded length, only
//! known fields are accepted, and every number is compared with the others.

use std::collections::{BTreeMap, BTreeSet, BinaryHeap};
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use blake3::Hash;
use board::Cut;
use farm::{
    Across, AuditPolicy, Fact, Fingerprint, IntervalSet, JobState, Known, Plan, Row, Slice,
};

use super::format::{Audit, DisputeState, Header, Line, VERSION};
use super::merkle::Merkle;
use super::recount::Sample;
use crate::BundleError;

/// Bytes of the longest line that is read. A sound bundle has no longer ones.
const MAX_LINE: u64 = 64 << 10;

/// The content of a bundle that does not contradict itself.
#[derive(Debug)]
pub struct Checked {
    /// Its first line.
    pub header: Header,
    /// The hash of the header.
    pub name: Hash,
    /// The plan that was counted.
    pub plan: Plan,
    /// The part of the plan that was to be counted.
    pub slice: Slice,
    /// The job's state when it was exported.
    pub state: JobState,
    /// The sum over all ranges.
    pub total: u128,
    /// What is known of the total, and what it therefore satisfies; nothing if it is no total.
    pub facts: Vec<Fact>,
    /// Number of ranges that another party counted with the same result, in an audit or in a dispute.
    pub confirmed: u64,
    /// Number of ranges that the bundle calls counted twice, but without a second count.
    pub unproven: usize,
    /// Owners and machines that counted ranges.
    pub makers: BTreeSet<String>,
    /// Names of the kernels that counted ranges.
    pub kernels: BTreeSet<String>,
    /// The ranges to recount, in an order that the seed decides.
    pub chosen: Vec<Row>,
}

/// Reads a bundle from beginning to end, and chooses the ranges to recount.
///
/// # Errors
///
/// [`BundleError`] says what is wrong, with the number of the line.
pub fn check(bundle: &Path, sample: Sample) -> Result<Checked, BundleError> {
    Ok(read(bundle, sample)?)
}

fn read(bundle: &Path, sample: Sample) -> Result<Checked> {
    let mut lines = Lines { input: BufReader::new(File::open(bundle)?), number: 0 };
    let first = lines.next()?.context("it is empty")?;
    let version: Version = serde_json::from_slice(&first).context("it is not a bundle")?;
    let version = version.queens_bundle;
    ensure!(version == VERSION, "its format is {version}, and this program reads {VERSION}");
    let header: Header = serde_json::from_slice(&first).context("line 1")?;
    let plan = header.plan()?;
    let slice = header.slice()?;
    let cut = Cut::new(plan.problem, plan.method)?;
    ensure!(
        cut.len() == plan.tasks,
        "it says that {plan} has {} tasks, but there are {}",
        plan.tasks,
        cut.len()
    );

    let mut books = Books::new(plan, slice, sample);
    let mut tree = Merkle::default();
    while let Some(bytes) = lines.next()? {
        let line = serde_json::from_slice(&bytes);
        let seen = line.map_err(anyhow::Error::from).and_then(|line| books.see(line));
        seen.with_context(|| format!("line {}", lines.number))?;
        tree.add(&bytes);
    }
    let root = tree.root().to_string();
    ensure!(
        root == header.merkle_root,
        "its lines have the Merkle root {root}, but the header says {}: lines were changed, added or \
         removed",
        header.merkle_root
    );
    let said = [header.policies, header.ranges, header.audits, header.disputes, header.trust];
    ensure!(said == books.lines, "the numbers of lines differ from those in its header");
    let (state, total) = (header.state()?, header.counted()?);
    ensure!(
        books.total == total,
        "its ranges add up to {}, but its header says {total}",
        books.total
    );
    books.end(state)?;
    let facts =
        if state == JobState::Done { std::mem::take(&mut books.known.facts) } else { Vec::new() };
    if let Some(reason) = Fact::contradiction(&facts, total) {
        bail!(reason);
    }
    Ok(Checked {
        name: blake3::hash(&first),
        plan,
        slice,
        state,
        total,
        facts,
        confirmed: books.confirmed,
        unproven: books.agreed.len(),
        makers: books.makers,
        kernels: books.kernels,
        chosen: books.chosen.into_sorted_vec().into_iter().map(|ranked| ranked.entry).collect(),
        header,
    })
}

/// The field that the header has in every version of the format.
#[derive(serde::Deserialize)]
struct Version {
    queens_bundle: u32,
}

struct Lines<R> {
    input: R,
    number: u64,
}

impl<R: BufRead> Lines<R> {
    fn next(&mut self) -> Result<Option<Vec<u8>>> {
        let mut line = Vec::new();
        self.input.by_ref().take(MAX_LINE).read_until(b'\n', &mut line)?;
        if line.is_empty() {
            return Ok(None);
        }
        self.number += 1;
        ensure!(
            line.pop() == Some(b'\n'),
            "line {} is cut off or longer than {MAX_LINE} bytes",
            self.number
        );
        Ok(Some(line))
    }
}

/// The state of the check: sums and sets over the lines so far.
struct Books {
    plan: Plan,
    fingerprint: Fingerprint,
    slice: IntervalSet,
    sample: Sample,
    known: Known,
    /// Between whom second opinions lie, by the newest policy.
    across: Across,
    /// The newest policy, if its seed is revealed.
    policy: Option<AuditPolicy>,
    /// Number of policies of which the seed is not revealed.
    hidden: u64,
    /// Number of lines of each kind: policies, ranges, audits, disputes, trust.
    lines: [u64; 5],
    covered: IntervalSet,
    /// The end of the last range.
    end: u64,
    total: u128,
    makers: BTreeSet<String>,
    kernels: BTreeSet<String>,
    /// Ranges that the bundle calls counted twice and whose second count is not seen yet, by their start.
    agreed: BTreeMap<u64, Row>,
    confirmed: u64,
    wanted: u64,
    open_disputes: u64,
    chosen: BinaryHeap<Ranked>,
}

/// A range with its pseudorandom rank. The heap removes the highest rank first.
struct Ranked {
    rank: [u8; 32],
    entry: Row,
}

impl Books {
    fn new(plan: Plan, slice: Slice, sample: Sample) -> Books {
        Books {
            plan,
            fingerprint: plan.fingerprint(),
            slice: slice.ordinals(plan.tasks),
            sample,
            known: Known::of(&plan, slice),
            across: Across::default(),
            policy: None,
            hidden: 0,
            lines: [0; 5],
            covered: IntervalSet::new(),
            end: 0,
            total: 0,
            makers: BTreeSet::new(),
            kernels: BTreeSet::new(),
            agreed: BTreeMap::new(),
            confirmed: 0,
            wanted: 0,
            open_disputes: 0,
            chosen: BinaryHeap::new(),
        }
    }

    /// Checks one line. Lines must come kind by kind, and ranges in ascending order.
    fn see(&mut self, line: Line) -> Result<()> {
        let kind = match &line {
            Line::Policy(_) => 0,
            Line::Range { .. } => 1,
            Line::Audit { .. } => 2,
            Line::Dispute { .. } => 3,
            Line::Trust { .. } => 4,
        };
        ensure!(self.lines[kind + 1..].iter().all(|&lines| lines == 0), "it is out of order");
        self.lines[kind] += 1;
        match line {
            Line::Policy(policy) => {
                self.across = policy.across()?;
                self.policy = policy.committed()?;
                self.hidden += u64::from(self.policy.is_none());
            }
            Line::Range { audit, count, .. } => self.range(count.try_into()?, audit)?,
            Line::Audit { count, .. } => self.audit(&count.try_into()?)?,
            Line::Dispute { count, state, .. } => self.dispute(&count.try_into()?, state),
            Line::Trust { .. } => {}
        }
        Ok(())
    }

    fn range(&mut self, entry: Row, audit: Audit) -> Result<()> {
        let range = entry.range;
        let last = std::mem::replace(&mut self.end, range.end());
        ensure!(
            range.start() >= last,
            "{range} begins before {last}, where the previous range ended"
        );
        ensure!(
            self.slice.contains(range),
            "{range} does not belong to the {} tasks of {}",
            self.slice.len(),
            self.plan
        );
        let chosen = self.policy.is_some_and(|policy| policy.chooses(self.fingerprint, range));
        ensure!(
            !chosen || audit != Audit::NotChosen,
            "{range} is chosen by the audit's seed, but the bundle says that it is not"
        );
        ensure!(
            self.known.allows(range, entry.tally.count),
            "the tasks of {range} cannot count {}",
            entry.tally.count
        );
        self.covered.insert(range);
        let total = self.total.checked_add(entry.tally.count.into());
        self.total = total.context("the sum exceeds 2^128 - 1")?;
        self.makers.insert(entry.author.maker.to_string());
        self.kernels.insert(entry.kernel.to_string());
        self.wanted += u64::from(audit == Audit::Wanted);
        if audit == Audit::Agreed {
            self.agreed.insert(range.start(), entry.clone());
        }
        self.choose(entry);
        Ok(())
    }

    /// Adds a range to the sample, which keeps the ranges with the lowest ranks.
    fn choose(&mut self, entry: Row) {
        let text = format!("queens verify; seed {}; range {}", self.sample.seed, entry.range);
        let rank = *blake3::hash(text.as_bytes()).as_bytes();
        self.chosen.push(Ranked { rank, entry });
        if self.chosen.len() > self.sample.most {
            self.chosen.pop();
        }
    }

    fn audit(&mut self, second: &Row) -> Result<()> {
        let range = second.range;
        let Some(first) = self.agreed.remove(&range.start()) else {
            bail!("this is a second count of {range}, but no first count waits for one");
        };
        ensure!(
            first.range == range && first.tally.claim() == second.tally.claim(),
            "the second count of {range} differs from the first, although the bundle says that they agree"
        );
        let (one, other) = (&first.author.maker, &second.author.maker);
        ensure!(
            one.is_apart_from(other, self.across),
            "{range} was counted by {one} and by {other}, who do not check each other"
        );
        self.confirmed += 1;
        Ok(())
    }

    /// Counts a settled dispute as a confirmation: two parties agreed on the count. One of them is on the
    /// line of the range, the other on this line.
    fn dispute(&mut self, other: &Row, state: DisputeState) {
        self.open_disputes += u64::from(state == DisputeState::Open);
        let (start, across) = (other.range.start(), self.across);
        let agrees = self.agreed.get(&start).is_some_and(|kept| {
            kept.range == other.range
                && kept.tally.claim() == other.tally.claim()
                && kept.author.maker.is_apart_from(&other.author.maker, across)
        });
        if agrees && state == DisputeState::Settled {
            self.agreed.remove(&start);
            self.confirmed += 1;
        }
    }

    fn end(&self, state: JobState) -> Result<()> {
        ensure!(
            self.hidden == 0 || !state.is_over(),
            "its state is {state}, but the seeds of {} audits are missing",
            self.hidden
        );
        if state != JobState::Done {
            return Ok(());
        }
        ensure!(
            self.covered == self.slice,
            "its state is done, but {} of {} tasks have no count",
            self.slice.len() - self.covered.len(),
            self.slice.len()
        );
        ensure!(
            self.open_disputes == 0 && self.wanted == 0,
            "its state is done, but {} ranges wait for a second count and {} counts are disputed",
            self.wanted,
            self.open_disputes
        );
        Ok(())
    }
}

impl Ord for Ranked {
    fn cmp(&self, other: &Ranked) -> std::cmp::Ordering {
        self.rank.cmp(&other.rank)
    }
}

impl PartialOrd for Ranked {
    fn partial_cmp(&self, other: &Ranked) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Ranked {
    fn eq(&self, other: &Ranked) -> bool {
        self.rank == other.rank
    }
}

impl Eq for Ranked {}

#[cfg(test)]
mod tests {
    use farm::{Method, Problem};
    use serde_json::json;

    use super::*;
    use crate::format::Policy;

    const PLAN: Plan =
        Plan { problem: Problem::Total { n: 8 }, method: Method::Rows { rows: 2 }, tasks: 21 };

    fn books(ranges: &[(u64, u64)]) -> Result<Books> {
        let mut books = Books::new(PLAN, Slice::ALL, Sample { most: 2, seed: 1 });
        for (first, past) in ranges {
            let count = json!({
                "first": first, "past": past, "count": "4", "residue": "4", "digest": "1f",
                "kernel": "avx2", "owner": "o", "machine": "m", "worker": "w", "build": "1", "lease": "1", "busy_us": 1,
            });
            let line = json!({"line": "range", "at": 0, "audit": "not_chosen", "count": count});
            books.see(serde_json::from_value(line)?)?;
        }
        Ok(books)
    }

    #[test]
    fn what_is_done_covers_the_plan_once() {
        let end = |ranges: &[_]| books(ranges).and_then(|books| books.end(JobState::Done));
        end(&[(0, 5), (5, 21)]).expect("it is all there");
        for wrong in [&[(0, 5), (6, 21)][..], &[(0, 20)], &[(0, 5), (4, 21)], &[(0, 22)], &[]] {
            end(wrong).expect_err("a gap, an overlap, or too much");
        }
        let unfinished = books(&[(0, 5)]).and_then(|books| books.end(JobState::Paused));
        unfinished.expect("it does not say that it is done");
    }

    #[test]
    fn a_sample_is_what_its_seed_draws() {
        let drawn = |seed| {
            let mut books = books(&[]).expect("no line is wrong");
            books.sample.seed = seed;
            let all = self::books(&[(0, 5), (5, 9), (9, 12), (12, 21)]).expect("they are in order");
            let mut ranked = all.chosen.into_vec();
            assert_eq!(ranked.len(), 2, "no more than asked for");
            books.choose(ranked.pop().expect("there are two").entry);
            books.chosen.into_vec().pop().map(|ranked| ranked.rank)
        };
        assert_ne!(drawn(1), drawn(2));
        assert_eq!(drawn(3), drawn(3));
    }

    #[test]
    fn a_seed_may_be_secret_only_until_the_end_and_is_the_one_that_was_committed_to() {
        let policy = AuditPolicy {
            share_ppm: 0,
            seed: 5,
            salt: 6,
            by_search: false,
            across: Across::Machines,
        };
        let seen = |line: &str, state| {
            let mut books = books(&[(0, 21)])?;
            books.lines = [0; 5];
            books.see(serde_json::from_str(line)?)?;
            books.end(state)
        };
        let line = |state| {
            let line = Line::Policy(Policy::new(policy, state, 0));
            serde_json::to_string(&line).expect("it is JSON")
        };
        let (hidden, revealed) = (line(JobState::Running), line(JobState::Done));
        assert!(!hidden.contains("seed") && revealed.contains(r#""seed":"5""#), "{hidden}");
        seen(&hidden, JobState::Running).expect("it may not be told yet");
        seen(&revealed, JobState::Done).expect("it is what was committed to");
        for state in [JobState::Done, JobState::Cancelled] {
            let missing = seen(&hidden, state).expect_err("it is over").to_string();
            assert!(missing.contains("seeds of 1 audits are missing"), "{missing}");
        }
        let other = revealed.replace(r#""seed":"5""#, r#""seed":"7""#);
        seen(&other, JobState::Done).expect_err("another seed");
    }

    #[test]
    fn a_count_beyond_all_bounds_is_refused() {
        let mut books = books(&[]).expect("no line is wrong");
        let count = json!({
            "first": 0, "past": 1, "count": "1441", "residue": "1441", "digest": "1f",
            "kernel": "avx2", "owner": "o", "machine": "m", "worker": "w", "build": "1", "lease": "1", "busy_us": 1,
        });
        let line = json!({"line": "range", "at": 0, "audit": "not_chosen", "count": count});
        let refused = books.see(serde_json::from_value(line).expect("it is a line"));
        // Six queens are missing, and a task stands for two boards: 2 x 6!
        let refused = refused.expect_err("it is too much").to_string();
        assert!(refused.contains("cannot count 1441"), "{refused}");
    }
}
