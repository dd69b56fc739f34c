//! A cache of plan indexes, so that each plan in use is indexed once.
//!
//! Indexing takes from microseconds to many seconds of one thread, and nobody can tell in advance.
//! So only a few plans are indexed at a time, and a submission is refused if its plan is not
//! indexed in time. Sessions have turns of their own, so that they do not wait for submissions of
//! other plans. All who need the same plan wait for the same index.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use board::{Method, MethodChoice, PlanError, PlanIndex};
use farm::{Plan, Problem};
use tokio::sync::{OnceCell, Semaphore};
use tokio::task::spawn_blocking;
use tokio::time::timeout;

use super::refused::Refused;
use crate::api::Code;

/// How long the plan of a submission may take, waiting included. It is less than a client may wait
/// for an answer.
const PLANNING_TIME: Duration = Duration::from_secs(50);
/// Numbers of plans that are indexed at a time.
const SUBMISSIONS: usize = 4;
const SESSIONS: usize = 2;

/// The indexes of the plans that were used most recently.
#[derive(Debug)]
pub(crate) struct Plans {
    recent: Mutex<Vec<(Problem, Method, Index)>>,
    submissions: Semaphore,
    sessions: Semaphore,
}

/// The index of a plan, once it is made.
type Index = Arc<OnceCell<Arc<PlanIndex>>>;

impl Default for Plans {
    fn default() -> Plans {
        Plans {
            recent: Mutex::default(),
            submissions: Semaphore::new(SUBMISSIONS),
            sessions: Semaphore::new(SESSIONS),
        }
    }
}

impl Plans {
    /// The number of plan indexes that are kept; each takes a few mebibytes.
    const KEPT: usize = 32;

    /// The plan for a problem, cut by the chosen method, made on this thread. It may take seconds,
    /// because it counts the tasks.
    pub(crate) fn make(&self, problem: Problem, choice: MethodChoice) -> Result<Plan, PlanError> {
        let method = choice.for_problem(problem);
        let index = PlanIndex::new(problem, method)?;
        let plan = Plan { problem, method, tasks: index.len() };
        // Another thread may have made the same one.
        let _ = self.place(problem, method).set(Arc::new(index));
        Ok(plan)
    }

    /// The plan that a client submits, made on another thread, if it can be made in time.
    pub(super) async fn submitted(
        &self,
        problem: Problem,
        choice: MethodChoice,
    ) -> Result<Plan, Refused> {
        let made = async {
            let method = spawn_blocking(move || choice.for_problem(problem)).await;
            let method = method.map_err(Refused::internal)?;
            let index = self.cut_of(problem, method, &self.submissions).await?;
            Ok(Plan { problem, method, tasks: index.len() })
        };
        timeout(PLANNING_TIME, made).await.unwrap_or_else(|_| {
            Err(Refused::new(Code::Busy, format!(
                "the tasks of {problem} could not be numbered within {} seconds, because there are too many of \
                 them or others are being numbered: try again later, or choose a cut into fewer tasks, such as \
                 fewer rows, or the method colours",
                PLANNING_TIME.as_secs()
            )))
        })
    }

    /// The index of `plan`, which is made anew if it was not used recently. It fails if this
    /// version of the program cannot cut the plan, or cuts it into another number of tasks.
    pub(super) async fn index(&self, plan: Plan) -> Result<Arc<PlanIndex>, Refused> {
        let index = self.cut_of(plan.problem, plan.method, &self.sessions).await.map_err(
            |Refused { reason, .. }| {
                Refused::internal(format!("the plan {plan} was accepted earlier: {reason}"))
            },
        )?;
        if index.len() == plan.tasks {
            return Ok(index);
        }
        Err(Refused::internal(format!(
            "the plan {plan} was made with {} tasks, but this program finds {}; use the version that made it",
            plan.tasks,
            index.len()
        )))
    }

    /// The index of a plan. If there is none, this call waits for its turn and makes it, and other
    /// calls for the same plan wait for it. If this call is given up, one of them makes it.
    async fn cut_of(
        &self,
        problem: Problem,
        method: Method,
        turns: &Semaphore,
    ) -> Result<Arc<PlanIndex>, Refused> {
        let index = self.place(problem, method);
        if let Some(made) = index.get() {
            return Ok(made.clone());
        }
        // The turn comes first. Otherwise a call that holds the cell and waits for a turn would
        // keep others, which have turns, from making the index.
        let _turn = turns.acquire().await.map_err(Refused::internal)?;
        index.get_or_try_init(|| elsewhere(problem, method)).await.cloned()
    }

    /// The place for the index of a plan, which becomes the most recently used one.
    fn place(&self, problem: Problem, method: Method) -> Index {
        let mut recent = self.recent.lock().expect("nobody panics while holding it");
        let known = recent.iter().position(|&(of, by, _)| (of, by) == (problem, method));
        let used =
            known.map_or_else(|| (problem, method, Index::default()), |at| recent.remove(at));
        // Plans that could not be indexed lose their places.
        recent.retain(|(_, _, index)| index.initialized() || Arc::strong_count(index) > 1);
        recent.truncate(Self::KEPT - 1);
        recent.insert(0, used);
        recent[0].2.clone()
    }
}

/// Cuts a problem on a blocking thread, which gives up soon after this future is dropped.
async fn elsewhere(problem: Problem, method: Method) -> Result<Arc<PlanIndex>, Refused> {
    let wanted = Arc::new(());
    let still_wanted = Arc::downgrade(&wanted);
    let index = spawn_blocking(move || {
        PlanIndex::new_unless(problem, method, &|| still_wanted.strong_count() == 0)
    });
    let index = index.await.map_err(Refused::internal)?;
    drop(wanted);
    let index = index.map_err(|error| Refused::invalid(error.to_string()))?;
    index.map(Arc::new).ok_or_else(|| Refused::internal("a plan was given up that is still wanted"))
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    /// It takes seconds, even with optimisations.
    const LONG: (Problem, MethodChoice) =
        (Problem::Total { n: 17 }, MethodChoice::Rows { rows: Some(17) });
    const SHORT: (Problem, MethodChoice) =
        (Problem::Total { n: 12 }, MethodChoice::Rows { rows: Some(3) });
    const SOON: Duration = Duration::from_millis(500);

    #[tokio::test]
    async fn a_session_never_waits_for_submissions() {
        let plans = Plans::default();
        let _busy = plans.submissions.acquire_many(SUBMISSIONS as u32).await.expect("it is open");
        let other = Plans::default().make(SHORT.0, SHORT.1).expect("it exists");
        timeout(10 * SOON, plans.index(other)).await.expect("it is short").expect("it is indexed");
    }

    #[tokio::test]
    async fn one_plan_is_indexed_once_for_all_who_want_it() {
        let plans = Arc::new(Plans::default());
        let (problem, choice) = (Problem::Total { n: 20 }, MethodChoice::Rows { rows: Some(4) });
        let wanted = (0..50).map(|_| {
            let plans = plans.clone();
            tokio::spawn(async move {
                let plan = plans.submitted(problem, choice).await;
                plans.index(plan.expect("such a plan exists")).await.expect("it was just made")
            })
        });
        let mut indexes = Vec::new();
        for index in wanted.collect::<Vec<_>>() {
            indexes.push(index.await.expect("it does not panic"));
        }
        assert!(
            indexes.iter().all(|index| Arc::ptr_eq(index, &indexes[0])),
            "it was indexed again"
        );
    }

    #[tokio::test]
    async fn a_plan_that_nobody_waits_for_is_given_up() {
        let plans = Plans::default();
        let begun = Instant::now();
        let waiting = plans.submitted(LONG.0, LONG.1);
        assert!(timeout(SOON, waiting).await.is_err(), "it takes longer");

        assert_eq!(plans.submissions.available_permits(), SUBMISSIONS);
        // The runtime's end waits for its blocking threads: they must not go on counting.
        tokio::task::spawn_blocking(|| ()).await.expect("there are threads");
        assert!(begun.elapsed() < 2 * SOON, "{:?}", begun.elapsed());
    }

    #[tokio::test(start_paused = true)]
    async fn a_plan_that_takes_too_long_is_refused_with_a_way_out() {
        let plans = Plans::default();
        let _busy = plans.submissions.acquire_many(SUBMISSIONS as u32).await.expect("it is open");
        let refused = plans.submitted(SHORT.0, SHORT.1).await;
        let refused = refused.expect_err("its turn never comes").reason;
        assert!(refused.contains("total N=12") && refused.contains("fewer rows"), "{refused}");
    }
}
