//! What the page's forms do: the same as the gRPC service of clients, by the same rules.

use axum::extract::rejection::FormRejection;
use axum::extract::{Form, Path, State};
use axum::response::Redirect;
use axum::routing::post;
use axum::{Extension, Router};
use board::MethodChoice;
use farm::{AuditPolicy, JobId, Problem};
use serde::Deserialize;
use tonic::Status;
use wire::v1;
use wire::v1::ask_request::Request as Asked;

use super::Web;
use super::fault::Fault;
use super::pages::job_id;
use crate::coordinator::Identity;

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
    fn submit(self) -> Result<v1::Submit, Status> {
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
        Ok(v1::Submit {
            problem: Some(problem.into()),
            method: Some(method.into()),
            priority,
            audit: (share_ppm > 0).then(|| v1::AuditPolicy { share_ppm, ..Default::default() }),
            key: Some(key).filter(|key| !key.is_empty()),
        })
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
    let answer = web.desk.ask(&identity, Asked::Submit(wanted.submit()?)).await?;
    let job = answer.job().ok_or_else(|| Fault::failed("a submission was answered with no job"))?;
    Ok(Redirect::to(&format!("/jobs/{}", job.id)))
}

async fn change(
    State(web): State<Web>,
    Path((job, action)): Path<(String, String)>,
    Extension(identity): Extension<Identity>,
) -> Result<Redirect, Fault> {
    let change = match action.as_str() {
        "pause" => v1::change::Change::Pause(v1::Pause {}),
        "resume" => v1::change::Change::Resume(v1::Resume {}),
        "cancel" => v1::change::Change::Cancel(v1::Cancel {}),
        _ => return Err(Fault::not_found("there is no such page")),
    };
    act(&web, &identity, &job, change).await
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
    let malformed = "a priority is a whole number: jobs of higher priority are served first";
    let Form(WantedPriority { priority }) =
        form.map_err(|_| Status::invalid_argument(malformed))?;
    act(&web, &identity, &job, v1::change::Change::Priority(priority)).await
}

/// Changes a job, and shows it.
async fn act(
    web: &Web,
    identity: &Identity,
    job: &str,
    change: v1::change::Change,
) -> Result<Redirect, Fault> {
    let JobId(job) = job_id(job)?;
    let change = v1::Change { job, change: Some(change) };
    web.desk.ask(identity, Asked::Change(change)).await?;
    Ok(Redirect::to(&format!("/jobs/{job}")))
}
