//! Opens connections to a coordinator, in plain text or over TLS.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::pki_types::ServerName;
use tokio_rustls::rustls::{self, ClientConfig};
use tokio_util::either::Either;
use tonic::transport::Uri;
use tower::{Service, ServiceExt, service_fn};

use crate::tls::{Refusal, refusal};

/// A connection that was dialled.
pub(crate) type Dialled = Either<PlainText<TcpStream>, Box<TlsStream<TcpStream>>>;

/// Why a connection could not be opened.
#[derive(Debug, thiserror::Error)]
pub(crate) enum DialError {
    /// The address cannot be reached.
    #[error("the address cannot be reached")]
    Tcp(#[source] tower::BoxError),
    /// TLS was offered, and the answer is no TLS.
    #[error("the port does not speak TLS")]
    NoTls,
    /// The peer's certificate is refused.
    #[error(transparent)]
    Refused(Refusal),
    /// The TLS handshake failed for another reason.
    #[error("the TLS handshake failed")]
    Handshake(#[source] io::Error),
}

/// Dials URIs. With `tls`, every connection is encrypted, and the certificate must have the name beside the
/// configuration.
pub(crate) fn dialler(
    tls: Option<(ClientConfig, ServerName<'static>)>,
) -> impl Service<Uri, Response = TokioIo<Dialled>, Error = DialError, Future: Send> + Send {
    let mut tcp = HttpConnector::new();
    tcp.enforce_http(false);
    tcp.set_nodelay(true);
    let tls = tls.map(|(config, name)| (TlsConnector::from(Arc::new(config)), name));
    service_fn(move |uri| {
        let (tcp, tls) = (tcp.clone(), tls.clone());
        async move {
            let stream = tcp.oneshot(uri).await.map_err(|error| DialError::Tcp(error.into()))?;
            let stream = stream.into_inner();
            let Some((connector, name)) = tls else {
                return Ok(TokioIo::new(Either::Left(PlainText { stream, has_read: false })));
            };
            let secured = connector.connect(name, stream).await.map_err(DialError::in_handshake)?;
            Ok(TokioIo::new(Either::Right(Box::new(secured))))
        }
    })
}

impl DialError {
    fn in_handshake(error: io::Error) -> DialError {
        match error.get_ref().and_then(|cause| cause.downcast_ref::<rustls::Error>()) {
            Some(rustls::Error::InvalidMessage(_)) => DialError::NoTls,
            Some(cause) if let Some(reason) = refusal(cause) => DialError::Refused(reason),
            _ => DialError::Handshake(error),
        }
    }
}

/// What reading from a plain connection fails with if the peer speaks TLS.
pub(crate) const SPEAKS_TLS: &str = "the port speaks TLS";

/// A connection in plain text. If the peer's first answer is an alert of TLS, reading fails with
/// [`SPEAKS_TLS`].
pub(crate) struct PlainText<S> {
    stream: S,
    has_read: bool,
}

impl<S> PlainText<S> {
    /// The first byte of an alert. HTTP/2 would begin with a frame of more than a million bytes.
    const ALERT: u8 = 21;
}

impl<S: AsyncRead + Unpin> AsyncRead for PlainText<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let read = Pin::new(&mut self.stream).poll_read(context, buffer);
        if !self.has_read
            && let Some(&first) = buffer.filled().get(before)
        {
            self.has_read = true;
            if first == Self::ALERT {
                return Poll::Ready(Err(io::Error::new(io::ErrorKind::InvalidData, SPEAKS_TLS)));
            }
        }
        read
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for PlainText<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(context, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
