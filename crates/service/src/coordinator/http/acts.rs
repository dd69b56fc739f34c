//! The page's forms. What they ask for is granted or refused as what clients of the API ask for.

use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::{get, post};
use axum::{Extension, Router};
use farm::{Change, JobId};
use maud::Markup;

use super::fields::Fields;
use super::login::Caller;
use super::pages::job_id;
use super::{Web, no_such_page};
use crate::api::{AuditWish, Code, Patch, Submit};
use crate::coordinator::refused::Refused;

pub(super) fn routes() -> Router<Web> {
    Router::new().route("/jobs", get(form).post(submit)).route("/jobs/{id}/{action}", post(change))
}

/// The job that the form describes.
fn submission(form: &Fields) -> Result<Submit, Refused> {
    // No browser would send such a form.
    let malformed = || {
        let text = "the form is not filled in: N and the priority are whole numbers, and audits are a percentage";
        Refused::new(Code::Malformed, text)
    };
    let text = |name| form.text(name).ok_or_else(malformed);
    let chosen = |text: &str| Some(text.to_string()).filter(|text| !text.is_empty());
    // Percentage of the ranges.
    let audit: f64 = form.number("audit").ok_or_else(malformed)?;
    if !(0.0..=100.0).contains(&audit) {
        return Err(Refused::invalid("a percentage is from 0 to 100"));
    }
    let given = form.text("given").and_then(chosen);
    // With given queens, all placements are all completions.
    let problem = match (text("problem")?, &given) {
        ("total", Some(_)) => "completions",
        (problem, _) => problem,
    };
    Ok(Submit {
        n: form.number("n").ok_or_else(malformed)?,
        problem: chosen(problem),
        given,
        method: chosen(text("method")?),
        priority: form.number("priority").ok_or_else(malformed)?,
        audit: (audit > 0.0).then(|| AuditWish { share: audit / 100.0, ..AuditWish::default() }),
        name: chosen(text("key")?),
        ..Submit::default()
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
    let submit = async |form| web.jobs.submit(&caller.identity, vec![submission(form)?]).await;
    match submit(&form).await {
        Ok(jobs) => Ok(Redirect::to(&format!("jobs/{}", jobs[0].id))),
        Err(Refused { code, reason }) => {
            let typed = |field: &str| form.text(field);
            let page = page::submission_page(&caller.reader(), Some(&reason), &typed);
            Err((code.status(), page))
        }
    }
}

/// Changes a job, and shows it. A refused priority is shown in its form.
async fn change(
    State(web): State<Web>,
    Path((job, action)): Path<(String, String)>,
    Extension(caller): Extension<Caller>,
    form: Fields,
) -> Result<Response, Refused> {
    let job = job_id(&job)?;
    let change = match action.as_str() {
        "withdraw" => Patch { audit: Some(AuditWish::default()), ..Patch::default() },
        "priority" => {
            let Some(priority) = form.number("priority") else {
                let malformed =
                    "a priority is a whole number: jobs of higher priority are served first";
                return Ok(refused_priority(
                    &caller,
                    job,
                    &form,
                    Refused::new(Code::Malformed, malformed),
                ));
            };
            Patch { priority: Some(priority), ..Patch::default() }
        }
        word => {
            let change = Change::named(word).ok_or_else(no_such_page)?;
            web.jobs.change(&caller.identity, job, change).await?;
            return Ok(back_to(job));
        }
    };
    match web.jobs.patch(&caller.identity, job, change).await {
        Ok(_) => Ok(back_to(job)),
        Err(refused) if change.priority.is_some() => {
            Ok(refused_priority(&caller, job, &form, refused))
        }
        Err(refused) => Err(refused),
    }
}

fn back_to(job: JobId) -> Response {
    Redirect::to(&format!("../{job}")).into_response()
}

fn refused_priority(
    caller: &Caller,
    job: JobId,
    form: &Fields,
    Refused { code, reason }: Refused,
) -> Response {
    let typed = form.text("priority").unwrap_or_default();
    (code.status(), page::refused_priority(&caller.reader(), job, &reason, typed)).into_response()
}
