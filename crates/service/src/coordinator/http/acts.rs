//! What the page's forms do: the same as the gRPC service of jobs, by the same rules.

use axum::extract::rejection::FormRejection;
use axum::extract::{Form, Path, State};
use axum::response::Redirect;
use axum::routing::post;
use axum::{Extension, Router};
use board::MethodChoice;
use farm::{Across, AuditPolicy, Problem};
use serde::Deserialize;
use tonic::Status;

use super::Web;
use super::fault::Fault;
use super::pages::job_id;
use crate::coordinator::desk::Submission;
use crate::coordinator::{ClientRequest, Identity};

/// The routes of all forms.
pub(super) fn routes() -> Router<Web> {
    Router::new()
        .route("/jobs", post(submit))
        .route("/jobs/{id}/priority", post(set_priority))
        .route("/jobs/{id}/{action}", post(change))
}

/// A job as the form describes it.
#[derive(Deserialize)]
struct Wanted {
    problem: String,
    n: u32,
    method: String,
    priority: i32,
    /// Percentage of the ranges.
    audit: f64,
    key: String,
}

impl Wanted {
    fn submission(self) -> Result<Submission, Status> {
        let Wanted { problem, n, method, priority, audit, key } = self;
        let problem = Problem::from_text(&problem, n).ok_or_else(|| {
            Status::invalid_argument(format!(
                "there is no problem {problem:?} on a board of N = {n}"
            ))
        })?;
        let method = match method.as_str() {
            "" => MethodChoice::suggested(problem),
            "rows" => MethodChoice::Rows { rows: None },
            "ring" => MethodChoice::Ring { width: None },
            "halves" => MethodChoice::Halves,
            _ => return Err(Status::invalid_argument(format!("there is no method {method:?}"))),
        };
        if !(0.0..=100.0).contains(&audit) {
            return Err(Status::invalid_argument("a percentage is from 0 to 100"));
        }
        let share_ppm = (audit * f64::from(AuditPolicy::ALL) / 100.0).round() as u32;
        let audit = (share_ppm > 0).then(|| AuditPolicy {
            share_ppm,
            seed: rand::random::<u64>() >> 1,
            salt: rand::random(),
            by_search: false,
            across: Across::Machines,
        });
        let key = wire::key(Some(key).filter(|key| !key.is_empty()));
        let key = key.map_err(|error| Status::invalid_argument(error.to_string()))?;
        Ok(Submission { problem, method, priority, key, audit })
    }
}

/// Said of a form that no browser would send.
const MALFORMED: &str =
    "the form is not filled in: N and the priority are whole numbers, and audits are a percentage";

async fn submit(
    State(web): State<Web>,
    Extension(identity): Extension<Identity>,
    form: Result<Form<Wanted>, FormRejection>,
) -> Result<Redirect, Fault> {
    let Form(wanted) = form.map_err(|_| Status::invalid_argument(MALFORMED))?;
    let job = web.desk.submit(identity, wanted.submission()?).await?;
    Ok(Redirect::to(&format!("/jobs/{}", job.id)))
}

async fn change(
    State(web): State<Web>,
    Path((job, action)): Path<(String, String)>,
    Extension(identity): Extension<Identity>,
) -> Result<Redirect, Fault> {
    let job = job_id(&job)?;
    let wish = match action.as_str() {
        "pause" => ClientRequest::Pause(job),
        "resume" => ClientRequest::Resume(job),
        "cancel" => ClientRequest::Cancel(job),
        _ => return Err(Fault::not_found("there is no such page")),
    };
    web.desk.change(&identity, (job, wish)).await?;
    tracing::info!(%job, action, by = identity.owner, "job changed through the page");
    Ok(Redirect::to(&format!("/jobs/{job}")))
}

/// The priority that a form asks for.
#[derive(Deserialize)]
struct WantedPriority {
    priority: i32,
}

async fn set_priority(
    State(web): State<Web>,
    Path(job): Path<String>,
    Extension(identity): Extension<Identity>,
    form: Result<Form<WantedPriority>, FormRejection>,
) -> Result<Redirect, Fault> {
    let job = job_id(&job)?;
    let malformed = "a priority is a whole number: jobs of higher priority are served first";
    let Form(WantedPriority { priority }) =
        form.map_err(|_| Status::invalid_argument(malformed))?;
    web.desk.set_priority(&identity, job, priority).await?;
    Ok(Redirect::to(&format!("/jobs/{job}")))
}
