//! Connects to a coordinator.

use std::error::Error;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use tokio::io::{AsyncRead, AsyncWrite};
use tonic::metadata::{Ascii, MetadataValue};
use tonic::service::interceptor::InterceptedService;
use tonic::transport::{self, Channel, Uri};
use tonic::{Request, Status};
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_check_response::ServingStatus;
use tonic_health::pb::health_client::HealthClient;

use crate::address_file::Whereabouts;
use crate::coordinator::READINESS;
use crate::dial::{DialError, Network, SPEAKS_TLS, dialler};
use crate::tls::{Refusal, Trust};
use crate::{Addresses, JoinString, ServiceError, Token};

/// How long one of several addresses may take to say that it serves. Another one may serve while it says nothing.
const PATIENCE: Duration = Duration::from_secs(3);

/// Where a coordinator is, how it is recognised, and what it wants to be shown.
#[derive(Clone, Debug)]
pub struct Endpoint {
    /// How errors name the coordinator.
    name: String,
    place: Place,
    /// `None` for this system's.
    network: Option<Network>,
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
    /// The coordinator at `urls`, each of which may lack its `http://`; several, separated by commas, are those of a
    /// coordinator and its stand-bys. Over https, the coordinator's certificate must be signed by an authority that this
    /// system trusts, or by that of `proofs`.
    pub fn new(urls: &str, proofs: Proofs) -> Endpoint {
        let whole = |url: &str| match url.contains("://") {
            true => url.to_string(),
            false => format!("http://{url}"),
        };
        let urls = urls.split(',').map(whole).collect::<Vec<_>>().join(",");
        Endpoint { name: urls.clone(), place: Place::Url(urls, proofs), network: None }
    }

    /// The coordinator that a join string names.
    pub fn join(join: JoinString) -> Endpoint {
        let name = join.addresses.urls("https");
        Endpoint { name, place: Place::Join(join), network: None }
    }

    /// The coordinator that the file `path` names, with a join string or with a URL, to which `proofs` belong.
    /// The file is read for every connection.
    pub fn join_file(path: PathBuf, proofs: Proofs) -> Endpoint {
        let name = format!("the address in {}", path.display());
        Endpoint { name, place: Place::File(path, proofs), network: None }
    }

    /// The same coordinator, reached in plain text through what `dial` opens, for example on a simulated network.
    #[must_use]
    pub fn through<F, S>(self, dial: impl Fn(Uri) -> F + Send + Sync + 'static) -> Endpoint
    where
        F: Future<Output = io::Result<S>> + Send + 'static,
        S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
    {
        Endpoint { network: Some(Network::new(dial)), ..self }
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
        self.targets()?.iter().try_for_each(|target| {
            target.builder()?;
            target.trust.as_ref().map(Trust::client).transpose()?;
            Ok(())
        })
    }

    /// Reads the files, and connects. If there are several addresses, the connection leads to the first that says that it
    /// serves.
    ///
    /// # Errors
    ///
    /// Those of [`Endpoint::check`]; [`ServiceError::Unreachable`] if no coordinator answers;
    /// [`ServiceError::Untimely`], [`ServiceError::Impostor`] or [`ServiceError::Incompatible`] if something else does.
    pub async fn connect(&self) -> Result<TokenChannel, ServiceError> {
        let targets = self.targets()?;
        let (target, channel) = find_serving(&targets).await?;
        Ok(InterceptedService::new(channel, target.show_token()?))
    }

    /// Connects without the token, which is enough for health checks.
    ///
    /// # Errors
    ///
    /// Those of [`Endpoint::connect`].
    pub async fn channel(&self) -> Result<Channel, ServiceError> {
        let targets = self.targets()?;
        Ok(find_serving(&targets).await?.1)
    }

    /// Each of its addresses by itself.
    ///
    /// # Errors
    ///
    /// [`ServiceError::SecretFile`] or [`ServiceError::Unreachable`], if a file cannot be used.
    pub fn each(&self) -> Result<Vec<Endpoint>, ServiceError> {
        let of_join = |join: &JoinString| {
            let one = |address| Endpoint::join(JoinString { addresses: address, ..join.clone() });
            join.addresses.each().map(one).collect::<Vec<_>>()
        };
        let of_urls = |urls: &str, proofs: &Proofs| {
            urls.split(',').map(|url| Endpoint::new(url, proofs.clone())).collect()
        };
        let each = match &self.place {
            Place::Url(urls, proofs) => of_urls(urls, proofs),
            Place::Join(join) => of_join(join),
            Place::File(path, proofs) => match Whereabouts::read(path)? {
                Whereabouts::Join(join) => of_join(&join),
                Whereabouts::Url(urls) => of_urls(&urls, proofs),
            },
        };
        let over = |one| Endpoint { network: self.network.clone(), ..one };
        Ok(each.into_iter().map(over).collect())
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

    /// What tells the secrets that it would show now from others. `None` if a file cannot be used now.
    pub(crate) fn secrets(&self) -> Option<Vec<Option<blake3::Hash>>> {
        let targets = self.targets().ok()?;
        Some(targets.iter().map(|target| target.token.as_ref().map(Token::hash)).collect())
    }

    /// All addresses, one at least.
    fn targets(&self) -> Result<Vec<Target>, ServiceError> {
        let mut targets = self.targets_of_place()?;
        targets.iter_mut().for_each(|target| target.network.clone_from(&self.network));
        Ok(targets)
    }

    fn targets_of_place(&self) -> Result<Vec<Target>, ServiceError> {
        match &self.place {
            Place::Url(urls, proofs) => proofs.targets(urls),
            Place::Join(join) => Ok(Target::all_of(join)),
            Place::File(path, proofs) => match (Whereabouts::read(path)?, &proofs.token_file) {
                (Whereabouts::Url(urls), _) => proofs.targets(&urls),
                (Whereabouts::Join(join), None) => Ok(Target::all_of(&join)),
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

impl Proofs {
    /// The token in `token_file`, and the authorities that this system trusts.
    pub fn of_token(token_file: PathBuf) -> Proofs {
        Proofs { token_file: Some(token_file), authority_file: None }
    }

    fn targets(&self, urls: &str) -> Result<Vec<Target>, ServiceError> {
        urls.split(',').map(|url| self.target(url)).collect()
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
        Ok(Target { url, token, trust, network: None })
    }
}

/// All that is needed for one connection.
struct Target {
    url: String,
    token: Option<Token>,
    /// `None` for a connection in plain text.
    trust: Option<Trust>,
    network: Option<Network>,
}

impl Target {
    fn all_of(join: &JoinString) -> Vec<Target> {
        let target = |address: Addresses| Target {
            url: address.urls("https"),
            token: Some(join.token.clone()),
            trust: Some(Trust::Pin(join.pin)),
            network: None,
        };
        join.addresses.each().map(target).collect()
    }

    /// A connection to a coordinator that says in time that it serves.
    async fn serving_channel(&self) -> Result<Channel, ServiceError> {
        let unreachable = |reason| ServiceError::Unreachable { url: self.url.clone(), reason };
        let asked = async {
            let channel = self.channel().await?;
            let request = HealthCheckRequest { service: READINESS.into() };
            let answer = HealthClient::new(channel.clone()).check(request).await;
            let answer = answer.map_err(|status| {
                mismatch(&self.url, &status).unwrap_or_else(|| unreachable(innermost(&status)))
            })?;
            match answer.into_inner().status() {
                ServingStatus::Serving => Ok(channel),
                _ => Err(unreachable("it does not serve now".into())),
            }
        };
        let late = |_| unreachable("it does not answer".into());
        tokio::time::timeout(PATIENCE, asked).await.map_err(late)?
    }

    async fn channel(&self) -> Result<Channel, ServiceError> {
        let builder = self.builder()?;
        if let Some(network) = self.network.clone() {
            let connected = builder.connect_with_connector(network.into_dialler()).await;
            return connected.map_err(|error| self.failure(&error));
        }
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

/// Asks all addresses at once, and connects to the first that serves. A single address is taken as it is.
async fn find_serving(targets: &[Target]) -> Result<(&Target, Channel), ServiceError> {
    if let [only] = targets {
        return Ok((only, only.channel().await?));
    }
    let ask =
        async |target| Ok::<_, ServiceError>((target, Target::serving_channel(target).await?));
    let mut asked: FuturesUnordered<_> = targets.iter().map(ask).collect();
    let (mut urls, mut reasons) = (Vec::new(), Vec::new());
    let mut telling = None;
    while let Some(found) = asked.next().await {
        match found {
            Ok(found) => return Ok(found),
            Err(ServiceError::Unreachable { url, reason }) => {
                reasons.push(format!("{url}: {reason}"));
                urls.push(url);
            }
            Err(error) => telling = Some(error),
        }
    }
    Err(telling.unwrap_or_else(|| ServiceError::Unreachable {
        url: urls.join(","),
        reason: format!("none of them serves; {}", reasons.join("; ")),
    }))
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
