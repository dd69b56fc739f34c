//! The enumerations in use, so that each is indexed once.

use std::sync::{Arc, Mutex};

use anyhow::Context;
use board::rows::{RowsError, RowsPlan, suggested_rows};
use farm::{Method, Plan, Problem};

use crate::failure::Failure;

/// Enumerations of the plans that were used last.
#[derive(Debug, Default)]
pub(crate) struct Plans {
    recent: Mutex<Vec<(Plan, Arc<RowsPlan>)>>,
    /// Held while a plan is indexed: a thousand workers that return at once wait for one index.
    indexing: Mutex<()>,
}

impl Plans {
    /// About a mebibyte each.
    const KEPT: usize = 32;

    /// The plan for all placements of `n` queens by `rows` rows, or as many as suit `n`.
    ///
    /// May take a second: it counts the tasks.
    pub(crate) fn make(&self, n: u32, rows: Option<u32>) -> Result<Plan, RowsError> {
        let enumeration = RowsPlan::new(n, rows.unwrap_or_else(|| suggested_rows(n)))?;
        let plan = Plan {
            problem: Problem::Total { n },
            method: Method::Rows { rows: enumeration.rows() },
            tasks: enumeration.len(),
        };
        self.keep(plan, Arc::new(enumeration));
        Ok(plan)
    }

    /// The enumeration of `plan`; indexes it anew if it was not used lately.
    pub(crate) async fn enumeration(
        self: &Arc<Self>,
        plan: Plan,
    ) -> Result<Arc<RowsPlan>, Failure> {
        if let Some(known) = self.known(&plan) {
            return Ok(known);
        }
        let plans = self.clone();
        let indexing = tokio::task::spawn_blocking(move || plans.index(&plan));
        indexing.await.map_err(anyhow::Error::from)?
    }

    fn index(&self, plan: &Plan) -> Result<Arc<RowsPlan>, Failure> {
        let _alone = self.indexing.lock().expect("nobody panics while holding it");
        if let Some(known) = self.known(plan) {
            return Ok(known);
        }
        let enumeration = RowsPlan::new(plan.problem.n(), plan.method.rows())
            .with_context(|| format!("the plan {plan} was accepted earlier"))?;
        if enumeration.len() != plan.tasks {
            return Err(Failure::Incompatible(format!(
                "the plan {plan} was made with {} tasks, and this program finds {}; use the \
                 version that made it",
                plan.tasks,
                enumeration.len()
            )));
        }
        let enumeration = Arc::new(enumeration);
        self.keep(*plan, enumeration.clone());
        Ok(enumeration)
    }

    fn known(&self, plan: &Plan) -> Option<Arc<RowsPlan>> {
        let mut recent = self.recent.lock().expect("nobody panics while holding it");
        let at = recent.iter().position(|(known, _)| known == plan)?;
        recent[..=at].rotate_right(1);
        Some(recent[0].1.clone())
    }

    fn keep(&self, plan: Plan, enumeration: Arc<RowsPlan>) {
        let mut recent = self.recent.lock().expect("nobody panics while holding it");
        recent.retain(|(known, _)| *known != plan);
        recent.truncate(Self::KEPT - 1);
        recent.insert(0, (plan, enumeration));
    }
}
