//! Asks a coordinator by its API.

use std::error::Error;

use axum::body::Bytes;
use axum::http::{Method, Request, Response, StatusCode, header};
use farm::JobView;
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tonic::body::Body;
use tower::{Service as _, ServiceExt as _};

use crate::api::{ProblemDetails, ROOT};
use crate::endpoint::innermost;
use crate::{Endpoint, ServiceError, TokenChannel};

/// Why a request has no answer.
#[derive(Debug, thiserror::Error)]
pub enum ApiError {
    /// The coordinator refuses it.
    #[error("{}", .0.detail)]
    Refused(ProblemDetails),
    /// The connection broke. A later attempt may succeed.
    #[error("{0}")]
    Broken(String),
    /// What came is no answer of this API: the other end is of another version, or is no
    /// coordinator.
    #[error("what came is no answer of a coordinator of this version: {0}")]
    Incompatible(String),
}

impl ApiError {
    /// Whether a later attempt may succeed, because the connection broke or the coordinator is
    /// being restarted.
    pub fn is_passing(&self) -> bool {
        match self {
            ApiError::Refused(problem) => {
                problem.status == StatusCode::SERVICE_UNAVAILABLE.as_u16()
            }
            ApiError::Broken(_) => true,
            ApiError::Incompatible(_) => false,
        }
    }

    fn broken(error: &(dyn Error + 'static)) -> ApiError {
        ApiError::Broken(innermost(error))
    }
}

/// The most bytes of one answer that is no file and no stream. The longest ones name all workers of
/// a farm, of which there are at most some ten thousand.
const MOST_ANSWERED: usize = 64 << 20;

/// A connection to a coordinator. A coordinator may be hostile, so whatever is kept of its answers
/// has a bound.
pub struct Client {
    /// Where the coordinator is.
    pub endpoint: Endpoint,
    channel: TokenChannel,
}

impl Client {
    /// Connects.
    ///
    /// # Errors
    ///
    /// Those of [`Endpoint::connect`].
    pub async fn connect(endpoint: Endpoint) -> Result<Client, ServiceError> {
        Ok(Client { channel: endpoint.connect().await?, endpoint })
    }

    /// Connects again. Files are read again, because they may have been replaced.
    ///
    /// # Errors
    ///
    /// Those of [`Endpoint::connect`].
    pub async fn connect_again(&mut self) -> Result<(), ServiceError> {
        self.channel = self.endpoint.connect().await?;
        Ok(())
    }

    /// Whether everything is served: a coordinator that reads its ledger refuses all requests.
    ///
    /// # Errors
    ///
    /// [`ApiError::Broken`].
    pub async fn is_serving(&mut self) -> Result<bool, ApiError> {
        let answer = self.exchange(Method::HEAD, "/openapi.json", None::<&()>).await?;
        Ok(answer.status() != StatusCode::SERVICE_UNAVAILABLE)
    }

    /// Reads what is at `path`, which begins behind [`ROOT`].
    ///
    /// # Errors
    ///
    /// [`ApiError`], here and below.
    pub async fn get<T: DeserializeOwned>(&mut self, path: &str) -> Result<T, ApiError> {
        self.ask(Method::GET, path, None::<&()>).await
    }

    /// Sends a request with a body, if it has one, and reads the answer.
    pub async fn ask<T: DeserializeOwned>(
        &mut self,
        method: Method,
        path: &str,
        body: Option<&impl Serialize>,
    ) -> Result<T, ApiError> {
        let answer = self.send(method, path, body).await?;
        read(&collected(answer, MOST_ANSWERED).await?)
    }

    /// Reads a part of something longer, of which `left` bytes may still come.
    pub async fn part<T: DeserializeOwned>(
        &mut self,
        path: &str,
        left: &mut usize,
    ) -> Result<T, ApiError> {
        let answer = self.send(Method::GET, path, None::<&()>).await?;
        let text = collected(answer, MOST_ANSWERED.min(*left)).await?;
        *left = left.saturating_sub(text.len());
        read(&text)
    }

    /// Follows a job: [`Events::next`] returns it as it is, and then whenever it has changed.
    pub async fn follow(&mut self, path: &str) -> Result<Events, ApiError> {
        let answer = self.send(Method::GET, path, None::<&()>).await?;
        Ok(Events { body: answer.into_body(), unread: Vec::new() })
    }

    /// Asks for a file: [`Download::next`] returns its pieces.
    pub async fn download(&mut self, path: &str) -> Result<Download, ApiError> {
        let answer = self.send(Method::GET, path, None::<&()>).await?;
        let length = answer.headers().get(header::CONTENT_LENGTH);
        let length = length.and_then(|length| length.to_str().ok()?.parse().ok());
        let missing = || ApiError::Incompatible("a file comes without its length".into());
        Ok(Download { left: length.ok_or_else(missing)?, body: answer.into_body() })
    }

    /// Sends a request, and returns the answer if it is no refusal.
    async fn send(
        &mut self,
        method: Method,
        path: &str,
        body: Option<&impl Serialize>,
    ) -> Result<Response<Body>, ApiError> {
        let answer = self.exchange(method, path, body).await?;
        if answer.status().is_success() {
            return Ok(answer);
        }
        let status = answer.status();
        let text = collected(answer, MOST_ANSWERED).await?;
        Err(match read::<ProblemDetails>(&text) {
            Ok(problem) => ApiError::Refused(problem),
            Err(_) => ApiError::Incompatible(format!("the status {status}")),
        })
    }

    async fn exchange(
        &mut self,
        method: Method,
        path: &str,
        body: Option<&impl Serialize>,
    ) -> Result<Response<Body>, ApiError> {
        let request = Request::builder().method(method).uri(format!("{ROOT}{path}"));
        let request = match body {
            None => request.body(Body::empty()),
            Some(body) => {
                let text = serde_json::to_vec(body).expect("requests are JSON");
                let body = Body::new(http_body_util::Full::new(Bytes::from(text)));
                request.header(header::CONTENT_TYPE, "application/json").body(body)
            }
        };
        let request = request.map_err(|error| ApiError::Incompatible(error.to_string()))?;
        let ready = self.channel.ready().await.map_err(|error| ApiError::broken(&error))?;
        let answer = ready.call(request).await.map_err(|error| ApiError::broken(&error))?;
        Ok(answer.map(Body::new))
    }
}

/// Reads an answer. All of its texts are made visible ([`farm::visible`]), because a
/// coordinator may be hostile, and each of them may be shown to a person.
fn read<T: DeserializeOwned>(text: &[u8]) -> Result<T, ApiError> {
    let answer = serde_json::from_slice(text).map(made_visible);
    let answer = answer.and_then(serde_json::from_value);
    answer.map_err(|error| ApiError::Incompatible(error.to_string()))
}

fn made_visible(answer: Value) -> Value {
    match answer {
        Value::String(text) => farm::visible(&text).into(),
        Value::Array(items) => items.into_iter().map(made_visible).collect(),
        Value::Object(fields) => fields
            .into_iter()
            .map(|(name, value)| (farm::visible(&name), made_visible(value)))
            .collect(),
        other => other,
    }
}

/// The whole body of an answer, which has at most this number of bytes.
async fn collected(answer: Response<Body>, most: usize) -> Result<Bytes, ApiError> {
    let body = Limited::new(answer.into_body(), most).collect().await;
    body.map(http_body_util::Collected::to_bytes).map_err(|error| match error.downcast_ref() {
        Some(LengthLimitError { .. }) => {
            ApiError::Incompatible(format!("an answer has more than {most} bytes"))
        }
        None => ApiError::broken(&*error),
    })
}

/// The next bytes of a body; `None` at its end.
async fn next_piece(body: &mut Body) -> Result<Option<Bytes>, ApiError> {
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| ApiError::broken(&error))?;
        if let Ok(data) = frame.into_data() {
            return Ok(Some(data));
        }
    }
    Ok(None)
}

/// A file that is coming.
pub struct Download {
    body: Body,
    /// Bytes that are still to come.
    left: u64,
}

impl Download {
    /// The next bytes of the file; `None` at its end.
    ///
    /// # Errors
    ///
    /// [`ApiError`]; [`ApiError::Broken`] if the file ends too early.
    pub async fn next(&mut self) -> Result<Option<Bytes>, ApiError> {
        let piece = next_piece(&mut self.body).await?;
        let length = piece.as_ref().map_or(0, Bytes::len) as u64;
        match self.left.checked_sub(length) {
            Some(left) if piece.is_some() || left == 0 => self.left = left,
            _ => return Err(ApiError::Broken("the file lost its end on its way".into())),
        }
        Ok(piece)
    }
}

/// The events of a job that is followed.
pub struct Events {
    body: Body,
    unread: Vec<u8>,
}

impl Events {
    /// The most bytes of one event.
    const MOST: usize = 1 << 20;

    /// The job of the next event; `None` when the stream has ended.
    ///
    /// # Errors
    ///
    /// [`ApiError`].
    pub async fn next(&mut self) -> Result<Option<JobView>, ApiError> {
        loop {
            while let Some(end) = self.unread.windows(2).position(|two| two == b"\n\n") {
                let event: Vec<u8> = self.unread.drain(..end + 2).collect();
                // An event has one line of data, because JSON as we write it has no line break.
                // Lines that begin with a colon only show that the connection is alive.
                let mut lines = event.split(|&byte| byte == b'\n');
                if let Some(data) = lines.find_map(|line| line.strip_prefix(b"data: ")) {
                    return read(data).map(Some);
                }
            }
            if self.unread.len() > Events::MOST {
                return Err(ApiError::Incompatible("an event has no end".into()));
            }
            match next_piece(&mut self.body).await? {
                Some(piece) => self.unread.extend_from_slice(&piece),
                None => return Ok(None),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_text_of_an_answer_reaches_a_terminal_as_it_came() {
        let answer =
            r#"{"a\u001b": ["\u009b2J", {"b": "\u202ex\n"}], "n": 1, "at": null, "yes": true}"#;
        let shown: Value = read(answer.as_bytes()).expect("it is JSON");
        let expected = r#"{"a\\u{1b}": ["\\u{9b}2J", {"b": "\\u{202e}x\\u{a}"}], "n": 1, "at": null, "yes": true}"#;
        assert_eq!(shown, serde_json::from_str::<Value>(expected).expect("it is JSON"));
        let problem =
            r#"{"title": "\u001b]0;x\u0007", "status": 409, "code": "x", "detail": "\u001b[8m"}"#;
        let problem: ProblemDetails = read(problem.as_bytes()).expect("it is a problem");
        assert_eq!(problem.detail, "\\u{1b}[8m");
    }
}
