//! A cache of cuts, so that each plan in use is indexed once.

use std::sync::{Arc, Mutex};

use anyhow::Context;
use board::{Cut, CutError, MethodChoice};
use farm::{Plan, Problem};

use crate::ServiceError;

/// The cuts of the plans that were used most recently.
#[derive(Debug, Default)]
pub struct Plans {
    recent: Mutex<Vec<(Plan, Arc<Cut>)>>,
    /// Held while a plan is indexed, so that a thousand workers that return at once wait for one index.
    indexing: Mutex<()>,
}

impl Plans {
    /// The number of cuts that are kept; each takes a few mebibytes.
    const KEPT: usize = 32;

    /// The plan for a problem, cut by the chosen method. It may take seconds, because it counts the tasks.
    ///
    /// # Errors
    ///
    /// [`CutError`], if the problem cannot be cut so.
    pub fn make(&self, problem: Problem, choice: MethodChoice) -> Result<Plan, CutError> {
        let method = choice.for_problem(problem);
        let is_it = |plan: &Plan| plan.problem == problem && plan.method == method;
        if let Some((plan, _)) = self.find(is_it) {
            return Ok(plan);
        }
        let _alone = self.indexing.lock().expect("nobody panics while holding it");
        if let Some((plan, _)) = self.find(is_it) {
            return Ok(plan);
        }
        let cut = Cut::new(problem, method)?;
        let plan = Plan { problem, method, tasks: cut.len() };
        self.keep(plan, Arc::new(cut));
        Ok(plan)
    }

    /// The cut of `plan`, which is indexed anew if it was not used recently.
    ///
    /// # Errors
    ///
    /// [`ServiceError::Incompatible`], if this version of the program cuts the plan into another number of
    /// tasks.
    pub async fn cut(self: &Arc<Self>, plan: Plan) -> Result<Arc<Cut>, ServiceError> {
        if let Some(known) = self.known(&plan) {
            return Ok(known);
        }
        let plans = self.clone();
        let indexing = tokio::task::spawn_blocking(move || plans.index(&plan));
        indexing.await.map_err(anyhow::Error::from)?
    }

    fn index(&self, plan: &Plan) -> Result<Arc<Cut>, ServiceError> {
        let _alone = self.indexing.lock().expect("nobody panics while holding it");
        if let Some(known) = self.known(plan) {
            return Ok(known);
        }
        let cut = Cut::new(plan.problem, plan.method)
            .with_context(|| format!("the plan {plan} was accepted earlier"))?;
        if cut.len() != plan.tasks {
            return Err(ServiceError::Incompatible(format!(
                "the plan {plan} was made with {} tasks, but this program finds {}; use the \
                 version that made it",
                plan.tasks,
                cut.len()
            )));
        }
        let cut = Arc::new(cut);
        self.keep(*plan, cut.clone());
        Ok(cut)
    }

    fn known(&self, plan: &Plan) -> Option<Arc<Cut>> {
        self.find(|known| known == plan).map(|(_, cut)| cut)
    }

    fn find(&self, wanted: impl Fn(&Plan) -> bool) -> Option<(Plan, Arc<Cut>)> {
        let mut recent = self.recent.lock().expect("nobody panics while holding it");
        let at = recent.iter().position(|(known, _)| wanted(known))?;
        recent[..=at].rotate_right(1);
        Some(recent[0].clone())
    }

    fn keep(&self, plan: Plan, cut: Arc<Cut>) {
        let mut recent = self.recent.lock().expect("nobody panics while holding it");
        recent.retain(|(known, _)| *known != plan);
        recent.truncate(Self::KEPT - 1);
        recent.insert(0, (plan, cut));
    }
}
