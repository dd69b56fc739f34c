//! The farm's own certificate authority.

use std::time::{Duration, SystemTime};

use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose,
};
use time::OffsetDateTime;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use tokio_rustls::rustls::sign::CertifiedKey;

use super::{NAME, provider};
use crate::{KeyFolder, Pin, ServiceError};

/// How long a leaf is valid.
const LEAF_LIFE: Duration = Duration::from_hours(90 * 24);
/// A leaf is valid from this time before its issue on, because the peers' clocks may be slow.
const SLOW_CLOCKS: Duration = Duration::from_hours(24);

/// Signs the certificates that a coordinator shows. It lives in one secret file, a private key and a
/// certificate as PEM, and has no end: a farm whose authority is replaced needs new join strings.
pub struct Authority {
    issuer: Issuer<'static, KeyPair>,
    certificate: CertificateDer<'static>,
}

impl Authority {
    /// Its file in the folder of keys.
    pub const FILE: &str = "authority.pem";

    /// Reads the authority in `keys`, or makes it.
    ///
    /// # Errors
    ///
    /// [`ServiceError::SecretFile`], if its file cannot be made or used.
    pub fn read_or_make(keys: &KeyFolder) -> Result<Authority, ServiceError> {
        let pem = keys.read_or_make(Self::FILE, || make().into_bytes())?;
        Authority::from_pem(&pem).map_err(|error| ServiceError::SecretFile {
            path: keys.path(Self::FILE),
            reason: format!(
                "it holds no authority ({error:#}); restore it, or remove it: then there is a new authority, \
                 and workers and clients need new join strings"
            ),
        })
    }

    fn from_pem(pem: &[u8]) -> anyhow::Result<Authority> {
        let certificate = CertificateDer::from_pem_slice(pem)?;
        let key = PrivatePkcs8KeyDer::from_pem_slice(pem)?;
        // This fails if they do not belong together.
        let pair = PrivateKeyDer::Pkcs8(key.clone_key());
        CertifiedKey::from_der(vec![certificate.clone()], pair, &provider())?;
        let issuer = Issuer::new(description(), KeyPair::try_from(&key)?);
        Ok(Authority { issuer, certificate })
    }

    /// The hash by which workers and clients know this authority.
    #[must_use]
    pub fn pin(&self) -> Pin {
        Pin::of(&self.certificate)
    }

    /// Its certificate as PEM, for programs that know authorities by their certificates. It is no secret.
    #[must_use]
    pub fn certificate_pem(&self) -> String {
        pem::encode(&pem::Pem::new("CERTIFICATE", self.certificate.to_vec()))
    }

    /// Issues a leaf with a key of its own, for the time from `now` on.
    pub(super) fn leaf(&self, now: SystemTime) -> anyhow::Result<CertifiedKey> {
        let mut leaf = CertificateParams::new([NAME.to_string()])?;
        leaf.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        leaf.not_before = OffsetDateTime::from(now - SLOW_CLOCKS);
        leaf.not_after = OffsetDateTime::from(now + LEAF_LIFE);
        let key = KeyPair::generate()?;
        let certificate = leaf.signed_by(&key, &self.issuer)?;
        let chain = vec![certificate.into(), self.certificate.clone()];
        let key = PrivatePkcs8KeyDer::from(key.serialize_der());
        Ok(CertifiedKey::from_der(chain, key.into(), &provider())?)
    }
}

fn description() -> CertificateParams {
    let mut authority = CertificateParams::default();
    authority.distinguished_name.push(DnType::CommonName, "authority of a queens farm");
    authority.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    authority.key_usages = vec![KeyUsagePurpose::KeyCertSign];
    authority
}

/// A new key and its certificate, as PEM.
fn make() -> String {
    let key = KeyPair::generate().expect("the system has random numbers");
    let certificate = description().self_signed(&key).expect("the description is complete");
    key.serialize_pem() + &certificate.pem()
}
