//! Why a request of a client is refused.

use axum::body::Body;
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};
use farm::Refusal;
use tonic::Status;

use crate::CoordinatorGone;
use crate::api::{Code, ProblemDetails};

/// A refusal: a code for programs, and a sentence for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Refused {
    pub(super) code: Code,
    pub(super) reason: String,
}

impl Refused {
    pub(super) fn new(code: Code, reason: impl Into<String>) -> Refused {
        Refused { code, reason: reason.into() }
    }

    /// The request can be read, and asks for something that there is not.
    pub(super) fn invalid(reason: impl Into<String>) -> Refused {
        Refused::new(Code::Invalid, reason)
    }

    /// The coordinator has a fault.
    pub(super) fn internal(error: impl ToString) -> Refused {
        Refused::new(Code::Internal, error.to_string())
    }

    /// The refusal as the answer of the API.
    pub(super) fn problem(&self) -> Response {
        let status = self.code.status();
        let problem = ProblemDetails {
            title: status.canonical_reason().unwrap_or_default().into(),
            status: status.as_u16(),
            code: self.code.name().into(),
            detail: self.reason.clone(),
        };
        let body = serde_json::to_vec(&problem).expect("it is JSON");
        let kind = [(header::CONTENT_TYPE, "application/problem+json")];
        self.with_headers((status, kind, Body::from(body)).into_response())
    }

    fn with_headers(&self, mut answer: Response) -> Response {
        let headers = answer.headers_mut();
        match self.code {
            Code::Unauthenticated => {
                headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
            }
            Code::Unavailable | Code::Busy => {
                headers.insert(header::RETRY_AFTER, HeaderValue::from_static("2"));
            }
            _ => {}
        }
        answer
    }
}

/// The answer is the sentence. It carries the refusal, of which a layer that knows the address
/// makes a page or the answer of the API.
impl IntoResponse for Refused {
    fn into_response(self) -> Response {
        let text = (self.code.status(), format!("{}\n", self.reason)).into_response();
        let mut answer = self.with_headers(text);
        answer.extensions_mut().insert(self);
        answer
    }
}

impl From<CoordinatorGone> for Refused {
    fn from(gone: CoordinatorGone) -> Refused {
        Refused::new(Code::Unavailable, gone.to_string())
    }
}

impl From<Refusal> for Refused {
    fn from(refusal: Refusal) -> Refused {
        let code = match refusal {
            Refusal::NoSuchJob(_) => Code::NoSuchJob,
            Refusal::Over(..) => Code::JobOver,
            Refusal::TooManyJobs(_) | Refusal::TooManyOfOwner(_) => Code::TooManyJobs,
            Refusal::KeyTaken(_) => Code::NameTaken,
            Refusal::NotOver(..) => Code::JobNotOver,
            Refusal::Proof(_) => Code::JobIsProof,
            Refusal::Unsettled(_) => Code::Unsettled,
            Refusal::Suspended(_) => Code::JobSuspended,
        };
        Refused::new(code, refusal.to_string())
    }
}

/// The refusal of a worker's session.
impl From<Refused> for Status {
    fn from(Refused { code, reason }: Refused) -> Status {
        match code {
            Code::Unauthenticated => Status::unauthenticated(reason),
            Code::Forbidden => Status::permission_denied(reason),
            Code::Unavailable => Status::unavailable(reason),
            _ => Status::internal(reason),
        }
    }
}
