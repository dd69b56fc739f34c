//! TLS 1.3 between coordinators and their workers and clients.
//!
//! ```text
//!   Authority ──its certificate──► client: is its hash the Pin?
//!       └──────────hash──► Pin ──► join string ──────────────┘
//! ```
//!
//! A farm is its own authority. A worker or client knows the hash of its certificate and nothing
//! else, so that names, addresses, clocks, tunnels and address translation do not matter. The
//! certificate does not expire. A farm whose authority is replaced needs new join strings.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use ::ring::digest::{SHA256, SHA256_OUTPUT_LEN, digest};
use pem::{EncodeConfig, LineEnding, Pem};
use rcgen::{CertificateParams, DnType, ExtendedKeyUsagePurpose, KeyPair};
use tokio_rustls::rustls::client::Resumption;
use tokio_rustls::rustls::client::danger::{
    HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier,
};
use tokio_rustls::rustls::crypto::{CryptoProvider, ring, verify_tls13_signature};
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use tokio_rustls::rustls::server::NoServerSessionStorage;
use tokio_rustls::rustls::version::TLS13;
use tokio_rustls::rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, Error, ServerConfig, SignatureScheme,
};
use tokio_rustls::{TlsAcceptor, TlsConnector};

use crate::{KeyFolder, ServiceError, secrets};

/// The name in the certificates of all farms, for programs that verify names. It resolves nowhere.
const NAME: &str = "coordinator.queens.internal";

/// The key and the certificate of a farm, which are one secret file as PEM.
pub struct Authority {
    certificate: CertificateDer<'static>,
    config: Arc<ServerConfig>,
}

impl Authority {
    /// Its file in the folder of keys.
    pub const FILE: &str = "authority.pem";

    /// Reads the authority in `keys`, or makes it if there is none. It fails with
    /// [`ServiceError::Secret`] if the file cannot be used.
    pub fn read_or_make(keys: &KeyFolder) -> Result<Authority, ServiceError> {
        let path = keys.with_folder(Self::FILE)?;
        let pem = secrets::read_or_make(&path, || make().into_bytes())?;
        Authority::from_pem(&pem).map_err(|error| {
            let reason = format!(
                "it holds no authority ({error:#}); restore it, or remove it and start with --new-keys: then there is a \
                 new authority, and workers and clients need new join strings"
            );
            ServiceError::secret_file(&path, reason)
        })
    }

    fn from_pem(pem: &[u8]) -> anyhow::Result<Authority> {
        let pem = pem.strip_prefix("\u{feff}".as_bytes()).unwrap_or(pem);
        let certificate = CertificateDer::from_pem_slice(pem)?;
        let key = PrivateKeyDer::from_pem_slice(pem)?;
        // This fails if the key does not belong to the certificate.
        let mut config = ServerConfig::builder_with_provider(provider())
            .with_protocol_versions(&[&TLS13])?
            .with_no_client_auth()
            .with_single_cert(vec![certificate.clone()], key)?;
        // HTTP/1.1 is for browsers and for readers of `/metrics`.
        config.alpn_protocols = vec![b"h2".into(), b"http/1.1".into()];
        // Sessions are not kept to be resumed: a connection lasts for days, so that a quicker
        // handshake is not worth the memory.
        config.session_storage = Arc::new(NoServerSessionStorage {});
        config.send_tls13_tickets = 0;
        Ok(Authority { certificate, config: Arc::new(config) })
    }

    /// The hash by which workers and clients know this authority.
    pub fn pin(&self) -> Pin {
        Pin::of(&self.certificate)
    }

    /// Its certificate as PEM, for programs that know authorities by their certificates. It is no
    /// secret.
    pub fn certificate_pem(&self) -> String {
        pem("CERTIFICATE", &self.certificate)
    }

    /// The server's end of handshakes, which shows the certificate.
    pub fn acceptor(&self) -> TlsAcceptor {
        TlsAcceptor::from(self.config.clone())
    }
}

/// A new key and its certificate, as PEM.
fn make() -> String {
    let mut description = CertificateParams::new([NAME.to_string()]).expect("it is a name");
    description.distinguished_name.push(DnType::CommonName, "a queens farm");
    description.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    let key = KeyPair::generate().expect("the system has random numbers");
    let certificate = description.self_signed(&key).expect("the description is complete");
    pem("PRIVATE KEY", key.serialized_der()) + &pem("CERTIFICATE", certificate.der())
}

/// Bytes as PEM (RFC 7468), the same on every system.
fn pem(what: &str, bytes: &[u8]) -> String {
    let lines = EncodeConfig::new().set_line_ending(LineEnding::LF);
    pem::encode_config(&Pem::new(what, bytes), lines)
}

fn provider() -> Arc<CryptoProvider> {
    Arc::new(ring::default_provider())
}

/// SHA-256 hash of the certificate of a farm's authority in its binary form (DER). Its text is 64
/// hexadecimal digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pin([u8; SHA256_OUTPUT_LEN]);

impl Pin {
    /// The hash of a certificate.
    pub fn of(certificate_der: &[u8]) -> Pin {
        let hash = digest(&SHA256, certificate_der);
        Pin(hash.as_ref().try_into().expect("SHA-256 has 32 bytes"))
    }

    /// The client's end of handshakes with a server that shows the certificate with this hash, and
    /// the name to ask for. The application protocol is `protocol`.
    pub(crate) fn connector(self, protocol: &[u8]) -> (TlsConnector, ServerName<'static>) {
        let verifier = Pinned { pin: self, provider: provider() };
        let mut config = ClientConfig::builder_with_provider(provider())
            .with_protocol_versions(&[&TLS13])
            .expect("the provider knows TLS 1.3")
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(verifier))
            .with_no_client_auth();
        config.alpn_protocols = vec![protocol.into()];
        config.resumption = Resumption::disabled();
        (TlsConnector::from(Arc::new(config)), NAME.try_into().expect("it is a name"))
    }
}

impl FromStr for Pin {
    type Err = blake3::HexError;

    fn from_str(text: &str) -> Result<Pin, blake3::HexError> {
        // Both hashes have as many digits.
        blake3::Hash::from_hex(text).map(|hash| Pin(hash.into()))
    }
}

impl fmt::Display for Pin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&blake3::Hash::from(self.0).to_hex())
    }
}

/// Accepts one certificate, which is known by its hash, from a server that has its key.
#[derive(Debug)]
struct Pinned {
    pin: Pin,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for Pinned {
    fn verify_server_cert(
        &self,
        shown: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        if Pin::of(shown) == self.pin {
            return Ok(ServerCertVerified::assertion());
        }
        Err(CertificateError::ApplicationVerificationFailure.into())
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

#[cfg(test)]
mod tests {
    use std::io;

    use tokio::io::DuplexStream;
    use tokio_rustls::client::TlsStream;
    use tokio_rustls::rustls::sign::{CertifiedKey, SingleCertAndKey};

    use super::*;
    use crate::tests::authority;

    #[tokio::test]
    async fn the_certificate_with_the_pinned_hash_is_accepted_and_no_other() {
        let [ours, other] = [authority(), authority()];
        handshake(&ours, ours.pin()).await.expect("it is the pinned one");
        is_refused(&other, ours.pin()).await;
    }

    #[tokio::test]
    async fn a_certificate_is_of_no_use_without_its_key_nor_beside_a_strangers() {
        let [ours, stranger] = [authority(), authority()];
        let key = PrivateKeyDer::from_pem_slice(make().as_bytes()).expect("it has a key");
        let key = provider().key_provider.load_private_key(key).expect("it is one");
        let both = vec![stranger.certificate.clone(), ours.certificate.clone()];
        for chain in [vec![ours.certificate.clone()], both] {
            let shown = SingleCertAndKey::from(CertifiedKey::new(chain, key.clone()));
            let config = ServerConfig::builder_with_provider(provider())
                .with_protocol_versions(&[&TLS13])
                .expect("the provider knows TLS 1.3")
                .with_no_client_auth()
                .with_cert_resolver(Arc::new(shown));
            let thief = Authority { certificate: ours.certificate.clone(), config: config.into() };
            is_refused(&thief, ours.pin()).await;
        }
    }

    #[test]
    fn an_authority_is_made_once_and_read_again_and_a_damaged_one_is_refused() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let keys = KeyFolder::beside(&folder.path().join("ledger.db"));
        let [one, other] = [make(), make()];
        let certificate = |pem: &str| pem.find("-----BEGIN CERTIFICATE").expect("it has one");
        let (key, own) = one.split_at(certificate(&one));
        let of_another = format!("{key}{}", &other[certificate(&other)..]);
        let made = Authority::read_or_make(&keys).expect("it can be made");
        let again = Authority::read_or_make(&keys).expect("it is there");
        assert_eq!(again.pin(), made.pin());
        for damaged in ["", key, own, &of_another] {
            std::fs::write(keys.path(Authority::FILE), damaged).expect("it can be written");
            let refused = Authority::read_or_make(&keys).err().expect("it is refused").to_string();
            assert!(refused.contains("holds no authority"), "{refused}");
        }
    }

    async fn handshake(shown: &Authority, pin: Pin) -> io::Result<TlsStream<DuplexStream>> {
        let (connector, name) = pin.connector(b"h2");
        let (near, far) = tokio::io::duplex(64 << 10);
        tokio::join!(connector.connect(name, near), shown.acceptor().accept(far)).0
    }

    async fn is_refused(shown: &Authority, pin: Pin) {
        let error = handshake(shown, pin).await.expect_err("it is refused");
        let cause = error.get_ref().and_then(|cause| cause.downcast_ref::<Error>());
        assert!(matches!(cause, Some(Error::InvalidCertificate(_))), "{error}");
    }
}
