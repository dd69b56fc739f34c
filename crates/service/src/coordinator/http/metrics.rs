//! `/metrics`: what Prometheus reads.

use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};

use super::fault::Fault;
use crate::coordinator::HubHandle;
use crate::coordinator::metrics::{CONTENT_TYPE, exposition};

/// All metrics.
pub(super) async fn tell(State(hub): State<HubHandle>) -> Result<Response, Fault> {
    let figures = hub.figures().await?;
    // It asks the system about a disk, which may be slow.
    let text = tokio::task::spawn_blocking(move || {
        exposition(figures, hub.meters().clone(), hub.ledger_path())
    });
    let text = text.await.map_err(|_| Fault::failed("the metrics could not be put together"))?;
    Ok(([(header::CONTENT_TYPE, CONTENT_TYPE)], text).into_response())
}
