//! Connects to a coordinator, in plain text or over TLS.

use std::error::Error;
use std::io;
use std::net::{IpAddr, Ipv6Addr};
use std::path::PathBuf;
use std::time::Duration;

use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls;
use tonic::metadata::{Ascii, MetadataValue};
use tonic::service::interceptor::InterceptedService;
use tonic::transport::{self, Channel, Uri};
use tonic::{Request, Status};
use tower::{Service, ServiceExt, service_fn};

use crate::{HostPort, HostPortError, JoinString, Pin, ServiceError, Token};

/// Where a coordinator is, how it is recognised, and the secret that is shown to it.
#[derive(Clone, Debug)]
pub struct Endpoint {
    /// What errors call the coordinator: its URL, or the file that names it.
    name: String,
    found: Found,
}

#[derive(Clone, Debug)]
enum Found {
    /// The coordinator serves plain text at the URL that is its name. Every request carries the
    /// token in this file, if there is one.
    Url(Option<PathBuf>),
    Join(JoinString),
    File(PathBuf),
}

/// A connection that adds the token to every request.
pub type TokenChannel = InterceptedService<Channel, ShowToken>;

impl Endpoint {
    /// The coordinator that serves plain text at `url`. Without `http://`, `url` is a host with or
    /// without a port. `token_file` is the file with the secret that the coordinator wants.
    pub fn new(url: &str, token_file: Option<PathBuf>) -> Endpoint {
        let name = if url.contains("://") {
            url.into()
        } else {
            format!("http://{}", with_port(url, PORT))
        };
        Endpoint { name, found: Found::Url(token_file) }
    }

    /// The coordinator that a join string names.
    #[must_use]
    pub fn join(join: JoinString) -> Endpoint {
        Endpoint { name: url_of(&join), found: Found::Join(join) }
    }

    /// The coordinator that the join string in the file `path` names. The file is read for every
    /// connection.
    pub fn join_file(path: PathBuf) -> Endpoint {
        let name = format!("the address in {}", path.display());
        Endpoint { name, found: Found::File(path) }
    }

    /// The URL of the coordinator, or the file that names it.
    pub fn url(&self) -> &str {
        &self.name
    }

    /// Reads the files and checks the address, without connecting.
    ///
    /// # Errors
    ///
    /// [`ServiceError::Url`] or [`ServiceError::Secret`] if the URL or a file cannot be used:
    /// trying again is useless before somebody mends it. [`ServiceError::Unreachable`] if the file
    /// with the join string does not exist yet: a later attempt may succeed.
    pub fn check(&self) -> Result<(), ServiceError> {
        self.target()?.builder()?;
        Ok(())
    }

    /// Reads the files, and connects.
    ///
    /// # Errors
    ///
    /// Those of [`Endpoint::check`]. [`ServiceError::Unreachable`] if nothing answers.
    /// [`ServiceError::Secret`] or [`ServiceError::Incompatible`] if something else than the
    /// coordinator answers.
    pub async fn connect(&self) -> Result<TokenChannel, ServiceError> {
        let target = self.target()?;
        let bearer = |token: &Token| format!("Bearer {}", token.secret()).parse();
        let header = target.token.as_ref().map(bearer);
        let header = ShowToken(header.transpose().map_err(anyhow::Error::from)?);
        Ok(InterceptedService::new(target.channel().await?, header))
    }

    /// Connects without the token, which is enough for health checks. Errors are those of
    /// [`Endpoint::connect`].
    pub async fn channel(&self) -> Result<Channel, ServiceError> {
        self.target()?.channel().await
    }

    /// The join string, if a join string names the coordinator.
    pub fn join_string(&self) -> Result<Option<JoinString>, ServiceError> {
        match &self.found {
            Found::Url(..) => Ok(None),
            Found::Join(join) => Ok(Some(join.clone())),
            Found::File(path) => match JoinString::read(path)? {
                Some(join) => Ok(Some(join)),
                None => Err(ServiceError::Unreachable {
                    url: self.name.clone(),
                    reason: "the file does not exist; a coordinator that serves writes it".into(),
                }),
            },
        }
    }

    /// Whether the connection is over TLS.
    pub(crate) fn is_encrypted(&self) -> bool {
        !matches!(self.found, Found::Url(_))
    }

    /// Whether a coordinator that does not answer may be one that is just being started here: its
    /// address is on loopback, or the file with its join string is not written yet.
    pub fn may_be_starting(&self) -> bool {
        let is_loopback = |url: &str| {
            let host = url.parse::<Uri>().ok().and_then(|uri| uri.host().map(String::from));
            let host = host.unwrap_or_default();
            let address = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
            address.map_or(host == "localhost", |address| address.is_loopback())
        };
        match self.target() {
            Ok(target) => is_loopback(&target.url),
            Err(error) => matches!(error, ServiceError::Unreachable { .. }),
        }
    }

    /// Why what was asked in plain text gave no answer: that its port serves TLS or, if it does
    /// not, `reason`.
    pub async fn why_silent(&self, reason: String) -> String {
        if self.is_encrypted() {
            return reason;
        }
        // No certificate has this hash, so that a port that serves TLS is refused for its own.
        let asked = Target { url: self.name.clone(), token: None, pin: Some(Pin::of(&[])) };
        match asked.channel().await {
            Err(ServiceError::Secret(_)) => {
                "this port serves TLS, and was asked in plain text".into()
            }
            _ => reason,
        }
    }

    /// The hash of the secret that a connection would show now: `Some(None)` if it would show none,
    /// and `None` if a file cannot be used now.
    pub(crate) fn secret(&self) -> Option<Option<blake3::Hash>> {
        let target = self.target().ok()?;
        Some(target.token.as_ref().map(Token::hash))
    }

    fn target(&self) -> Result<Target, ServiceError> {
        if let Some(join) = self.join_string()? {
            return Ok(Target { url: url_of(&join), token: Some(join.token), pin: Some(join.pin) });
        }
        let token = match &self.found {
            Found::Url(Some(file)) => Some(Token::read(file)?),
            _ => None,
        };
        Ok(Target { url: self.name.clone(), token, pin: None })
    }
}

/// The port of coordinators, unless another one is named.
pub const PORT: u16 = 7410;

/// The address, with `port` if it has none. An IPv6 address without brackets gets them, because a
/// port follows.
pub fn with_port(address: &str, port: u16) -> String {
    if address.parse::<Ipv6Addr>().is_ok() {
        return format!("[{address}]:{port}");
    }
    match address.rsplit_once(':') {
        Some((_, end)) if !end.contains(']') => address.into(),
        _ => format!("{address}:{port}"),
    }
}

fn url_of(join: &JoinString) -> String {
    format!("https://{}", join.address)
}

/// All that is needed for one connection.
struct Target {
    url: String,
    token: Option<Token>,
    /// How the coordinator is recognised; `None` in plain text.
    pin: Option<Pin>,
}

impl Target {
    async fn channel(&self) -> Result<Channel, ServiceError> {
        let builder = self.builder()?;
        let connected = match self.pin {
            Some(pin) => builder.connect_with_connector(dialler(pin)).await,
            None => builder.connect().await,
        };
        connected.map_err(|error| self.failure(&error))
    }

    fn failure(&self, error: &transport::Error) -> ServiceError {
        let url = self.url.clone();
        match causes(error).find_map(|cause| cause.downcast_ref()) {
            Some(rustls::Error::InvalidMessage(_)) => ServiceError::Incompatible(format!(
                "the port at {url} does not speak TLS: if its coordinator was started with --insecure, connect \
                 to http://"
            )),
            Some(rustls::Error::InvalidCertificate(_)) => ServiceError::Secret(format!(
                "the program that answers at {url} does not prove to be the coordinator: its certificate is not the one \
                 in the join string; get the join string that the coordinator shows now, and if it is the same, \
                 somebody else answers at this address"
            )),
            _ => ServiceError::Unreachable { url, reason: self.reason(error) },
        }
    }

    /// Why there is no connection. The library says of a name that cannot be looked up only
    /// "dns error".
    fn reason(&self, error: &transport::Error) -> String {
        let uri = self.url.parse::<Uri>().unwrap_or_default();
        match causes(error).any(|cause| cause.to_string().starts_with("dns error")) {
            true => {
                let host = uri.host().unwrap_or_default();
                format!("the name {host} is not known here: {}", innermost(error))
            }
            false => innermost(error),
        }
    }

    fn builder(&self) -> Result<transport::Endpoint, ServiceError> {
        let refuse = |reason: String| {
            ServiceError::Url(format!("cannot use the address {} ({reason})", self.url))
        };
        let builder = Channel::from_shared(self.url.clone())
            .map_err(|error| refuse(format!("not a URL: {error}")))?;
        let authority = builder.uri().authority().map_or("", |authority| authority.as_str());
        let port = authority.rsplit_once(':').map(|(_, port)| port).filter(|it| !it.contains(']'));
        if let Some(port) = port.filter(|port| port.parse::<u16>().is_err()) {
            return Err(refuse(format!("{port:?} is no port: it is a number up to 65535")));
        }
        with_port(authority, PORT)
            .parse::<HostPort>()
            .map_err(|error: HostPortError| refuse(error.to_string()))?;
        let host = builder.uri().host().unwrap_or_default();
        if host.bytes().all(|sign| sign.is_ascii_digit()) {
            return Err(refuse(format!("{host} is no host: name one before a port")));
        }
        if self.pin.is_none() && builder.uri().scheme_str() != Some("http") {
            return Err(refuse(
                "it must begin with http://; what serves TLS is named by its join string".into(),
            ));
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

/// A connection over TLS.
type Dialled = TokioIo<TlsStream<TcpStream>>;

/// Dials URIs over TLS to a server that has the certificate with the hash `pin`.
fn dialler(
    pin: Pin,
) -> impl Service<Uri, Response = Dialled, Error = tower::BoxError, Future: Send> + Send {
    let mut tcp = HttpConnector::new();
    tcp.enforce_http(false);
    tcp.set_nodelay(true);
    let tls = pin.connector(b"h2");
    service_fn(move |uri| {
        let (tcp, (tls, name)) = (tcp.clone(), tls.clone());
        async move {
            let stream = tcp.oneshot(uri).await?.into_inner();
            Ok(TokioIo::new(tls.connect(name, stream).await.map_err(tls_fault)?))
        }
    })
}

/// The TLS error in the I/O error of a handshake. An I/O error does not return its content as its
/// source, so `causes` would not find it.
fn tls_fault(error: io::Error) -> tower::BoxError {
    error.downcast::<rustls::Error>().map_or_else(Into::into, Into::into)
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

/// The causes of an error, beginning with itself.
fn causes<'e>(error: &'e (dyn Error + 'static)) -> impl Iterator<Item = &'e (dyn Error + 'static)> {
    std::iter::successors(Some(error), |&cause| cause.source())
}

/// The innermost cause of an error. It says what a person can act on; the outermost one says only
/// "transport error". The cause may hold what the other end has sent.
pub(crate) fn innermost(error: &(dyn Error + 'static)) -> String {
    causes(error).last().map(|cause| farm::visible(&cause.to_string())).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_that_cannot_be_is_refused_at_once() {
        let ports = ["foo:bar", "127.0.0.1:99999", "[::1]:x", "http://a:-1", "http://a:65536/"];
        let hosts = ["7410", "foo:0", "a b", "me@farm", "http://", "http://:7410", "a,b", "[a]"];
        for wrong in ports.into_iter().chain(hosts) {
            let refused = Endpoint::new(wrong, None).check().expect_err(wrong);
            assert!(matches!(refused, ServiceError::Url(_)), "{wrong}: {refused}");
        }
        for right in ["foo", "foo:1", "127.0.0.1:65535", "[::1]", "::1", "http://[::1]:80"] {
            Endpoint::new(right, None).check().expect(right);
        }
    }

    #[tokio::test]
    async fn a_name_that_is_not_known_is_said_to_be_so() {
        // No name ends so (RFC 6761).
        let endpoint = Endpoint::new("farm.invalid", None);
        let refused = endpoint.connect().await.expect_err("there is no such name");
        assert!(matches!(refused, ServiceError::Unreachable { .. }), "{refused}");
        let text = refused.to_string();
        assert!(text.contains("the name farm.invalid is not known here"), "{text}");
    }

    #[test]
    fn a_coordinator_that_is_silent_may_be_starting_on_this_machine_alone() {
        let may_be = |endpoint: Endpoint| endpoint.may_be_starting();
        for here in ["127.0.0.1", "127.1.2.3:80", "localhost", "::1", "http://[::1]:7410"] {
            assert!(may_be(Endpoint::new(here, None)), "{here}");
        }
        for elsewhere in ["10.0.0.1", "farm.example", "http://[fe80::1]:7410", "localhost.example"]
        {
            assert!(!may_be(Endpoint::new(elsewhere, None)), "{elsewhere}");
        }
        assert!(may_be(Endpoint::join_file("there is no such file".into())));
    }

    #[test]
    fn an_address_without_a_port_has_that_of_coordinators() {
        let addresses = [
            ("farm", "farm:7410"),
            ("10.0.0.1", "10.0.0.1:7410"),
            ("farm:80", "farm:80"),
            ("::1", "[::1]:7410"),
            ("[::1]", "[::1]:7410"),
            ("[::1]:80", "[::1]:80"),
        ];
        for (address, whole) in addresses {
            assert_eq!(with_port(address, PORT), whole);
        }
    }
}
