//! Refusals over HTTP.

use axum::body::Body;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use tonic::{Code, Status};

use crate::error::CoordinatorGone;

/// A refusal: a status and one sentence for people.
#[derive(Clone, Debug)]
pub(in crate::coordinator) struct Fault {
    pub(super) status: StatusCode,
    text: String,
}

impl Fault {
    pub(super) fn new(status: StatusCode, text: impl Into<String>) -> Fault {
        Fault { status, text: text.into() }
    }

    /// There is nothing of that name.
    pub(super) fn not_found(text: impl Into<String>) -> Fault {
        Fault::new(StatusCode::NOT_FOUND, text)
    }

    /// Something else than gRPC was sent to a gRPC service.
    pub(super) fn no_grpc() -> Fault {
        let text = "this is a gRPC service: it wants HTTP/2 and the content type application/grpc";
        Fault::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, text)
    }
}

impl From<Status> for Fault {
    fn from(status: Status) -> Fault {
        Fault::new(status_code(&status), status.message())
    }
}

/// The HTTP status for a gRPC status.
pub(super) fn status_code(status: &Status) -> StatusCode {
    match status.code() {
        Code::Unauthenticated => StatusCode::UNAUTHORIZED,
        Code::PermissionDenied => StatusCode::FORBIDDEN,
        Code::NotFound => StatusCode::NOT_FOUND,
        Code::InvalidArgument => StatusCode::BAD_REQUEST,
        Code::FailedPrecondition | Code::AlreadyExists => StatusCode::CONFLICT,
        Code::ResourceExhausted => StatusCode::TOO_MANY_REQUESTS,
        Code::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
        _ => StatusCode::INTERNAL_SERVER_ERROR,
    }
}

impl From<CoordinatorGone> for Fault {
    fn from(gone: CoordinatorGone) -> Fault {
        Fault::new(StatusCode::SERVICE_UNAVAILABLE, gone.to_string())
    }
}

impl Fault {
    /// The page of this refusal. `root` leads from it to the farm's first page.
    pub(super) fn page(&self, root: &str) -> Body {
        page::fault(self.status.as_u16(), &self.text, root).into_string().into()
    }
}

/// The answer is the sentence. It carries the fault, of which a layer that knows the address makes a page.
impl IntoResponse for Fault {
    fn into_response(self) -> Response {
        let mut answer = (self.status, format!("{}\n", self.text)).into_response();
        answer.extensions_mut().insert(self.clone());
        if self.status == StatusCode::UNAUTHORIZED {
            let how = HeaderValue::from_static("Bearer");
            answer.headers_mut().insert(header::WWW_AUTHENTICATE, how);
        }
        answer
    }
}
