//! `/metrics`: what Prometheus reads.

use axum::extract::State;
use axum::http::{HeaderMap, header};
use axum::response::{IntoResponse, Response};

use super::fault::Fault;
use crate::coordinator::FarmHandle;
use crate::coordinator::metrics::{exposition, plain_text};

/// All metrics: in OpenMetrics' format for whoever names it, and otherwise in the one that everybody reads.
pub(super) async fn tell(
    State(farm): State<FarmHandle>,
    headers: HeaderMap,
) -> Result<Response, Fault> {
    const OPEN: &str = "application/openmetrics-text";
    let figures = farm.figures().await?;
    // It asks the system about a disk, which may be slow.
    let text = tokio::task::spawn_blocking(move || {
        exposition(figures, farm.meters().clone(), farm.ledger_path())
    });
    let text = text.await.map_err(|_| Fault::failed("the metrics could not be put together"))?;
    let mut accepted = headers.get_all(header::ACCEPT).iter().filter_map(|it| it.to_str().ok());
    let (kind, text) = if accepted.any(|kinds| kinds.contains(OPEN)) {
        ("application/openmetrics-text; version=1.0.0; charset=utf-8", text)
    } else {
        ("text/plain; version=0.0.4; charset=utf-8", plain_text(&text))
    };
    Ok(([(header::CONTENT_TYPE, kind)], text).into_response())
}
