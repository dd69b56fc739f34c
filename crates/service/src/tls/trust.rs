//! Whose certificates a worker or client accepts.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use tokio_rustls::rustls::client::danger::{
    HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier,
};
use tokio_rustls::rustls::client::{Resumption, WebPkiServerVerifier};
use tokio_rustls::rustls::crypto::{CryptoProvider, verify_tls13_signature};
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use tokio_rustls::rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, Error, OtherError, RootCertStore,
    SignatureScheme,
};

use super::server::{certificate_fault, certificates};
use super::{HTTP_2, NAME, VERSIONS, provider};
use crate::{Pin, ServiceError};

/// Whose certificates are accepted.
#[derive(Clone, Debug)]
pub(crate) enum Trust {
    /// Those that the authority with this hash has signed, whatever name or address was dialled.
    Pin(Pin),
    /// Those of the name that was dialled, signed by an authority that this system trusts.
    System,
    /// Those of the name that was dialled, signed by an authority in this PEM file.
    File(PathBuf),
}

impl Trust {
    /// How to connect to the host `host`: the configuration, and the name that the certificate must have.
    ///
    /// # Errors
    ///
    /// [`ServiceError::CertificateFile`], if the authorities cannot be read.
    pub(crate) fn client(&self) -> Result<ClientConfig, ServiceError> {
        let builder = ClientConfig::builder_with_provider(provider())
            .with_protocol_versions(VERSIONS)
            .map_err(anyhow::Error::from)?;
        let builder = match self {
            Trust::Pin(pin) => builder
                .dangerous()
                .with_custom_certificate_verifier(Arc::new(PinnedAuthority::new(*pin))),
            Trust::System => builder.with_root_certificates(system_roots()?),
            Trust::File(path) => {
                let pem = std::fs::read(path).map_err(|error| certificate_fault(path, error))?;
                let mut roots = RootCertStore::empty();
                for root in certificates(path, &pem)? {
                    roots.add(root).map_err(|error| certificate_fault(path, error))?;
                }
                builder.with_root_certificates(roots)
            }
        };
        let mut config = builder.with_no_client_auth();
        config.alpn_protocols = vec![HTTP_2.into()];
        config.resumption = Resumption::disabled();
        Ok(config)
    }

    /// The name that a certificate must have if `dialled` was dialled.
    pub(crate) fn name(&self, dialled: &str) -> anyhow::Result<ServerName<'static>> {
        let name = if matches!(self, Trust::Pin(_)) { NAME } else { dialled };
        Ok(ServerName::try_from(name.trim_matches(['[', ']']).to_string())?)
    }
}

fn system_roots() -> Result<RootCertStore, ServiceError> {
    let found = rustls_native_certs::load_native_certs();
    let mut roots = RootCertStore::empty();
    // Systems hold old certificates that no longer parse; the others suffice.
    roots.add_parsable_certificates(found.certs);
    if roots.is_empty() {
        return Err(ServiceError::NoRoots);
    }
    Ok(roots)
}

/// Accepts a certificate that was signed by one authority, which is known by its hash and comes with the
/// certificate.
#[derive(Debug)]
struct PinnedAuthority {
    pin: Pin,
    provider: Arc<CryptoProvider>,
}

impl PinnedAuthority {
    fn new(pin: Pin) -> PinnedAuthority {
        PinnedAuthority { pin, provider: provider() }
    }
}

impl ServerCertVerifier for PinnedAuthority {
    fn verify_server_cert(
        &self,
        leaf: &CertificateDer<'_>,
        chain: &[CertificateDer<'_>],
        _dialled: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let authority = chain.iter().find(|certificate| Pin::of(certificate) == self.pin);
        let authority = authority.ok_or_else(other_authority)?;
        let mut roots = RootCertStore::empty();
        roots.add(authority.clone().into_owned())?;
        let signed_by =
            WebPkiServerVerifier::builder_with_provider(roots.into(), self.provider.clone());
        let signed_by = signed_by.build().map_err(|error| Error::General(error.to_string()))?;
        let name = ServerName::try_from(NAME).expect("it is a name");
        signed_by.verify_server_cert(leaf, &[], &name, ocsp, now).map_err(|error| match error {
            Error::InvalidCertificate(CertificateError::UnknownIssuer) => other_authority(),
            error => error,
        })
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Err(Error::General("only TLS 1.3 is spoken".into()))
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signed, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

/// A certificate was signed by another authority than the pinned one.
#[derive(Debug)]
struct OtherAuthority;

impl fmt::Display for OtherAuthority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("its authority is not the one in the join string")
    }
}

impl std::error::Error for OtherAuthority {}

fn other_authority() -> Error {
    CertificateError::Other(OtherError(Arc::new(OtherAuthority))).into()
}

/// Why a peer's certificate is refused.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Refusal {
    /// It is not valid yet or any more, by the clock of this machine. Either clock may be set right.
    #[error("{0}; compare the clocks of both machines")]
    Untimely(String),
    /// It does not prove that the peer is the coordinator.
    #[error("{0}")]
    Unproven(String),
}

/// Why `error` is a refusal of the peer's certificate, if it is one.
pub(crate) fn refusal(error: &Error) -> Option<Refusal> {
    let Error::InvalidCertificate(reason) = error else { return None };
    Some(Refusal::Unproven(match reason {
        CertificateError::Other(OtherError(reason)) => format!(
            "{reason}; get the join string that the coordinator shows now, and if it is the same, somebody \
             else answers at this address"
        ),
        CertificateError::Expired
        | CertificateError::ExpiredContext { .. }
        | CertificateError::NotValidYet
        | CertificateError::NotValidYetContext { .. } => {
            return Some(Refusal::Untimely(reason.to_string()));
        }
        CertificateError::UnknownIssuer => {
            "no authority that is trusted here has signed its certificate; name the authority's file, or \
             use a join string"
                .into()
        }
        reason => format!("{reason}; somebody else may answer at this address"),
    }))
}
