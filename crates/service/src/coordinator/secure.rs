//! TLS above limited connections, so that handshakes are limited too.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_rustls::FallibleAccept;
use tokio_rustls::server::TlsStream;
use tokio_stream::{Stream, StreamExt};
use tonic::transport::server::Connected;

use super::limits::{Admission, Connection};
use crate::tls::ServerTls;

/// Puts TLS above each connection.
pub fn secure<S>(
    connections: impl Stream<Item = io::Result<Connection<S>>>,
    tls: ServerTls,
) -> impl Stream<Item = io::Result<Secured<S>>>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let acceptor = tls.acceptor();
    connections.map(move |connection| {
        let connection = connection?;
        let admission = connection.connect_info().encrypted();
        let handshake = acceptor.accept(connection).into_fallible();
        Ok(Secured { state: State::Handshake(Box::new(handshake)), admission })
    })
}

/// A connection over TLS. Whoever reads or writes first drives the handshake.
pub struct Secured<S> {
    state: State<S>,
    admission: Admission,
}

enum State<S> {
    Handshake(Box<FallibleAccept<Connection<S>>>),
    Open(Box<TlsStream<Connection<S>>>),
    /// The handshake failed, and the peer was told why.
    Refused(Connection<S>),
    Closed,
}

impl<S: AsyncRead + AsyncWrite + Unpin> Secured<S> {
    fn poll_open(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<Pin<&mut TlsStream<Connection<S>>>>> {
        if let State::Handshake(handshake) = &mut self.state {
            self.state = match ready!(Pin::new(handshake.as_mut()).poll(context)) {
                Ok(stream) => State::Open(Box::new(stream)),
                Err((error, connection)) => {
                    tracing::debug!(%error, "a TLS handshake failed");
                    State::Refused(connection)
                }
            };
        }
        if let State::Refused(connection) = &mut self.state {
            let closed = ready!(poll_end(connection, context));
            self.state = State::Closed;
            closed?;
        }
        Poll::Ready(match &mut self.state {
            State::Open(stream) => Ok(Pin::new(stream.as_mut())),
            _ => Err(io::ErrorKind::ConnectionAborted.into()),
        })
    }
}

/// Reads until the peer closes the connection. A system that closes a connection of which something is unread
/// resets it, and the peer may lose what it was told last.
fn poll_end<S: AsyncRead + AsyncWrite + Unpin>(
    connection: &mut Connection<S>,
    context: &mut Context<'_>,
) -> Poll<io::Result<()>> {
    ready!(Pin::new(&mut *connection).poll_shutdown(context))?;
    loop {
        let mut unread = [0; 1024];
        let mut buffer = ReadBuf::new(&mut unread);
        ready!(Pin::new(&mut *connection).poll_read(context, &mut buffer))?;
        if buffer.filled().is_empty() {
            return Poll::Ready(Ok(()));
        }
    }
}

impl<S> Connected for Secured<S> {
    type ConnectInfo = Admission;

    fn connect_info(&self) -> Admission {
        self.admission.clone()
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncRead for Secured<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        ready!(self.poll_open(context))?.poll_read(context, buffer)
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for Secured<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        ready!(self.poll_open(context))?.poll_write(context, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        ready!(self.poll_open(context))?.poll_write_vectored(context, slices)
    }

    fn is_write_vectored(&self) -> bool {
        true // rustls copies all slices into its own buffer
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_open(context))?.poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.state {
            State::Open(stream) => Pin::new(stream.as_mut()).poll_shutdown(context),
            // There is nothing to say good-bye to.
            State::Handshake(_) | State::Refused(_) | State::Closed => Poll::Ready(Ok(())),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpStream;

    use super::*;
    use crate::KeyFolder;
    use crate::coordinator::{Limits, Listener};
    use crate::tls::Authority;

    #[tokio::test]
    async fn a_handshake_that_does_not_end_is_no_way_to_stay() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let keys = KeyFolder::beside(&folder.path().join("ledger.db"));
        let authority = Authority::read_or_make(&keys).expect("it can be made");
        let tls = ServerTls::by_authority(authority).expect("leaves can be made");
        let limits = Limits { admission: Duration::from_millis(50), ..Limits::default() };
        let any = "127.0.0.1:0".parse().expect("it is an address");
        let listener = Listener::bind(&[any], limits).await.expect("some port is free");
        let address = listener.addresses().expect("it is bound")[0];
        let mut accepted = Box::pin(secure(listener.connections(), tls));

        // Given the head of a TLS record, and then silence
        for begun in [&[][..], &[22, 3, 1, 1, 0]] {
            let mut client = TcpStream::connect(address).await.expect("it listens");
            client.write_all(begun).await.expect("it is connected");
            let mut connection = accepted.next().await.expect("for ever").expect("it is accepted");

            let read = tokio::time::timeout(Duration::from_secs(30), connection.read_u8()).await;

            let fault = read.expect("it ends").expect_err("it is too late").kind();
            assert_eq!(fault, io::ErrorKind::TimedOut, "after {begun:?}");
        }
    }
}
