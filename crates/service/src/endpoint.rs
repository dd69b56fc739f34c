//! Connects to a coordinator.

use std::path::PathBuf;
use std::time::Duration;

use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tonic::metadata::{Ascii, MetadataValue};
use tonic::service::interceptor::InterceptedService;
use tonic::transport::Uri;
use tonic::transport::{Channel, Error};
use tonic::{Request, Status};

use crate::ServiceError;
use crate::Token;

/// A coordinator's address, and the file with its token.
#[derive(Clone, Debug)]
pub struct Endpoint {
    url: String,
    token_file: Option<PathBuf>,
}

/// A connection that adds the token to every request.
pub type TokenChannel = InterceptedService<Channel, ShowToken>;

impl Endpoint {
    /// The coordinator at `url`, which may lack its `http://`. If there is a `token_file`, every request
    /// carries the token in it.
    pub fn new(url: &str, token_file: Option<PathBuf>) -> Endpoint {
        let url = if url.contains("://") { url.into() } else { format!("http://{url}") };
        Endpoint { url, token_file }
    }

    /// The URL.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Checks what waiting does not mend.
    ///
    /// # Errors
    ///
    /// [`ServiceError::Url`] or [`ServiceError::SecretFile`], if the URL or the token file cannot be used.
    pub fn check(&self) -> Result<(), ServiceError> {
        self.builder()?;
        self.token_file.as_deref().map(Token::read).transpose()?;
        Ok(())
    }

    /// Reads the token file, and connects.
    ///
    /// # Errors
    ///
    /// Those of [`Endpoint::check`], and [`ServiceError::Unreachable`] if no coordinator answers.
    pub async fn connect(&self) -> Result<TokenChannel, ServiceError> {
        let token = self.token()?;
        Ok(InterceptedService::new(self.channel().await?, token))
    }

    fn token(&self) -> Result<ShowToken, ServiceError> {
        let token = self.token_file.as_deref().map(Token::read).transpose()?;
        let header = token.map(|token| token.bearer().parse());
        Ok(ShowToken(header.transpose().map_err(anyhow::Error::from)?))
    }

    /// Connects without the token, which is enough for health checks.
    pub async fn channel(&self) -> Result<Channel, ServiceError> {
        self.reached(self.builder()?.connect().await)
    }

    fn reached(&self, connected: Result<Channel, Error>) -> Result<Channel, ServiceError> {
        connected.map_err(|error| ServiceError::Unreachable {
            url: self.url.clone(),
            reason: innermost(&error),
        })
    }

    /// Connects through `dial`, for example over a simulated network.
    pub async fn connect_through<D, S>(&self, dial: D) -> Result<TokenChannel, ServiceError>
    where
        D: tower::Service<Uri, Response = TokioIo<S>> + Send + 'static,
        D::Error: std::error::Error + Send + Sync + 'static,
        D::Future: Send,
        S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
    {
        let connected = self.builder()?.connect_with_connector(dial).await;
        Ok(InterceptedService::new(self.reached(connected)?, self.token()?))
    }

    fn refuse(&self, reason: String) -> ServiceError {
        ServiceError::Url { url: self.url.clone(), reason }
    }

    fn builder(&self) -> Result<tonic::transport::Endpoint, ServiceError> {
        let builder = Channel::from_shared(self.url.clone())
            .map_err(|error| self.refuse(format!("not a URL: {error}")))?;
        if builder.uri().scheme_str() != Some("http") {
            let reason = "only http:// is supported, without encryption; use a tunnel to cross \
                          open networks";
            return Err(self.refuse(reason.into()));
        }
        Ok(builder
            .connect_timeout(Duration::from_secs(5))
            .http2_keep_alive_interval(Duration::from_secs(10))
            .keep_alive_timeout(Duration::from_secs(10))
            .keep_alive_while_idle(true)
            .initial_stream_window_size(1 << 20)
            .initial_connection_window_size(2 << 20)
            .tcp_nodelay(true))
    }
}

/// Adds the token to every request.
#[derive(Clone, Debug)]
pub struct ShowToken(Option<MetadataValue<Ascii>>);

impl tonic::service::Interceptor for ShowToken {
    fn call(&mut self, mut request: Request<()>) -> Result<Request<()>, Status> {
        if let Some(token) = &self.0 {
            request.metadata_mut().insert("authorization", token.clone());
        }
        Ok(request)
    }
}

/// The innermost cause of an error. It is the part that a person can act on: "transport error" is not.
pub(crate) fn innermost(error: &dyn std::error::Error) -> String {
    let mut cause = error;
    while let Some(deeper) = cause.source() {
        cause = deeper;
    }
    cause.to_string()
}
