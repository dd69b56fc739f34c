//! The order in which a plan is leased.
//!
//! Tasks differ in cost along the ordinals. Therefore ranges are leased from all parts of a plan.
//! The tasks that are done are then a fair sample of the plan early on, and show how long the rest
//! will take ([`costs`](crate::costs)).
//!
//! ```text
//!   strata    0       1       2       3       4       5       6       7     64 in truth
//!   turns     0       4       2       6       1       5       3       7     bits reversed: the
//!                                                                           van der Corput order
//! ```
//!
//! When it is the turn of a stratum, its lowest free ordinals are leased. A lease may go on beyond
//! the end of the stratum. If the free ordinals directly before the stratum are too few for a lease
//! of their own, the lease begins with them. Otherwise a short plan would end with many leases of a
//! few tasks. Each session has its own turns, so that the tasks that it has counted are a fair
//! sample as well, and show how fast the session is. Each new session begins one turn later than
//! the session before it.

use std::collections::BTreeMap;

use crate::{IntervalSet, Plan, Range, SessionId};

const STRATA: u64 = 64;

/// A lease usually has at most the tasks of the plan divided by this, so that all strata of a short
/// plan are seen early as well.
const PIECES: u64 = 16 * STRATA;
/// A lease is not cut into pieces of fewer tasks than this.
const LEAST_PIECE: u64 = 256;

/// A lease of more tasks than those of the plan divided by this spans several strata in any case.
/// It takes the lowest free ordinals, so that the ranges of other sessions cut it into fewer
/// pieces.
const LONG: u64 = 16;

/// Decides from which stratum of a plan each session is leased next.
#[derive(Clone, Debug)]
pub(crate) struct StratumScheduler {
    tasks: u64,
    /// The most tasks that a lease should have. If tasks are so short that there would be too many
    /// leases, a lease may have more.
    pub(crate) piece: u64,
    /// By session: the number of its next turn.
    turns: BTreeMap<SessionId, u64>,
    sessions: u64,
}

impl StratumScheduler {
    pub(crate) fn new(plan: &Plan) -> StratumScheduler {
        let piece = (plan.tasks / PIECES).max(LEAST_PIECE);
        StratumScheduler { tasks: plan.tasks, piece, turns: BTreeMap::new(), sessions: 0 }
    }

    /// Takes at most `tasks` free ordinals out of the pool, in one piece: the lowest ones of the
    /// stratum whose turn it is for the session. For a long lease, they are the lowest ones of the
    /// plan.
    pub(crate) fn take(
        &mut self,
        session: SessionId,
        pool: &mut IntervalSet,
        tasks: u64,
    ) -> Option<Range> {
        if tasks > self.tasks / LONG {
            let taken = pool.iter().next()?.first(tasks);
            pool.remove(taken);
            return Some(taken);
        }
        let sessions = &mut self.sessions;
        let first = *self.turns.entry(session).or_insert_with(|| {
            *sessions += 1;
            *sessions - 1
        });
        let (turn, free) =
            (first..first + STRATA).find_map(|turn| Some((turn, self.free(turn, pool, tasks)?)))?;
        let taken = free.first(tasks);
        pool.remove(taken);
        self.turns.insert(session, turn + 1);
        Some(taken)
    }

    pub(crate) fn forget_session(&mut self, session: SessionId) {
        self.turns.remove(&session);
    }

    /// The free ordinals with which a lease of this many tasks begins in this turn's stratum.
    /// `None` if the stratum has none.
    fn free(&self, turn: u64, pool: &IntervalSet, tasks: u64) -> Option<Range> {
        let stratum = (turn % STRATA).reverse_bits() >> (u64::BITS - STRATA.ilog2());
        let std::ops::Range { start, end } = board::equal_block(self.tasks, stratum, STRATA);
        let free = pool.within(Range::new(start, self.tasks)?).next()?;
        let before = Range::new(start.saturating_sub(tasks), start);
        let before = before.and_then(|before| pool.within(before).last());
        match before.filter(|before| before.end() == free.start() && before.len() < tasks) {
            Some(before) => Range::new(before.start(), free.end()),
            None => Some(free).filter(|free| free.start() < end),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Method, Problem};

    const FIRST: SessionId = SessionId(1);

    fn rota(method: Method, n: u32) -> (StratumScheduler, IntervalSet) {
        let plan = Plan { problem: Problem::Total { n }, method, tasks: 64_000 };
        (StratumScheduler::new(&plan), Range::new(0, plan.tasks).into_iter().collect())
    }

    #[test]
    fn strata_are_served_by_turns_and_everything_once() {
        let (mut rota, mut pool) = rota(Method::Rows { rows: 3 }, 12);
        let mut taken = Vec::new();
        while let Some(range) = rota.take(FIRST, &mut pool, 7) {
            taken.push(range);
        }
        let starts: Vec<u64> = taken[..4].iter().map(|range| range.start()).collect();
        assert_eq!(starts, [0, 32_000, 16_000, 48_000]);
        assert_eq!(taken[64].start(), 7, "the second round");
        assert_eq!(taken.iter().map(|range| range.len()).sum::<u64>(), 64_000);
        assert_eq!(taken.into_iter().collect::<IntervalSet>().len(), 64_000);
    }

    #[test]
    fn each_session_goes_its_own_rounds_and_begins_a_turn_later() {
        let (mut rota, mut pool) = rota(Method::Rows { rows: 3 }, 12);
        let mut start =
            |session| rota.take(SessionId(session), &mut pool, 10).map(|range| range.start());
        let starts = [start(1), start(2), start(1), start(2), start(3)];
        assert_eq!(starts, [0, 32_000, 32_010, 16_000, 16_010].map(Some));
        rota.forget_session(SessionId(1));
        assert_eq!(rota.turns.len(), 2);
    }

    #[test]
    fn a_lease_may_pass_its_stratums_end_and_a_long_one_takes_the_lowest() {
        let (mut rota, mut pool) = rota(Method::Rows { rows: 3 }, 12);
        assert_eq!(rota.take(FIRST, &mut pool, 4_001), Range::new(0, 4_001));
        assert_eq!(rota.take(FIRST, &mut pool, 600).map(Range::start), Some(32_000), "none left");
        assert_eq!(rota.take(FIRST, &mut pool, 2_000), Range::new(16_000, 18_000));
        pool.remove(Range::new(48_000, 48_500).expect("it is not empty"));
        assert_eq!(rota.take(FIRST, &mut pool, 600), Range::new(48_500, 49_100));
    }

    #[test]
    fn a_lease_takes_a_short_rest_before_its_stratum() {
        let (mut rota, mut pool) = rota(Method::Rows { rows: 3 }, 12);
        assert_eq!(rota.take(FIRST, &mut pool, 990), Range::new(0, 990));
        pool.remove(Range::new(32_000, 63_000).expect("it is not empty"));
        let starts = [(); 3].map(|()| rota.take(FIRST, &mut pool, 990).map(Range::start));
        assert_eq!(starts, [16_000, 8_000, 24_000].map(Some), "what is between them is enough");
        pool.remove(Range::new(990, 3_900).expect("it is not empty"));
        pool.remove(Range::new(4_100, 63_500).expect("it is not empty"));
        assert_eq!(
            rota.take(FIRST, &mut pool, 150),
            Range::new(3_900, 4_050),
            "100 before the stratum"
        );
    }
}
