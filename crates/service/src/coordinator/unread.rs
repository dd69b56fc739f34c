//! Answers that were given, and that their client has not read yet.
//!
//! HTTP lets a client ask for much and read nothing of it: the answers stay in memory until it does, or until its connection ends.
//! So a payer has room for some of them, and gets refusals beyond it.
//!
//! ```text
//!   HTTP/2     an answer takes room until the client's window has room for more than all of it
//!   HTTP/1.1   until the next answer of the connection, or its end
//! ```

use std::pin::Pin;
use std::task::{Context, Poll};

use axum::body::{Body, HttpBody};
use axum::extract::Request;
use axum::http::Version;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use http_body::{Frame, SizeHint};
use prost::Message;
use prost::bytes::Bytes;
use tokio::sync::OwnedSemaphorePermit;
use tonic::Status;

use super::budget::Share;
use super::http::{Fault, is_grpc};
use super::listen::Admission;

/// What every answer takes at least, bytes: about what HTTP/2 keeps of a stream.
const LEAST: usize = 1 << 10;

/// The bytes of an answer whose body does not tell them.
#[derive(Clone, Copy, Debug)]
struct Weight(usize);

/// A message as an answer that takes as much room as the message does. Others take [`LEAST`].
pub(super) fn weighed<T: Message>(answer: T) -> tonic::Response<T> {
    let weight = Weight(answer.encoded_len());
    let mut answer = tonic::Response::new(answer);
    answer.extensions_mut().insert(weight);
    answer
}

/// Gives an answer if whoever pays for its connection has room for it. What strangers are told is short, and their
/// connections end soon.
pub(super) async fn keep_room(request: Request, next: Next) -> Response {
    let admission = request.extensions().get::<Admission>().expect("every connection has one");
    let (admission, version, is_grpc) = (admission.clone(), request.version(), is_grpc(&request));
    let mut answer = next.run(request).await;
    let Some(budget) = admission.budget() else { return answer };
    let told = answer.body().size_hint().exact().and_then(|bytes| usize::try_from(bytes).ok());
    let weight = answer.extensions_mut().remove::<Weight>().map(|Weight(bytes)| bytes);
    let bytes = LEAST + weight.or(told).unwrap_or(0);
    let most = Share::Unread.most();
    match budget.take(Share::Unread, bytes.div_ceil(Share::UNREAD_UNIT).min(most)) {
        Some(room) if version == Version::HTTP_2 => {
            answer.map(|body| if body.is_end_stream() { body } else { kept(body, room) })
        }
        Some(room) => {
            admission.keep_until_next(room);
            answer
        }
        None => {
            let status = Status::resource_exhausted(format!(
                "{} MiB of answers to you were not read yet; read them, or close their connections",
                (most * Share::UNREAD_UNIT) >> 20
            ));
            if is_grpc { status.into_http() } else { Fault::from(status).into_response() }
        }
    }
}

fn kept(body: Body, room: OwnedSemaphorePermit) -> Body {
    Body::new(Kept { body, _room: room })
}

/// A body that takes room until it was asked for more than it has, which is when there is room for more in the client's window.
struct Kept {
    body: Body,
    _room: OwnedSemaphorePermit,
}

impl HttpBody for Kept {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        false
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use axum::Router;
    use axum::http::StatusCode;
    use axum::middleware::from_fn;
    use axum::routing::get;
    use tower::ServiceExt;

    use super::super::payers::Purse;
    use super::*;

    const EACH: usize = 8 << 20;
    const MOST: usize = Share::Unread.most() * Share::UNREAD_UNIT / EACH;

    /// The answer to a request over a connection of a payer, as far as its client has read nothing of it.
    async fn ask(purse: &Purse, version: Version) -> (Admission, Response) {
        let farm = Router::new().route("/", get(async || vec![0; EACH])).layer(from_fn(keep_room));
        let admission = Admission::of([10, 0, 0, 1].into());
        assert!(admission.grant(purse));
        let request = Request::builder().version(version).extension(admission.clone());
        let request = request.body(Body::empty()).expect("it is a request");
        (admission, farm.oneshot(request).await.expect("it answers"))
    }

    #[tokio::test]
    async fn who_reads_nothing_gets_refusals_and_others_get_answers() {
        for version in [Version::HTTP_11, Version::HTTP_2] {
            let purse = Purse::default();
            let mut answers = Vec::new();
            let refused = loop {
                let (connection, answer) = ask(&purse, version).await;
                if answer.status() != StatusCode::OK {
                    break answer;
                }
                answers.push((connection, answer));
                assert!(answers.len() <= MOST, "{version:?}");
            };
            assert_eq!(refused.status(), StatusCode::TOO_MANY_REQUESTS, "{version:?}");
            assert_eq!(answers.len(), MOST - 1, "each takes a little more than its body");
            let (_connection, other) = ask(&Purse::default(), version).await;
            assert_eq!(other.status(), StatusCode::OK, "{version:?}");

            // One of them is read, and over HTTP/1.1 its connection is closed.
            let (connection, answer) = answers.pop().expect("there are some");
            let read = axum::body::to_bytes(answer.into_body(), EACH).await.expect("it is whole");
            assert_eq!(read.len(), EACH);
            drop(connection);
            let (_connection, again) = ask(&purse, version).await;
            assert_eq!(again.status(), StatusCode::OK, "{version:?}");
        }
    }
}
