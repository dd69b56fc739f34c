//! Accepts connections within limits: how many there may be, how long each may take to be admitted, and
//! how much each may send.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::Sleep;
use tokio_stream::Stream;
use tonic::transport::server::Connected;

use super::allowance::{Allowance, Flood, Visits};
use super::budget::{Budget, Share};
use super::payers::Purse;
use crate::ServiceError;

/// Limits of the connections to a coordinator.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Number of connections at the same time; further ones wait to be accepted.
    pub connections: usize,
    /// Number of connections that one address may make within a short time; further ones wait or are
    /// refused.
    pub visits: u32,
    /// How long a connection may take until one of its requests is admitted.
    pub admission: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Limits { connections: 32_768, visits: 16_384, admission: Duration::from_secs(10) }
    }
}

/// Bound sockets, whose connections share the limits.
#[derive(Debug)]
pub struct Listener {
    listeners: Vec<TcpListener>,
    limits: Limits,
}

impl Listener {
    /// Binds all `addresses`.
    ///
    /// # Errors
    ///
    /// [`ServiceError::Listen`], if one of them cannot be bound.
    pub async fn bind(addresses: &[SocketAddr], limits: Limits) -> Result<Listener, ServiceError> {
        let listeners = addresses.iter().map(|&address| {
            listen(address).map_err(|error| ServiceError::Listen {
                address: address.to_string(),
                reason: match error.kind() {
                    io::ErrorKind::AddrInUse => "the port is in use".into(),
                    _ => error.to_string(),
                },
            })
        });
        Ok(Listener { listeners: listeners.collect::<Result<_, _>>()?, limits })
    }

    /// The addresses that it is bound to, in the order in which they were asked for, with the actual ports
    /// where 0 was asked for.
    pub fn addresses(&self) -> io::Result<Vec<SocketAddr>> {
        self.listeners.iter().map(TcpListener::local_addr).collect()
    }

    /// Accepts connections for ever, within the limits.
    pub fn connections(self) -> impl Stream<Item = io::Result<Connection<TcpStream>>> {
        accept_within(self.limits, self.listeners)
    }
}

/// Accepts connections of all `listeners`, of which there is at least one, for ever, together within `limits`.
fn accept_within(
    limits: Limits,
    listeners: Vec<TcpListener>,
) -> impl Stream<Item = io::Result<Connection<TcpStream>>> {
    let permits = Arc::new(Semaphore::new(limits.connections));
    let mut visits = Visits::new(limits.visits);
    let (sender, receiver) = tokio::sync::mpsc::channel(1);
    tokio::spawn(async move {
        for turn in 0.. {
            let permit = permits.clone().acquire_owned().await.expect("it is never closed");
            let accepted = tokio::select! {
                accepted = accept_any(&listeners, turn) => accepted,
                () = sender.closed() => return,
            };
            let Ok((stream, peer)) = accepted else {
                // The process is out of descriptors, or the peer is gone already: wait a little.
                tokio::time::sleep(Duration::from_millis(50)).await;
                continue;
            };
            let Some(delay) = visits.delay(peer.ip()) else { continue };
            let _ = stream.set_nodelay(true);
            let connection = Connection {
                stream,
                peer,
                admission: Admission::of(peer.ip()),
                deadline: Some(Box::pin(tokio::time::sleep(delay + limits.admission))),
                pause: (!delay.is_zero()).then(|| Box::pin(tokio::time::sleep(delay))),
                _permit: permit,
            };
            if sender.send(Ok(connection)).await.is_err() {
                return;
            }
        }
    });
    tokio_stream::wrappers::ReceiverStream::new(receiver)
}

/// Accepts the next connection of any listener. Each is the first to be looked at in its turn, so that a crowd
/// at one of them does not shut the others out.
async fn accept_any(listeners: &[TcpListener], turn: usize) -> io::Result<(TcpStream, SocketAddr)> {
    let (others, first) = listeners.split_at(turn % listeners.len());
    let accepting = first.iter().chain(others).map(|listener| Box::pin(listener.accept()));
    futures_util::future::select_all(accepting).await.0
}

/// Number of connections that the system may hold until we accept them. If a thousand workers return at
/// once and the queue is too short, some of their connections are reset.
const BACKLOG: u32 = 16_384;

fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
    // A restarted coordinator need not wait until the system forgets its predecessor's connections.
    #[cfg(unix)]
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

/// A connection that ends if none of its requests passes the token gate in time. So strangers cannot
/// occupy places, whatever they send. Once a request has passed, HTTP/2 pings watch the connection.
#[derive(Debug)]
pub struct Connection<S> {
    stream: S,
    peer: SocketAddr,
    admission: Admission,
    /// The end of the time to be admitted; `None` once it is.
    deadline: Option<Pin<Box<Sleep>>>,
    /// The end of the pause during which the connection is not read from.
    pause: Option<Pin<Box<Sleep>>>,
    _permit: OwnedSemaphorePermit,
}

/// Whether a request of a connection was admitted, at whose expense, and how much the connection may still send. Every
/// request carries the value of its connection.
#[derive(Clone, Debug)]
pub struct Admission {
    paid: Arc<OnceLock<Paid>>,
    allowance: Allowance,
    peer: IpAddr,
    is_encrypted: bool,
}

/// A connection that was admitted: what pays for it, and its place among those of that payer.
#[derive(Debug)]
struct Paid {
    budget: Budget,
    _place: OwnedSemaphorePermit,
}

impl Admission {
    pub(super) fn of(peer: IpAddr) -> Admission {
        let (paid, allowance) = (Arc::default(), Allowance::default());
        Admission { paid, allowance, peer, is_encrypted: false }
    }

    /// The same connection, over TLS.
    pub(super) fn encrypted(self) -> Admission {
        Admission { is_encrypted: true, ..self }
    }

    /// Whether the connection is over TLS.
    pub(super) fn is_encrypted(&self) -> bool {
        self.is_encrypted
    }

    /// The address at the other end.
    pub(super) fn peer(&self) -> IpAddr {
        self.peer
    }

    /// Lets the connection stay, at the expense of the first payer who has asked for that. `false` if that one has too many
    /// connections already.
    pub(super) fn grant(&self, purse: &Purse) -> bool {
        if self.paid.get().is_none() {
            let Some(place) = purse.budget.take(Share::Connections, 1) else { return false };
            // If another request of the connection was faster, it has a place already.
            let _ = self.paid.set(Paid { budget: purse.budget.clone(), _place: place });
        }
        self.allowance.fill_from(&purse.pool);
        true
    }

    /// What pays for the connection, once it was admitted.
    pub(super) fn budget(&self) -> Option<&Budget> {
        self.paid.get().map(|paid| &paid.budget)
    }

    /// How much the connection may still send.
    pub fn allowance(&self) -> Allowance {
        self.allowance.clone()
    }

    fn is_granted(&self) -> bool {
        self.paid.get().is_some()
    }
}

impl<S> Connection<S> {
    /// Is ready when the connection may be read from, and fails when it is dismissed.
    fn poll_leave(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        loop {
            if let Some(pause) = &mut self.pause {
                ready!(pause.as_mut().poll(context));
                self.pause = None;
            }
            match self.admission.allowance.pause() {
                Ok(None) => return Poll::Ready(Ok(())),
                Ok(Some(pause)) => self.pause = Some(Box::pin(tokio::time::sleep(pause))),
                Err(Flood) => {
                    tracing::warn!(peer = %self.peer, "connection dismissed: it floods the coordinator");
                    return Poll::Ready(Err(io::ErrorKind::ConnectionAborted.into()));
                }
            }
        }
    }
}

impl<S> Connected for Connection<S> {
    type ConnectInfo = Admission;

    fn connect_info(&self) -> Admission {
        self.admission.clone()
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Connection<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.admission.is_granted() {
            self.deadline = None;
        }
        if let Some(deadline) = &mut self.deadline
            && deadline.as_mut().poll(context).is_ready()
        {
            return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
        }
        ready!(self.poll_leave(context))?;
        let before = buffer.filled().len();
        let read = Pin::new(&mut self.stream).poll_read(context, buffer);
        self.admission.allowance.spend_bytes(buffer.filled().len() - before);
        read
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Connection<S> {
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

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio_stream::StreamExt;

    use super::*;

    const PREFACE: &[u8; 33] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";

    async fn listen(
        admission_ms: u64,
    ) -> (SocketAddr, impl Stream<Item = io::Result<Connection<TcpStream>>>) {
        let any = "127.0.0.1:0".parse().expect("it is an address");
        let admission = Duration::from_millis(admission_ms);
        let limits = Limits { connections: 1, visits: 10, admission };
        let listener = Listener::bind(&[any], limits).await.expect("some port is free");
        (listener.addresses().expect("it is bound")[0], Box::pin(listener.connections()))
    }

    #[tokio::test]
    async fn a_connection_that_is_not_admitted_ends_whatever_it_sends() {
        for sent in [0, 1, PREFACE.len()] {
            let (address, mut accepted) = listen(50).await;
            let mut client = TcpStream::connect(address).await.expect("it listens");
            let mut connection = accepted.next().await.expect("for ever").expect("it is accepted");

            client.write_all(&PREFACE[..sent]).await.expect("it is connected");
            let read = connection.read_exact(&mut [0; PREFACE.len() + 1]).await;

            let fault = read.expect_err("it is too late").kind();
            assert_eq!(fault, io::ErrorKind::TimedOut, "after {sent} bytes");
        }
    }

    #[tokio::test]
    async fn a_connection_that_is_admitted_may_be_silent() {
        // It must be admitted in time, on a busy machine too.
        let (address, mut accepted) = listen(2_000).await;
        let mut client = TcpStream::connect(address).await.expect("it listens");
        let mut connection = accepted.next().await.expect("for ever").expect("it is accepted");
        client.write_all(PREFACE).await.expect("it is connected");
        connection.read_exact(&mut [0; PREFACE.len()]).await.expect("it has come");
        assert!(connection.connect_info().grant(&Purse::default()));

        let silence = Duration::from_millis(2_200);
        let read = tokio::time::timeout(silence, connection.read_u8()).await;

        assert!(read.is_err(), "it waits: {read:?}");
    }

    #[test]
    fn nobody_has_all_connections() {
        let purse = Purse::default();
        let all = Limits::default().connections;
        let admissions = || std::iter::repeat_with(|| Admission::of([10, 0, 0, 1].into()));
        let granted: Vec<_> = admissions().take(all).take_while(|one| one.grant(&purse)).collect();
        assert!(granted.len() < all, "{}", granted.len());
        assert!(granted[0].grant(&purse), "it has its place");
        let other = admissions().next().expect("there are many");
        assert!(other.grant(&Purse::default()), "others have their own");
    }

    #[tokio::test]
    async fn further_connections_wait_for_room() {
        let (address, mut accepted) = listen(60_000).await;
        let _clients = [
            TcpStream::connect(address).await.expect("it listens"),
            TcpStream::connect(address).await.expect("the system accepts it"),
        ];
        let first = accepted.next().await.expect("for ever").expect("it is accepted");

        let wait = Duration::from_millis(100);
        assert!(tokio::time::timeout(wait, accepted.next()).await.is_err(), "there is no room");

        drop(first);
        accepted.next().await.expect("for ever").expect("there is room again");
    }
}
