//! Accepts connections within limits: how many there may be, and how long each may take to be
//! admitted.
//!
//! An address may stand for many clients: all that come through a tunnel have the address of the
//! tunnel. So the limit for one address is high. If there are too many strangers, the connection
//! that has been without a credential for the longest time is closed, whatever its address is. A
//! client that has a credential shows it long before.

use std::collections::VecDeque;
use std::fmt::Display;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use futures_util::FutureExt as _;
use futures_util::future::{Fuse, FusedFuture as _};
use futures_util::stream::select_all;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt as _, ReadBuf};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, oneshot};
use tokio::time::{Timeout, timeout};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;
use tokio_stream::wrappers::{ReceiverStream, TcpListenerStream};
use tokio_stream::{Stream, StreamExt};
use tokio_util::either::Either;

use super::{Limits, Rates, machine};
use crate::ServiceError;

/// Bound sockets, whose connections share the limits.
#[derive(Debug)]
pub struct Listener {
    listeners: Vec<TcpListener>,
    limits: Limits,
}

impl Listener {
    /// Binds all `addresses`. It fails with [`ServiceError::Listen`] if one of them cannot be
    /// bound.
    pub async fn bind(addresses: &[SocketAddr], limits: Limits) -> Result<Listener, ServiceError> {
        let listeners = addresses.iter().map(|&address| {
            listen(address).map_err(|error| ServiceError::Listen {
                address: address.to_string(),
                reason: match error.kind() {
                    io::ErrorKind::AddrInUse => "the port is in use by another process".into(),
                    _ => error.to_string(),
                },
            })
        });
        Ok(Listener { listeners: listeners.collect::<Result<_, _>>()?, limits })
    }

    /// The addresses that it is bound to, in the order in which they were asked for, with the
    /// actual ports where 0 was asked for.
    pub fn addresses(&self) -> io::Result<Vec<SocketAddr>> {
        self.listeners.iter().map(TcpListener::local_addr).collect()
    }

    /// Accepts connections for ever, within the limits: over TLS as `tls` says, or in plain text.
    pub(in crate::coordinator) fn connections(
        self,
        tls: Option<TlsAcceptor>,
    ) -> impl Stream<Item = Connection> {
        let (sender, receiver) = mpsc::channel(1);
        let Listener { listeners, limits } = self;
        // The sockets take turns, so that a flood of connections to one of them does not shut out
        // the others.
        let mut listeners = select_all(listeners.into_iter().map(TcpListenerStream::new));
        let mut door = Door::new(limits, tls, sender.clone());
        let accept = async move {
            loop {
                let accepted = listeners.next().await.expect("listeners do not end");
                match accepted.and_then(|it| it.peer_addr().map(|peer| (it, peer.ip()))) {
                    Ok((stream, peer)) => door.visit(stream, peer).await,
                    Err(error) => {
                        if is_out_of_files(&error) {
                            door.make_room(door.strangers.len() / 2, &error);
                        }
                        // Otherwise the peer is gone already, or it is the system that must make
                        // room.
                        tokio::time::sleep(Duration::from_millis(50)).await;
                    }
                }
            }
        };
        tokio::spawn(async move {
            tokio::select! {
                () = accept => {}
                () = sender.closed() => {}
            }
        });
        ReceiverStream::new(receiver)
    }
}

/// What all new connections share: the limits, and the connections that they are weighed against.
struct Door {
    limits: Limits,
    tls: Option<TlsAcceptor>,
    /// A permit for each connection that there may be at a time.
    permits: Arc<Semaphore>,
    /// The rate of new connections of each address.
    visits: Rates<IpAddr>,
    /// A sender for each connection that may not have shown a credential yet, the oldest first.
    /// Dropping the sender ends the connection, unless it was admitted.
    strangers: VecDeque<oneshot::Sender<()>>,
    /// When the log last said that there is no room.
    warned: Option<Instant>,
    opened: mpsc::Sender<Connection>,
}

impl Door {
    fn new(limits: Limits, tls: Option<TlsAcceptor>, opened: mpsc::Sender<Connection>) -> Door {
        Door {
            limits,
            tls,
            permits: Arc::new(Semaphore::new(limits.connections)),
            // A thousand handshakes a second take a tenth of a processor.
            visits: Rates::new(1_000, limits.visits),
            strangers: VecDeque::new(),
            warned: None,
            opened,
        }
    }

    /// Closes this number of connections that have been without a credential for the longest time,
    /// and says so once a minute.
    fn make_room(&mut self, strangers: usize, reason: &dyn Display) {
        const PAUSE: Duration = Duration::from_mins(1);
        for _ in 0..strangers {
            while self.strangers.pop_front().is_some_and(|stranger| stranger.is_closed()) {}
        }
        if self.warned.is_none_or(|at| at.elapsed() >= PAUSE) {
            self.warned = Some(Instant::now());
            tracing::warn!(
                "{reason}: connections without a credential are closed first, and further ones wait; allow more open \
                 files (`ulimit -Hn`, LimitNOFILE= of systemd)"
            );
        }
    }

    /// Accepts a connection as soon as there is room for it, and closes it if its address has made
    /// too many. The handshake is done by a task of its own, so that a slow one delays nobody.
    async fn visit(&mut self, stream: TcpStream, peer: IpAddr) {
        if !self.visits.allow(&machine(peer)) {
            return;
        }
        if self.permits.available_permits() == 0 {
            let places = self.limits.connections;
            self.make_room(1, &format_args!("all {places} places for connections are taken"));
        }
        let permit = self.permits.clone().acquire_owned().await.expect("it is never closed");
        let _ = stream.set_nodelay(true);
        // A client that answers and takes nothing is left to the system, which knows how long what
        // was sent has waited.
        #[cfg(target_os = "linux")]
        let _ = rustix::net::sockopt::set_tcp_user_timeout(&stream, UNREAD.as_millis() as u32);
        if self.strangers.len() >= self.limits.strangers {
            self.strangers.pop_front();
        }
        let (stranger, pushed_out) = oneshot::channel();
        self.strangers.push_back(stranger);
        let mut end = Box::pin(timeout(self.limits.admission, pushed_out).fuse());
        let is_encrypted = self.tls.is_some();
        let admission = Admission { is_granted: Arc::default(), peer, is_encrypted };
        let (tls, opened) = (self.tls.clone(), self.opened.clone());
        tokio::spawn(async move {
            let stream = tokio::select! {
                stream = open(stream, tls) => stream,
                _ = &mut end => return,
            };
            match stream {
                Ok(stream) => {
                    let connection =
                        Connection { stream, admission, end: Some(end), _permit: permit };
                    let _ = opened.send(connection).await;
                }
                Err(error) => tracing::debug!(%error, "a TLS handshake failed"),
            }
        });
    }
}

/// Whether the process or the system may open no further file.
fn is_out_of_files(error: &io::Error) -> bool {
    #[cfg(unix)]
    let codes = [rustix::io::Errno::MFILE, rustix::io::Errno::NFILE].map(|it| it.raw_os_error());
    #[cfg(not(unix))]
    let codes: [i32; 0] = [];
    error.raw_os_error().is_some_and(|code| codes.contains(&code))
}

/// A connection in plain text or over TLS.
type Opened = Either<TcpStream, Box<TlsStream<TcpStream>>>;

async fn open(stream: TcpStream, tls: Option<TlsAcceptor>) -> io::Result<Opened> {
    match tls {
        None => Ok(Either::Left(stream)),
        Some(tls) => {
            let mut first = [0];
            if stream.peek(&mut first).await? == 1 && first != [TLS_HANDSHAKE] {
                return Err(refuse_plain_text(stream).await);
            }
            Ok(Either::Right(Box::new(tls.accept(stream).await?)))
        }
    }
}

/// The type of the first record of a TLS connection.
const TLS_HANDSHAKE: u8 = 22;

/// Answers HTTP in plain text that this port serves TLS.
async fn refuse_plain_text(mut stream: TcpStream) -> io::Error {
    const TEXT: &str = "this port serves TLS: begin its address with https://\n";
    let length = TEXT.len();
    let answer = format!(
        "HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain\r\nContent-Length: {length}\r\n\
         Connection: close\r\n\r\n{TEXT}"
    );
    // If anything were unread at the end, the system would discard the answer.
    let _ = stream.try_read(&mut [0; 4096]);
    let _ = stream.write_all(answer.as_bytes()).await;
    io::Error::other("it was asked in plain text")
}

/// How long a peer may take nothing of what was sent to it before its connection ends.
#[cfg(target_os = "linux")]
const UNREAD: Duration = Duration::from_secs(if cfg!(test) { 3 } else { 60 });

/// Number of connections that the system may hold until we accept them. If a thousand workers
/// return at once and the queue is too short, some of their connections are reset.
const BACKLOG: u32 = 16_384;

fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
    // Without this, a restarted coordinator could not listen before the system has forgotten the
    // connections of the process before.
    #[cfg(unix)]
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

/// A connection that ends if none of its requests is admitted in time. So strangers cannot occupy
/// places, whatever they send. Once a request was admitted, HTTP/2 pings watch the connection.
pub(in crate::coordinator) struct Connection {
    stream: Opened,
    pub(super) admission: Admission,
    /// When it ends if it is not admitted; `None` once it is.
    end: Option<End>,
    _permit: OwnedSemaphorePermit,
}

/// Completes when a connection has to end that is not admitted: it was pushed out, or its time is
/// over.
type End = Pin<Box<Fuse<Timeout<oneshot::Receiver<()>>>>>;

/// Where a connection comes from, and whether a request of it was admitted. Every request carries
/// the value of its connection.
#[derive(Clone, Debug)]
pub(in crate::coordinator) struct Admission {
    is_granted: Arc<AtomicBool>,
    /// The address at the other end.
    pub(in crate::coordinator) peer: IpAddr,
    /// Whether the connection is over TLS.
    pub(in crate::coordinator) is_encrypted: bool,
}

impl Admission {
    /// Lets the connection stay.
    pub(in crate::coordinator) fn grant(&self) {
        self.is_granted.store(true, Ordering::Relaxed);
    }
}

impl Connection {
    /// The stream, until the connection has to end. Everything that is asked of the connection goes
    /// through here, so that whatever waits is woken at the end: a server does not read while it
    /// waits for somebody to take its answers.
    fn stream(&mut self, context: &mut Context<'_>) -> io::Result<Pin<&mut Opened>> {
        if self.admission.is_granted.load(Ordering::Relaxed) {
            self.end = None;
        }
        if let Some(end) = &mut self.end
            && (end.is_terminated() || end.poll_unpin(context).is_ready())
        {
            // What a stranger has not taken is dropped, and does not stay with the system.
            let tcp = match &self.stream {
                Either::Left(tcp) => tcp,
                Either::Right(tls) => tls.get_ref().0,
            };
            let _ = tcp.set_zero_linger();
            return Err(io::ErrorKind::TimedOut.into());
        }
        Ok(Pin::new(&mut self.stream))
    }
}

impl AsyncRead for Connection {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.stream(context)?.poll_read(context, buffer)
    }
}

impl AsyncWrite for Connection {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.stream(context)?.poll_write(context, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        shards: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.stream(context)?.poll_write_vectored(context, shards)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.stream(context)?.poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.stream(context)?.poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncReadExt;

    use super::*;
    use crate::tests::authority;
    use crate::tls::Authority;

    const HOUR: Duration = Duration::from_hours(1);
    const PREFACE: &[u8; 33] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";

    async fn listen(
        limits: Limits,
        tls: Option<TlsAcceptor>,
    ) -> (SocketAddr, impl Stream<Item = Connection>) {
        let any = "127.0.0.1:0".parse().expect("it is an address");
        let listener = Listener::bind(&[any], limits).await.expect("some port is free");
        (listener.addresses().expect("it is bound")[0], Box::pin(listener.connections(tls)))
    }

    /// A client, and the coordinator's end of its connection.
    async fn visit(
        address: SocketAddr,
        accepted: &mut (impl Stream<Item = Connection> + Unpin),
    ) -> (TcpStream, Connection) {
        let client = TcpStream::connect(address).await.expect("it listens");
        (client, accepted.next().await.expect("for ever"))
    }

    fn admitted_within(admission: Duration) -> Limits {
        Limits { connections: 1, admission, ..Limits::default() }
    }

    #[tokio::test]
    async fn a_handshake_that_does_not_end_is_no_way_to_stay() {
        let limits = admitted_within(Duration::from_millis(50));
        let (address, _accepted) = listen(limits, Some(authority().acceptor())).await;

        // Given the head of a TLS record, and then silence
        for begun in [&[][..], &[22, 3, 1, 1, 0]] {
            let mut client = TcpStream::connect(address).await.expect("it listens");
            client.write_all(begun).await.expect("it is connected");

            let ended = timeout(Duration::from_secs(30), client.read_u8()).await;

            ended.expect("it is closed").expect_err("nothing is said");
        }
    }

    #[tokio::test]
    async fn who_asks_a_port_that_serves_tls_in_plain_text_is_told_so() {
        let (address, _accepted) = listen(Limits::default(), Some(authority().acceptor())).await;
        let mut client = TcpStream::connect(address).await.expect("it listens");
        client.write_all(b"GET / HTTP/1.1\r\nHost: farm\r\n\r\n").await.expect("it is connected");

        let mut answer = String::new();
        client.read_to_string(&mut answer).await.expect("it is answered");

        assert!(answer.starts_with("HTTP/1.1 400 "), "{answer}");
        assert!(answer.ends_with("this port serves TLS: begin its address with https://\n"));
    }

    #[tokio::test]
    async fn a_flood_of_strangers_pushes_out_the_oldest_stranger_and_nobody_with_a_credential() {
        let limits = Limits { strangers: 2, admission: HOUR, ..Limits::default() };
        let (address, mut accepted) = listen(limits, None).await;
        let (_first, mut admitted) = visit(address, &mut accepted).await;
        admitted.admission.grant();
        let (_second, mut oldest) = visit(address, &mut accepted).await;
        let (_third, mut younger) = visit(address, &mut accepted).await;
        let (_fourth, mut youngest) = visit(address, &mut accepted).await;

        let pushed_out = timeout(Duration::from_secs(30), oldest.read_u8()).await;

        let pushed_out = pushed_out.expect("it ends").expect_err("there are two younger ones");
        assert_eq!(pushed_out.kind(), io::ErrorKind::TimedOut);
        let wait = Duration::from_millis(100);
        for connection in [&mut admitted, &mut younger, &mut youngest] {
            let read = timeout(wait, connection.read_u8()).await;
            assert!(read.is_err(), "it waits: {read:?}");
        }
    }

    #[tokio::test]
    async fn a_connection_that_is_not_admitted_ends_whatever_it_sends() {
        for sent in [0, 1, PREFACE.len()] {
            let (address, mut accepted) =
                listen(admitted_within(Duration::from_millis(50)), None).await;
            let (mut client, mut connection) = visit(address, &mut accepted).await;

            client.write_all(&PREFACE[..sent]).await.expect("it is connected");
            let read = connection.read_exact(&mut [0; PREFACE.len() + 1]).await;

            let fault = read.expect_err("it is too late").kind();
            assert_eq!(fault, io::ErrorKind::TimedOut, "after {sent} bytes");
        }
    }

    #[tokio::test]
    async fn a_connection_that_is_admitted_may_be_silent() {
        // It must be admitted in time, on a busy machine too.
        let (address, mut accepted) = listen(admitted_within(Duration::from_secs(2)), None).await;
        let (mut client, mut connection) = visit(address, &mut accepted).await;
        client.write_all(PREFACE).await.expect("it is connected");
        connection.read_exact(&mut [0; PREFACE.len()]).await.expect("it has come");
        connection.admission.grant();

        let silence = Duration::from_millis(2_200);
        let read = timeout(silence, connection.read_u8()).await;

        assert!(read.is_err(), "it waits: {read:?}");
    }

    /// A client that takes nothing yet, and the coordinator's end of its connection, which has been
    /// sent as much as the system takes.
    async fn filled(
        limits: Limits,
        authority: Option<&Authority>,
    ) -> (Box<dyn AsyncRead + Send + Unpin>, Connection) {
        let (address, mut accepted) = listen(limits, authority.map(Authority::acceptor)).await;
        let tcp = TcpStream::connect(address).await.expect("it listens");
        let (client, connection): (Box<dyn AsyncRead + Send + Unpin>, _) = match authority {
            None => (Box::new(tcp), accepted.next().await),
            Some(authority) => {
                let (connector, name) = authority.pin().connector(b"http/1.1");
                let (tls, accepted) = tokio::join!(connector.connect(name, tcp), accepted.next());
                (Box::new(tls.expect("the pin is right")), accepted)
            }
        };
        let mut connection = connection.expect("for ever");
        let pause = Duration::from_millis(20);
        while timeout(pause, connection.write(&[0; 1 << 16])).await.is_ok_and(|it| it.is_ok()) {}
        (client, connection)
    }

    /// Uses a connection in one of its ways until that fails.
    async fn fault(mut connection: Connection, way: &str) -> io::Error {
        let bytes = [0; 1 << 16];
        loop {
            let used = match way {
                "read" => connection.read_u8().await.map(|_| ()),
                "write" => connection.write(&bytes).await.map(|_| ()),
                "write vectored" => {
                    connection.write_vectored(&[io::IoSlice::new(&bytes)]).await.map(|_| ())
                }
                "flush" => connection.flush().await,
                _ => connection.shutdown().await,
            };
            if let Err(error) = used {
                return error;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    #[tokio::test]
    async fn a_stranger_does_not_stay_by_taking_its_answers_slowly_or_never() {
        let (authority, wait) = (authority(), Duration::from_secs(30));
        for authority in [None, Some(&authority)] {
            for way in ["read", "write", "write vectored", "flush", "shutdown"] {
                let limits = admitted_within(Duration::from_millis(300));
                let (mut client, connection) = filled(limits, authority).await;
                let ended = Arc::new(AtomicBool::new(false));
                let has_ended = ended.clone();
                let taking = tokio::spawn(async move {
                    let mut bytes = [0; 1 << 10];
                    loop {
                        match client.read(&mut bytes).await {
                            Ok(0) => return io::ErrorKind::UnexpectedEof,
                            Ok(_) if has_ended.load(Ordering::Relaxed) => {}
                            Ok(_) => tokio::time::sleep(Duration::from_millis(50)).await,
                            Err(error) => return error.kind(),
                        }
                    }
                });

                let fault = timeout(wait, fault(connection, way)).await.expect("it ends");

                // The system, which may end it later, has a number for that.
                let fault = (fault.kind(), fault.raw_os_error());
                assert_eq!(fault, (io::ErrorKind::TimedOut, None), "{way}");
                ended.store(true, Ordering::Relaxed);
                // The system does not keep what is left for it.
                let seen = timeout(wait, taking).await.expect("it is told").expect("no panic");
                assert_eq!(seen, io::ErrorKind::ConnectionReset, "{way}");
            }
        }
    }

    #[tokio::test]
    async fn who_has_a_credential_may_take_its_answers_slowly() {
        let (authority, limits) = (authority(), admitted_within(Duration::from_secs(2)));
        for authority in [None, Some(&authority)] {
            let (_client, mut connection) = filled(limits, authority).await;
            connection.admission.grant();

            let silence = Duration::from_millis(2_200);
            let written = timeout(silence, connection.write_all(&[0; 1 << 20])).await;

            assert!(written.is_err(), "it waits: {written:?}");
        }
    }

    #[tokio::test]
    async fn an_address_that_connects_too_often_is_closed_and_leaves_room() {
        let (address, mut accepted) = listen(Limits { visits: 3, ..Limits::default() }, None).await;
        let mut connect = async || {
            let mut client = TcpStream::connect(address).await.expect("it listens");
            tokio::select! {
                accepted = accepted.next() => accepted.is_some(),
                ended = client.read_u8() => ended.is_ok(),
            }
        };
        for _ in 0..3 {
            assert!(connect().await);
        }
        let (begun, mut more) = (Instant::now(), 0);
        for _ in 0..300 {
            more += u32::from(connect().await);
        }
        let earned = 1_000.0 * begun.elapsed().as_secs_f64();
        assert!(f64::from(more) <= earned + 1.0, "{more} instead of {earned}");
    }

    #[tokio::test]
    async fn further_connections_wait_for_room() {
        let (address, mut accepted) = listen(admitted_within(HOUR), None).await;
        let (_client, first) = visit(address, &mut accepted).await;
        first.admission.grant();
        let _further = TcpStream::connect(address).await.expect("the system accepts it");

        let wait = Duration::from_millis(100);
        assert!(timeout(wait, accepted.next()).await.is_err(), "there is no room");

        drop(first);
        accepted.next().await.expect("there is room again");
    }
}
