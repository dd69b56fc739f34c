//! Answers that were given, and that the network has not taken yet.
//!
//! HTTP lets a client ask for much and read nothing of it: the answers stay in memory until it does, or until its connection ends.
//! So a payer has room for some of them, and gets refusals beyond it. An answer takes room until it is over, and until the
//! connection has taken each byte of it: HTTP keeps bytes for a client's window long after the answer is over.
//!
//! A stream takes little room, whatever passes through it: what that may be is limited where it is made.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use axum::body::{Body, HttpBody};
use axum::extract::Request;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use http_body::{Frame, SizeHint};
use prost::Message;
use prost::bytes::Bytes;
use tokio::sync::OwnedSemaphorePermit;
use tonic::Status;

use super::budget::{Budget, Share};
use super::http::{Fault, is_grpc};
use super::listen::Admission;

/// What every answer takes at least, bytes: about what HTTP/2 keeps of a stream.
const LEAST: usize = 1 << 10;
/// What a stream of the reflection service takes, which anybody may have, and which tells of long files: as long as a few of them.
const REFLECTION: usize = 256 << 10;

/// The bytes of an answer whose body does not tell them.
#[derive(Clone, Copy, Debug)]
struct Weight(usize);

/// A message as an answer that takes as much room as the message does.
pub(super) fn weighed<T: Message>(answer: T) -> tonic::Response<T> {
    let weight = Weight(answer.encoded_len());
    let mut answer = tonic::Response::new(answer);
    answer.extensions_mut().insert(weight);
    answer
}

/// Refuses a request before anything is done if there is no room for the shortest answer.
///
/// # Errors
///
/// A status that says so.
pub(super) fn has_room(budget: &Budget) -> Result<(), Status> {
    budget.take(Share::Unread, 1).map(drop).ok_or_else(too_much)
}

fn too_much() -> Status {
    let most = (Share::Unread.most() * Share::UNREAD_UNIT) >> 20;
    Status::resource_exhausted(format!(
        "{most} MiB of answers to you were not read yet; read them, or close their connections"
    ))
}

/// Gives an answer if whoever pays for its connection has room for it. What strangers are told is short, and their
/// connections end soon. A short answer is given in any case: what it tells of has been done.
pub(super) async fn keep_room(request: Request, next: Next) -> Response {
    let admission = request.extensions().get::<Admission>().expect("every connection has one");
    let (admission, is_grpc) = (admission.clone(), is_grpc(&request));
    let is_reflection = request.uri().path().starts_with("/grpc.reflection.");
    let mut answer = next.run(request).await;
    let Some(budget) = admission.budget() else { return answer };
    if answer.body().is_end_stream() {
        return answer;
    }
    let told = answer.body().size_hint().exact().and_then(|bytes| usize::try_from(bytes).ok());
    let weight = answer.extensions_mut().remove::<Weight>().map(|Weight(bytes)| bytes);
    let bytes = weight.or(told).unwrap_or(if is_reflection { REFLECTION } else { 0 });
    let units = (LEAST + bytes).div_ceil(Share::UNREAD_UNIT).min(Share::Unread.most());
    match budget.take(Share::Unread, units) {
        Some(room) => answer.map(|body| Body::new(Kept { body, room: Arc::new(room) })),
        None if bytes <= LEAST => answer,
        None if is_grpc => too_much().into_http(),
        None => Fault::from(too_much()).into_response(),
    }
}

/// A body whose bytes take room.
struct Kept {
    body: Body,
    room: Arc<OwnedSemaphorePermit>,
}

/// Bytes that are dropped when the connection has taken them, is reset or ends.
struct Held {
    bytes: Bytes,
    _room: Arc<OwnedSemaphorePermit>,
}

impl AsRef<[u8]> for Held {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl HttpBody for Kept {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let room = self.room.clone();
        let held = |bytes| Bytes::from_owner(Held { bytes, _room: room });
        Pin::new(&mut self.body).poll_frame(context).map_ok(|frame| frame.map_data(held))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
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
    use futures_util::StreamExt;
    use tower::ServiceExt;

    use super::super::payers::Purse;
    use super::*;

    const EACH: usize = 8 << 20;
    const MOST: usize = Share::Unread.most() * Share::UNREAD_UNIT / EACH;

    /// The answer to a request over a connection of a payer, as far as its client has read nothing of it.
    async fn ask(purse: &Purse) -> Response {
        let farm = Router::new().route("/", get(async || vec![0; EACH])).layer(from_fn(keep_room));
        let admission = Admission::of([10, 0, 0, 1].into());
        assert!(admission.grant(purse));
        let request = Request::builder().extension(admission).body(Body::empty());
        farm.oneshot(request.expect("it is a request")).await.expect("it answers")
    }

    #[tokio::test]
    async fn who_reads_nothing_gets_refusals_and_others_get_answers() {
        let purse = Purse::default();
        let mut answers = Vec::new();
        let refused = loop {
            let answer = ask(&purse).await;
            if answer.status() != StatusCode::OK {
                break answer;
            }
            answers.push(answer);
            assert!(answers.len() <= MOST, "there is room for no more of them");
        };
        assert_eq!(refused.status(), StatusCode::TOO_MANY_REQUESTS);
        assert_eq!(answers.len(), MOST - 1, "each takes a little more than its body");
        has_room(&purse.budget).expect("a short answer still has room");
        assert_eq!(ask(&Purse::default()).await.status(), StatusCode::OK, "others have their own");

        // HTTP has taken all of one from its body, and keeps it for the client's window.
        let body = answers.pop().expect("there are some").into_body();
        let kept: Vec<_> = body.into_data_stream().collect().await;
        assert_eq!(ask(&purse).await.status(), StatusCode::TOO_MANY_REQUESTS);
        drop(kept);
        assert_eq!(ask(&purse).await.status(), StatusCode::OK);
    }

    #[test]
    fn who_has_no_room_at_all_is_refused_before_anything_is_done() {
        let budget = Budget::default();
        let all = budget.take(Share::Unread, Share::Unread.most()).expect("nothing is taken");
        has_room(&budget).expect_err("there is none");
        drop(all);
        has_room(&budget).expect("there is some again");
    }
}
