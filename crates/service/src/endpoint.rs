//! Connects to a coordinator.

use std::error::Error;
use std::path::PathBuf;
use std::time::Duration;

use tonic::metadata::{Ascii, MetadataValue};
use tonic::service::interceptor::InterceptedService;
use tonic::transport::{self, Channel};
use tonic::{Request, Status};

use crate::address_file::Whereabouts;
use crate::dial::{DialError, SPEAKS_TLS, dialler};
use crate::tls::{Refusal, Trust};
use crate::{JoinString, ServiceError, Token};

/// Where a coordinator is, how it is recognised, and what it wants to be shown.
#[derive(Clone, Debug)]
pub struct Endpoint {
    /// How errors name the coordinator.
    name: String,
    place: Place,
}

#[derive(Clone, Debug)]
enum Place {
    Url(String, Proofs),
    Join(JoinString),
    File(PathBuf, Proofs),
}

/// The files that belong to a URL. A join string needs neither.
#[derive(Clone, Debug, Default)]
pub struct Proofs {
    /// The file with the token that every request carries.
    pub token_file: Option<PathBuf>,
    /// The authority that must have signed the coordinator's certificate, as PEM, instead of those that this
    /// system trusts.
    pub authority_file: Option<PathBuf>,
}

/// A connection that adds the token to every request.
pub type TokenChannel = InterceptedService<Channel, ShowToken>;

impl Endpoint {
    /// The coordinator at `url`, which may lack its `http://`. Over https, the coordinator's certificate must be signed by an
    /// authority that this system trusts, or by that of `proofs`.
    pub fn new(url: &str, proofs: Proofs) -> Endpoint {
        let url = if url.contains("://") { url.to_string() } else { format!("http://{url}") };
        Endpoint { name: url.clone(), place: Place::Url(url, proofs) }
    }

    /// The coordinator that a join string names.
    pub fn join(join: JoinString) -> Endpoint {
        Endpoint { name: url_of(&join), place: Place::Join(join) }
    }

    /// The coordinator that the file `path` names, with a join string or with a URL, to which `proofs` belong.
    /// The file is read for every connection.
    pub fn join_file(path: PathBuf, proofs: Proofs) -> Endpoint {
        let name = format!("the address in {}", path.display());
        Endpoint { name, place: Place::File(path, proofs) }
    }

    /// The URL, or where it can be found.
    pub fn url(&self) -> &str {
        &self.name
    }

    /// Checks what waiting does not mend.
    ///
    /// # Errors
    ///
    /// [`ServiceError::Url`], [`ServiceError::SecretFile`], [`ServiceError::CertificateFile`] or
    /// [`ServiceError::NoRoots`], if the URL, a file or this system's certificates cannot be used;
    /// [`ServiceError::Unreachable`], if there is no file with the address yet, which waiting may mend.
    pub fn check(&self) -> Result<(), ServiceError> {
        let target = self.target()?;
        target.builder()?;
        target.trust.as_ref().map(Trust::client).transpose()?;
        Ok(())
    }

    /// Reads the files, and connects.
    ///
    /// # Errors
    ///
    /// Those of [`Endpoint::check`]; [`ServiceError::Unreachable`] if no coordinator answers;
    /// [`ServiceError::Untimely`], [`ServiceError::Impostor`] or [`ServiceError::Incompatible`] if something else does.
    pub async fn connect(&self) -> Result<TokenChannel, ServiceError> {
        let target = self.target()?;
        Ok(InterceptedService::new(target.channel().await?, target.show_token()?))
    }

    /// Connects without the token, which is enough for health checks.
    ///
    /// # Errors
    ///
    /// Those of [`Endpoint::connect`].
    pub async fn channel(&self) -> Result<Channel, ServiceError> {
        self.target()?.channel().await
    }

    /// The error that `status` stands for if the port speaks TLS and plain text was sent.
    pub fn mismatch(&self, status: &Status) -> Option<ServiceError> {
        mismatch(&self.name, status)
    }

    /// The join string, if that is how the coordinator is named.
    ///
    /// # Errors
    ///
    /// [`ServiceError::SecretFile`] or [`ServiceError::Unreachable`], if its file cannot be used.
    pub fn join_string(&self) -> Result<Option<JoinString>, ServiceError> {
        match &self.place {
            Place::Url(..) => Ok(None),
            Place::Join(join) => Ok(Some(join.clone())),
            Place::File(path, _) => match Whereabouts::read(path)? {
                Whereabouts::Join(join) => Ok(Some(join)),
                Whereabouts::Url(_) => Ok(None),
            },
        }
    }

    /// What tells the secret that it would show now from another one. `None` if a file cannot be used now.
    pub(crate) fn secret(&self) -> Option<Option<blake3::Hash>> {
        let target = self.target().ok()?;
        Some(target.token.as_ref().map(Token::hash))
    }

    fn target(&self) -> Result<Target, ServiceError> {
        match &self.place {
            Place::Url(url, proofs) => proofs.target(url),
            Place::Join(join) => Ok(Target::of(join)),
            Place::File(path, proofs) => match (Whereabouts::read(path)?, &proofs.token_file) {
                (Whereabouts::Url(url), _) => proofs.target(&url),
                (Whereabouts::Join(join), None) => Ok(Target::of(&join)),
                (Whereabouts::Join(_), Some(token_file)) => Err(ServiceError::SecretFile {
                    path: token_file.clone(),
                    reason: format!(
                        "the join string in {} has its own secret; leave one of the two files out",
                        path.display()
                    ),
                }),
            },
        }
    }
}

fn url_of(join: &JoinString) -> String {
    format!("https://{}", join.address)
}

impl Proofs {
    /// The token in `token_file`, and the authorities that this system trusts.
    pub fn of_token(token_file: PathBuf) -> Proofs {
        Proofs { token_file: Some(token_file), authority_file: None }
    }

    fn target(&self, url: &str) -> Result<Target, ServiceError> {
        let url = url.to_string();
        let trust = self.authority_file.clone().map_or(Trust::System, Trust::File);
        let trust = url.starts_with("https://").then_some(trust);
        if trust.is_none() && self.authority_file.is_some() {
            let reason = "an authority certifies only what begins with https://".into();
            return Err(ServiceError::Url { url, reason });
        }
        let token = self.token_file.as_deref().map(Token::read).transpose()?;
        Ok(Target { url, token, trust })
    }
}

/// All that is needed for one connection.
struct Target {
    url: String,
    token: Option<Token>,
    /// `None` for a connection in plain text.
    trust: Option<Trust>,
}

impl Target {
    fn of(join: &JoinString) -> Target {
        let (token, trust) = (Some(join.token.clone()), Some(Trust::Pin(join.pin)));
        Target { url: url_of(join), token, trust }
    }

    async fn channel(&self) -> Result<Channel, ServiceError> {
        let builder = self.builder()?;
        let tls = self.trust.as_ref().map(|trust| {
            let host = builder.uri().host().unwrap_or_default();
            let name = trust.name(host).map_err(|error| self.refuse(error.to_string()))?;
            Ok::<_, ServiceError>((trust.client()?, name))
        });
        let connected = builder.connect_with_connector(dialler(tls.transpose()?)).await;
        connected.map_err(|error| self.failure(&error))
    }

    fn failure(&self, error: &transport::Error) -> ServiceError {
        let url = self.url.clone();
        match dial_error(error) {
            Some(DialError::NoTls) => ServiceError::Incompatible(format!(
                "the port at {url} does not speak TLS: if its coordinator was started with --insecure, connect \
                 to http://"
            )),
            Some(DialError::Refused(refusal @ Refusal::Untimely(_))) => {
                ServiceError::Untimely { url, reason: refusal.to_string() }
            }
            Some(DialError::Refused(refusal)) => {
                ServiceError::Impostor { url, reason: refusal.to_string() }
            }
            _ => ServiceError::Unreachable { url, reason: innermost(error) },
        }
    }

    fn show_token(&self) -> Result<ShowToken, ServiceError> {
        let header = self.token.as_ref().map(|token| token.bearer().parse());
        Ok(ShowToken(header.transpose().map_err(anyhow::Error::from)?))
    }

    fn refuse(&self, reason: String) -> ServiceError {
        ServiceError::Url { url: self.url.clone(), reason }
    }

    fn builder(&self) -> Result<transport::Endpoint, ServiceError> {
        let builder = Channel::from_shared(self.url.clone())
            .map_err(|error| self.refuse(format!("not a URL: {error}")))?;
        if !matches!(builder.uri().scheme_str(), Some("http" | "https")) {
            return Err(self.refuse("it must begin with http:// or https://".into()));
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

/// The causes of an error, beginning with itself.
fn causes<'e>(error: &'e (dyn Error + 'static)) -> impl Iterator<Item = &'e (dyn Error + 'static)> {
    std::iter::successors(Some(error), |&cause| cause.source())
}

fn dial_error(error: &transport::Error) -> Option<&DialError> {
    causes(error).find_map(|cause| cause.downcast_ref())
}

/// The error that `status` stands for if the port at `url` speaks TLS and plain text was sent.
pub(crate) fn mismatch(url: &str, status: &Status) -> Option<ServiceError> {
    // HTTP/2 keeps only the text of an error.
    (innermost(status) == SPEAKS_TLS).then(|| {
        ServiceError::Incompatible(format!(
            "the port at {url} speaks TLS: connect with the coordinator's join string, or to https://"
        ))
    })
}

/// The innermost cause of an error. It is the part that a person can act on: "transport error" is not.
pub(crate) fn innermost(error: &(dyn Error + 'static)) -> String {
    causes(error).last().map(ToString::to_string).unwrap_or_default()
}
