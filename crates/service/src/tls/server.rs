//! The certificate that a coordinator shows, and its replacement while the coordinator serves.

use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock, Weak};
use std::time::{Duration, SystemTime};

use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::client::WebPkiServerVerifier;
use tokio_rustls::rustls::client::danger::ServerCertVerifier as _;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use tokio_rustls::rustls::server::{ClientHello, NoServerSessionStorage, ResolvesServerCert};
use tokio_rustls::rustls::sign::CertifiedKey;
use tokio_rustls::rustls::{CertificateError, Error, RootCertStore, ServerConfig};

use super::{Authority, HTTP_1, HTTP_2, NAME, VERSIONS, provider};
use crate::{ServiceError, secret_file};

/// How often a certificate's age is looked at.
const AGE_CHECK: Duration = Duration::from_secs(60);
/// A leaf of this age is replaced, long before its end.
const RENEWAL_AGE: Duration = Duration::from_hours(30 * 24);
/// How often the files of a certificate from elsewhere are read.
const FILE_CHECK: Duration = Duration::from_secs(2);

/// How a coordinator serves TLS. The certificate is replaced for new connections; those that exist live on.
#[derive(Clone)]
pub struct ServerTls {
    config: Arc<ServerConfig>,
    shown: Arc<Shown>,
}

impl ServerTls {
    /// Shows leaves of `authority`, a new one every month. Must be called within a runtime.
    ///
    /// # Errors
    ///
    /// [`ServiceError::Internal`], if no leaf can be made.
    pub fn by_authority(authority: Authority) -> Result<ServerTls, ServiceError> {
        ServerTls::renewed(authority, RENEWAL_AGE, AGE_CHECK)
    }

    pub(super) fn renewed(
        authority: Authority,
        renewal_age: Duration,
        every: Duration,
    ) -> Result<ServerTls, ServiceError> {
        let mut issued = wall_clock();
        let shown = Shown::new(authority.leaf(issued)?);
        let renew = move || {
            let now = wall_clock();
            // The clock may also have been set back.
            if now.duration_since(issued).is_ok_and(|age| age < renewal_age) {
                return None;
            }
            match authority.leaf(now) {
                Ok(leaf) => {
                    issued = now;
                    tracing::info!("the certificate was renewed");
                    Some(leaf)
                }
                Err(error) => {
                    tracing::error!("the certificate cannot be renewed: {error:#}");
                    None
                }
            }
        };
        tokio::spawn(replace(Arc::downgrade(&shown), every, renew));
        ServerTls::show(shown)
    }

    /// Shows the certificates in the PEM file `certificate`, the coordinator's own first, with the private
    /// key in the PEM file `key`. Both are read again when they change; if they are of no use then, the old
    /// ones stay. Must be called within a runtime.
    ///
    /// # Errors
    ///
    /// [`ServiceError::CertificateFile`] or [`ServiceError::SecretFile`], if they are of no use now.
    pub fn by_files(certificate: PathBuf, key: PathBuf) -> Result<ServerTls, ServiceError> {
        let files = Files { certificate, key };
        let contents = files.read()?;
        let shown = Shown::new(files.certified(&contents)?);
        let mut last = Ok(contents);
        let reload = move || {
            let now = files.read().map_err(|error| error.to_string());
            if now == last {
                return None;
            }
            let certified = match &now {
                Ok(contents) => files.certified(contents).map_err(|error| error.to_string()),
                Err(error) => Err(error.clone()),
            };
            last = now;
            match certified {
                Ok(certified) => {
                    tracing::info!(path = %files.certificate.display(), "the certificate was replaced");
                    Some(certified)
                }
                Err(error) => {
                    tracing::error!("the certificate stays as it was: {error}");
                    None
                }
            }
        };
        tokio::spawn(replace(Arc::downgrade(&shown), FILE_CHECK, reload));
        ServerTls::show(shown)
    }

    pub(super) fn show(shown: Arc<Shown>) -> Result<ServerTls, ServiceError> {
        let mut config = ServerConfig::builder_with_provider(provider())
            .with_protocol_versions(VERSIONS)
            .map_err(anyhow::Error::from)?
            .with_no_client_auth()
            .with_cert_resolver(shown.clone());
        config.alpn_protocols = vec![HTTP_2.into(), HTTP_1.into()];
        // Connections last for days, so that resuming them is not worth the memory.
        config.session_storage = Arc::new(NoServerSessionStorage {});
        config.send_tls13_tickets = 0;
        Ok(ServerTls { config: Arc::new(config), shown })
    }

    pub(crate) fn acceptor(&self) -> TlsAcceptor {
        TlsAcceptor::from(self.config.clone())
    }

    /// When the first of the certificates that are shown now ends, seconds since 1970; `None` if none of them can
    /// be read.
    pub(crate) fn end(&self) -> Option<i64> {
        let shown = self.shown.0.read().unwrap_or_else(PoisonError::into_inner).clone();
        shown.cert.iter().filter_map(end).min()
    }
}

/// When a certificate ends, seconds since 1970. Whoever verifies it after the last time that a certificate can name
/// is told.
fn end(certificate: &CertificateDer<'static>) -> Option<i64> {
    const YEAR_10000: Duration = Duration::from_secs(253_402_300_800);
    let mut roots = RootCertStore::empty();
    roots.add(certificate.clone()).ok()?;
    let verifier =
        WebPkiServerVerifier::builder_with_provider(roots.into(), provider()).build().ok()?;
    let name = ServerName::try_from(NAME).ok()?;
    let then = UnixTime::since_unix_epoch(YEAR_10000);
    match verifier.verify_server_cert(certificate, &[], &name, &[], then) {
        Err(Error::InvalidCertificate(CertificateError::ExpiredContext { not_after, .. })) => {
            not_after.as_secs().try_into().ok()
        }
        _ => None,
    }
}

/// The certificate that new connections are shown.
#[derive(Debug)]
pub(super) struct Shown(RwLock<Arc<CertifiedKey>>);

impl Shown {
    pub(super) fn new(certified: CertifiedKey) -> Arc<Shown> {
        Arc::new(Shown(RwLock::new(Arc::new(certified))))
    }
}

impl ResolvesServerCert for Shown {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(self.0.read().unwrap_or_else(PoisonError::into_inner).clone())
    }
}

/// Asks `newer` for a certificate every so often and shows it, for as long as `shown` is in use.
async fn replace<F>(shown: Weak<Shown>, every: Duration, mut newer: F)
where
    F: FnMut() -> Option<CertifiedKey> + Send + 'static,
{
    loop {
        tokio::time::sleep(every).await;
        // It may read files, and a disk may be slow.
        let asked = tokio::task::spawn_blocking(move || {
            let found = newer();
            (newer, found)
        });
        let Ok((again, found)) = asked.await else { return };
        newer = again;
        let Some(shown) = shown.upgrade() else { return };
        if let Some(found) = found {
            *shown.0.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(found);
        }
    }
}

struct Files {
    certificate: PathBuf,
    key: PathBuf,
}

/// What the files of a certificate and of its key hold.
type Contents = [Vec<u8>; 2];

impl Files {
    fn read(&self) -> Result<Contents, ServiceError> {
        let certificate = std::fs::read(&self.certificate)
            .map_err(|error| certificate_fault(&self.certificate, error))?;
        Ok([certificate, secret_file::read(&self.key)?])
    }

    fn certified(&self, [certificate, key]: &Contents) -> Result<CertifiedKey, ServiceError> {
        let chain = certificates(&self.certificate, certificate)?;
        let key = PrivateKeyDer::from_pem_slice(key).map_err(|error| ServiceError::SecretFile {
            path: self.key.clone(),
            reason: format!("it holds no private key as PEM ({error})"),
        })?;
        CertifiedKey::from_der(chain, key, &provider())
            .map_err(|error| certificate_fault(&self.certificate, error))
    }
}

/// The certificates in the PEM text `pem` of the file at `path`. There is at least one.
pub(super) fn certificates(
    path: &Path,
    pem: &[u8],
) -> Result<Vec<CertificateDer<'static>>, ServiceError> {
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
    let found = found.map_err(|error| certificate_fault(path, error))?;
    if found.is_empty() {
        return Err(certificate_fault(path, "it holds no certificate as PEM"));
    }
    Ok(found)
}

pub(super) fn certificate_fault(path: &Path, reason: impl ToString) -> ServiceError {
    ServiceError::CertificateFile { path: path.into(), reason: reason.to_string() }
}

#[expect(clippy::disallowed_methods, reason = "certificates are valid by the wall clock")]
pub(super) fn wall_clock() -> SystemTime {
    SystemTime::now()
}
