//! The files that every page uses.

use axum::Router;
use axum::http::header;
use axum::routing::get;

/// How long a browser may keep them.
const KEPT: (header::HeaderName, &str) = (header::CACHE_CONTROL, "max-age=60");

/// The routes of the style sheet, the scripts and the icon. They reveal nothing about a farm.
pub fn assets<S: Clone + Send + Sync + 'static>() -> Router<S> {
    Router::new()
        .route("/style.css", asset("text/css; charset=utf-8", include_str!("../assets/style.css")))
        .route(
            "/live.js",
            asset("text/javascript; charset=utf-8", include_str!("../assets/live.js")),
        )
        .route(
            "/login.js",
            asset("text/javascript; charset=utf-8", include_str!("../assets/login.js")),
        )
        .route("/icon.svg", asset("image/svg+xml", include_str!("../assets/icon.svg")))
}

fn asset<S: Clone + Send + Sync + 'static>(
    kind: &'static str,
    text: &'static str,
) -> axum::routing::MethodRouter<S> {
    get(move || async move { ([(header::CONTENT_TYPE, kind), KEPT], text) })
}
