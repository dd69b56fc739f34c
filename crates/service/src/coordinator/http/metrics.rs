//! `/metrics`: what Prometheus reads.

use axum::Extension;
use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};

use super::fault::Fault;
use crate::coordinator::HubHandle;
use crate::coordinator::budget::{Budget, Cost};
use crate::coordinator::metrics::{CONTENT_TYPE, exposition};

/// All metrics. They cost as much as a list of the jobs that they tell of.
pub(super) async fn tell(
    State(hub): State<HubHandle>,
    Extension(budget): Extension<Budget>,
) -> Result<Response, Fault> {
    let figures = hub.figures().await?;
    budget.spend(Cost::Jobs(figures.jobs()));
    // It asks the system about a disk, which may be slow.
    let text = tokio::task::spawn_blocking(move || {
        exposition(figures, hub.meters().clone(), hub.ledger_path())
    });
    let text = text.await.map_err(|_| Fault::failed("the metrics could not be put together"))?;
    Ok(([(header::CONTENT_TYPE, CONTENT_TYPE)], text).into_response())
}
