//! How a coordinator lets workers and clients in: in plain text or over TLS, with a token or without.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Args;
use service::coordinator::Access;
use service::tls::{Authority, ServerTls};
use service::{HostPort, JoinString, KeyFolder, Pin, Token};

use crate::failure::Failure;

#[derive(Debug, Args)]
#[command(next_help_heading = "Access")]
pub(super) struct DoorArgs {
    /// The file with the token that workers and clients must show; it is made if there is none [default,
    /// with TLS: the file `token` in the folder of keys beside the ledger]
    #[arg(long, value_name = "FILE", env = "QUEENS_TOKEN_FILE")]
    token_file: Option<PathBuf>,
    /// Serve TLS on loopback too
    #[arg(long, conflicts_with_all = ["insecure", "tls_cert"], env = "QUEENS_TLS")]
    tls: bool,
    /// Where the join string for workers and clients is written [default: the file `join` in the folder of
    /// keys beside the ledger]
    #[arg(long, value_name = "FILE", conflicts_with_all = ["insecure", "tls_cert"],
          env = "QUEENS_JOIN_FILE")]
    join_file: Option<PathBuf>,
    /// The address in the join string [default: that of --listen, or the host's name where --listen
    /// stands for all addresses]
    #[arg(long, value_name = "HOST:PORT", conflicts_with_all = ["insecure", "tls_cert"],
          env = "QUEENS_ADVERTISE")]
    advertise: Option<HostPort>,
    /// Serve TLS with this certificate from elsewhere, as PEM, with those that lead to its authority; it
    /// is read again when it changes
    #[arg(
        long,
        value_name = "FILE",
        requires = "tls_key",
        conflicts_with = "insecure",
        env = "QUEENS_TLS_CERT"
    )]
    tls_cert: Option<PathBuf>,
    /// The private key of --tls-cert, as PEM
    #[arg(long, value_name = "FILE", requires = "tls_cert", env = "QUEENS_TLS_KEY")]
    tls_key: Option<PathBuf>,
    /// Serve without TLS on any address: whoever can read the network reads and alters everything, the token
    /// too; and without --token-file whoever can connect may use the farm
    #[arg(long, env = "QUEENS_INSECURE")]
    insecure: bool,
}

/// How the coordinator will be reached, checked as far as possible before it begins.
pub(super) struct Entrance {
    is_open_to_others: bool,
    token: Option<Token>,
    encryption: Encryption,
}

enum Encryption {
    /// Plain text.
    None,
    /// Certificates by the farm's own authority.
    Own { join_file: Option<PathBuf>, advertised: Advertised },
    /// A certificate from elsewhere.
    Given(ServerTls),
}

/// What the join string says about the address.
enum Advertised {
    /// This host and port.
    As(HostPort),
    /// This host, at the port that is bound.
    Host(String),
}

/// What serving needs.
pub(super) struct Open {
    pub(super) access: Access,
    /// `None` for plain text.
    pub(super) tls: Option<ServerTls>,
}

impl DoorArgs {
    /// # Errors
    ///
    /// [`Failure::Usage`], if the options do not fit together; [`Failure::SecretFile`] or
    /// [`Failure::CertificateFile`], if a file that they name is of no use.
    pub(super) fn entrance(self, address: SocketAddr) -> Result<Entrance, Failure> {
        let is_open_to_others = !address.ip().is_loopback();
        let encryption = match (self.tls_cert, self.tls_key) {
            (Some(certificate), Some(key)) => {
                Encryption::Given(ServerTls::by_files(certificate, key)?)
            }
            _ if self.tls || (is_open_to_others && !self.insecure) => Encryption::Own {
                join_file: self.join_file,
                advertised: match self.advertise {
                    Some(address) => Advertised::As(address),
                    None if address.ip().is_unspecified() => Advertised::Host(host_name()),
                    None => Advertised::Host(address.ip().to_string()),
                },
            },
            _ if self.join_file.is_some() || self.advertise.is_some() => {
                return Err(Failure::Usage(format!(
                    "there is no join string without TLS, and a coordinator that listens on {address} serves \
                     plain text: give --tls as well"
                )));
            }
            _ => Encryption::None,
        };
        let token = self.token_file.as_deref().map(Token::read_or_make).transpose()?;
        Ok(Entrance { is_open_to_others, token, encryption })
    }
}

impl Entrance {
    /// Prepares for serving on `port`: makes what is missing in the folder of keys, writes the join
    /// string, and logs how a worker joins.
    ///
    /// # Errors
    ///
    /// [`Failure::SecretFile`], if a file of the folder cannot be made or is of no use.
    pub(super) fn open(self, keys: &KeyFolder, port: u16) -> Result<Open, Failure> {
        let own_token = || {
            keys.create()?;
            Token::read_or_make(&keys.path("token"))
        };
        match self.encryption {
            Encryption::None => {
                if self.is_open_to_others {
                    tracing::warn!(
                        "no TLS: whoever can read the network reads and alters everything that is said"
                    );
                }
                let access = self.token.map_or(Access::Open, Access::Token);
                Ok(Open { access, tls: None })
            }
            Encryption::Given(tls) => {
                let token = self.token.map_or_else(own_token, Ok)?;
                Ok(Open { access: Access::Token(token), tls: Some(tls) })
            }
            Encryption::Own { join_file, advertised } => {
                let token = self.token.map_or_else(own_token, Ok)?;
                let authority = Authority::read_or_make(keys)?;
                let join_file = join_file.unwrap_or_else(|| keys.path("join"));
                advertised.join_string(port, token.clone(), authority.pin())?.save(&join_file)?;
                tracing::info!(
                    "a worker joins with `queens worker --join-file {}`, or with a copy of that file",
                    join_file.display()
                );
                let tls = Some(ServerTls::by_authority(authority)?);
                Ok(Open { access: Access::Token(token), tls })
            }
        }
    }
}

impl Advertised {
    fn join_string(self, port: u16, token: Token, pin: Pin) -> Result<JoinString, Failure> {
        let address = match self {
            Advertised::As(address) => address,
            Advertised::Host(host) => HostPort::new(&host, port).map_err(|error| {
                Failure::Usage(format!(
                    "{error}: name an address that others can reach with --advertise"
                ))
            })?,
        };
        Ok(JoinString { token, address, pin })
    }
}

fn host_name() -> String {
    gethostname::gethostname().to_string_lossy().into_owned()
}
