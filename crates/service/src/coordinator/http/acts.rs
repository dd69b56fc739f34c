//! The page's forms. They go through the same job API as the gRPC service of clients.

use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::{get, post};
use axum::{Extension, Router};
use board::MethodChoice;
use farm::{AuditPolicy, Problem};
use maud::Markup;
use tonic::Status;
use wire::v1;
use wire::v1::ask_request::Request as Asked;
use wire::v1::change::Change;

use super::fields::Fields;
use super::login::Caller;
use super::pages::job_id;
use super::{Fault, Web, no_such_page, status_code};

pub(super) fn routes() -> Router<Web> {
    Router::new().route("/jobs", get(form).post(submit)).route("/jobs/{id}/{action}", post(change))
}

/// The job that the form describes.
fn submission(form: &Fields) -> Result<v1::Submit, Status> {
    // No browser would send such a form.
    let malformed = || {
        let text = "the form is not filled in: N and the priority are whole numbers, and audits are a percentage";
        Status::invalid_argument(text)
    };
    let text = |name| form.text(name).ok_or_else(malformed);
    let (problem, method, key) = (text("problem")?, text("method")?, text("key")?);
    let n: u32 = form.number("n").ok_or_else(malformed)?;
    let priority: i32 = form.number("priority").ok_or_else(malformed)?;
    // Percentage of the ranges.
    let audit: f64 = form.number("audit").ok_or_else(malformed)?;
    let problem = Problem::from_text(problem, n).ok_or_else(|| {
        Status::invalid_argument(format!("there is no problem {problem:?} on a board of N = {n}"))
    })?;
    let method = match method {
        "" => MethodChoice::suggested(problem),
        name => MethodChoice::all()
            .find(|choice| choice.name() == name)
            .ok_or_else(|| Status::invalid_argument(format!("there is no method {name:?}")))?,
    };
    if !(0.0..=100.0).contains(&audit) {
        return Err(Status::invalid_argument("a percentage is from 0 to 100"));
    }
    let share_ppm = (audit * f64::from(AuditPolicy::ALL) / 100.0).round() as u32;
    let key = Some(key).filter(|key| !key.is_empty()).map(|key| wire::name("name", key.into()));
    let key = key.transpose().map_err(|_| Status::invalid_argument(wire::rule_of_names()))?;
    Ok(v1::Submit {
        problem: Some(problem.into()),
        method: Some(method.into()),
        priority,
        audit: (share_ppm > 0).then(|| v1::AuditPolicy { share_ppm, ..Default::default() }),
        key,
    })
}

/// The form on a page of its own, to which a browser may come back after a refusal.
async fn form(Extension(caller): Extension<Caller>) -> Markup {
    page::submission_page(&caller.reader(), None, &|_| None)
}

async fn submit(
    State(web): State<Web>,
    Extension(caller): Extension<Caller>,
    form: Fields,
) -> Result<Redirect, (StatusCode, Markup)> {
    let submit = async |form| {
        let jobs = vec![submission(form)?];
        let answer =
            web.jobs.ask(&caller.identity, Asked::Submit(v1::Submissions { jobs })).await?;
        answer.job().ok_or_else(|| Status::internal("a submission was answered with no job"))
    };
    match submit(&form).await {
        Ok(job) => Ok(Redirect::to(&format!("jobs/{}", job.id))),
        Err(refusal) => {
            let typed = |field: &str| form.text(field);
            let page = page::submission_page(&caller.reader(), Some(refusal.message()), &typed);
            Err((status_code(&refusal), page))
        }
    }
}

/// Changes a job, and shows it. A refused priority is shown in its form.
async fn change(
    State(web): State<Web>,
    Path((job, action)): Path<(String, String)>,
    Extension(caller): Extension<Caller>,
    form: Fields,
) -> Result<Response, Fault> {
    let malformed = "a priority is a whole number: jobs of higher priority are served first";
    let job = job_id(&job)?;
    let change = match action.as_str() {
        "withdraw" => Ok(Change::Audit(v1::AuditPolicy::default())),
        "priority" => {
            let priority = form.number("priority").map(Change::Priority);
            priority.ok_or_else(|| Status::invalid_argument(malformed))
        }
        word if farm::Change::named(word).is_some() => Ok(Change::Word(action.clone())),
        _ => return Err(Fault(no_such_page())),
    };
    let answer = match change {
        Ok(change) => {
            let change = v1::Change { job: job.0, change: Some(change) };
            web.jobs.ask(&caller.identity, Asked::Change(change)).await
        }
        Err(malformed) => Err(malformed),
    };
    match answer {
        Ok(_) => Ok(Redirect::to(&format!("../{job}")).into_response()),
        Err(refusal) if action == "priority" => {
            let typed = form.text("priority").unwrap_or_default();
            let page = page::refused_priority(&caller.reader(), job, refusal.message(), typed);
            Ok((status_code(&refusal), page).into_response())
        }
        Err(refusal) => Err(Fault(refusal)),
    }
}
