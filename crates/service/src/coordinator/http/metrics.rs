//! `/metrics`: what Prometheus reads.

use axum::extract::State;
use axum::http::{HeaderMap, header};
use axum::response::{IntoResponse, Response};

use super::fault::Fault;
use crate::coordinator::FarmHandle;
use crate::coordinator::metrics::{exposition, plain_text};

/// All metrics: as OpenMetrics if the request accepts that, and otherwise as plain text, which every reader understands.
pub(super) async fn metrics(
    State(farm): State<FarmHandle>,
    headers: HeaderMap,
) -> Result<Response, Fault> {
    let text = exposition(&farm).await?;
    let mut accepted = headers.get_all(header::ACCEPT).iter().filter_map(|it| it.to_str().ok());
    let (kind, text) = if accepted.any(|kinds| kinds.contains("application/openmetrics-text")) {
        ("application/openmetrics-text; version=1.0.0; charset=utf-8", text)
    } else {
        ("text/plain; version=0.0.4; charset=utf-8", plain_text(&text))
    };
    Ok(([(header::CONTENT_TYPE, kind)], text).into_response())
}
