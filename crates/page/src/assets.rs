//! The files that every page uses.

use axum::Router;
use axum::http::header;
use axum::routing::get;

/// How long a browser may keep these files: a minute.
const KEPT: (header::HeaderName, &str) = (header::CACHE_CONTROL, "max-age=60");

/// The routes of the style sheet, the scripts and the icon. They reveal nothing about a farm.
pub fn assets<S: Clone + Send + Sync + 'static>() -> Router<S> {
    let files = [
        ("/style.css", "text/css; charset=utf-8", include_str!("../assets/style.css")),
        ("/live.js", "text/javascript; charset=utf-8", include_str!("../assets/live.js")),
        ("/login.js", "text/javascript; charset=utf-8", include_str!("../assets/login.js")),
        ("/icon.svg", "image/svg+xml", include_str!("../assets/icon.svg")),
    ];
    files.into_iter().fold(Router::new(), |routes, (path, kind, text)| {
        let file = move || async move { ([(header::CONTENT_TYPE, kind), KEPT], text) };
        routes.route(path, get(file))
    })
}
