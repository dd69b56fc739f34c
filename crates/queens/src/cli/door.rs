//! How a coordinator is reached and lets workers and clients in: in plain text or over TLS, with a token or
//! without.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use clap::Args;
use ledger::Ledger;
use service::coordinator::{Access, monitor_token, worker_token};
use service::tls::{Authority, ServerTls};
use service::{
    AddressFile, HostPort, HostPortError, JoinString, KeyFolder, Pin, Token, write_monitor_folder,
};

use crate::failure::Failure;

/// The file of the coordinator's token in the folder of keys, where no other one is named.
const OWN_TOKEN: &str = "token";

#[derive(Clone, Debug, Args)]
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
    /// Where a second join string is written, which allows nothing but to count: for the workers of whoever runs
    /// the farm [default: none is made]
    #[arg(long, value_name = "FILE", conflicts_with_all = ["insecure", "tls_cert"],
          env = "QUEENS_WORKER_JOIN_FILE")]
    worker_join_file: Option<PathBuf>,
    /// A folder for Prometheus: the coordinator writes the secret of a viewer into its file `token`, and the
    /// certificate of its own authority into its file `authority.pem` [default: none is made]
    #[arg(long, value_name = "FOLDER", env = "QUEENS_MONITOR_FOLDER")]
    monitor_folder: Option<PathBuf>,
    /// The file that holds the coordinator's address while it serves, for --join-file of workers and clients
    /// that need no join string [default: none]
    #[arg(long, value_name = "FILE", env = "QUEENS_ADDRESS_FILE")]
    address_file: Option<PathBuf>,
    /// The address in the join strings and in the address file [default: the first of --listen that others can reach, with
    /// the host's name where it stands for all addresses; without a port, the one that is bound]
    #[arg(long, value_name = "HOST[:PORT]", env = "QUEENS_ADVERTISE")]
    advertise: Option<Advertise>,
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

/// The address that others are told: a host, and a port if it is not the one that is bound.
#[derive(Clone, Debug)]
struct Advertise {
    host: String,
    port: Option<u16>,
}

/// How the coordinator will be reached, checked as far as possible before it begins.
pub(super) struct Entrance {
    is_open_to_others: bool,
    token: Option<Token>,
    encryption: Encryption,
    monitor_folder: Option<PathBuf>,
    address_file: Option<PathBuf>,
    advertised: Advertise,
    /// Which of the addresses to listen on has the port that others are told.
    main: usize,
}

enum Encryption {
    /// Plain text.
    None,
    /// Certificates by the farm's own authority.
    Own { join_file: Option<PathBuf>, worker_join_file: Option<PathBuf> },
    /// A certificate from elsewhere.
    Given(ServerTls),
}

/// What serving needs.
pub(super) struct Door {
    pub(super) access: Access,
    /// `None` for plain text.
    pub(super) tls: Option<ServerTls>,
    pub(super) signs: Signs,
}

/// The files that tell others how to reach the coordinator. They are written when it has its ledger, so that
/// one that finds it taken does not overwrite those of the coordinator that serves.
pub(super) struct Signs {
    monitor_folder: Option<PathBuf>,
    /// The certificate of the coordinator's own authority, as PEM.
    authority: Option<String>,
    address_file: Option<PathBuf>,
    scheme: &'static str,
    advertised: Advertise,
    main: usize,
    joining: Option<Joining>,
}

/// What join strings are made of.
struct Joining {
    join_file: PathBuf,
    worker_join_file: Option<PathBuf>,
    token: Token,
    pin: Pin,
}

impl DoorArgs {
    /// Plain text without a token is only for addresses that are all on loopback.
    ///
    /// # Errors
    ///
    /// [`Failure::Usage`], if the options do not fit together; [`Failure::SecretFile`] or
    /// [`Failure::CertificateFile`], if a file that they name is of no use.
    pub(super) fn entrance(self, listen: &[SocketAddr]) -> Result<Entrance, Failure> {
        if self.worker_join_file.is_some() && self.worker_join_file == self.join_file {
            return Err(Failure::Usage(
                "--join-file and --worker-join-file name one file, and their join strings allow different \
                 things: name two files"
                    .into(),
            ));
        }
        let others = listen.iter().position(|address| !address.ip().is_loopback());
        let (is_open_to_others, main) = (others.is_some(), others.unwrap_or(0));
        let (join_file, worker_join_file) = (self.join_file, self.worker_join_file);
        let encryption = match (self.tls_cert, self.tls_key) {
            (Some(certificate), Some(key)) => {
                Encryption::Given(ServerTls::by_files(certificate, key)?)
            }
            _ if self.tls || (is_open_to_others && !self.insecure) => {
                Encryption::Own { join_file, worker_join_file }
            }
            _ if join_file.is_some() || worker_join_file.is_some() => {
                return Err(Failure::Usage(format!(
                    "there is no join string without TLS, and a coordinator that listens on {} serves plain \
                     text: give --tls as well, or --address-file instead",
                    listen[main]
                )));
            }
            _ if self.monitor_folder.is_some() && self.token_file.is_none() => {
                return Err(Failure::Usage(
                    "whoever can connect to this coordinator may read its /metrics, so that there is nothing to \
                     write for Prometheus: leave --monitor-folder out, or give --tls or --token-file"
                        .into(),
                ));
            }
            _ => Encryption::None,
        };
        let advertised = self.advertise.unwrap_or_else(|| {
            let host = match listen[main].ip() {
                ip if ip.is_unspecified() => host_name(),
                ip => ip.to_string(),
            };
            Advertise { host, port: None }
        });
        let token = self.token_file.as_deref().map(Token::read_or_make).transpose()?;
        let (monitor_folder, address_file) = (self.monitor_folder, self.address_file);
        Ok(Entrance {
            is_open_to_others,
            token,
            encryption,
            monitor_folder,
            address_file,
            advertised,
            main,
        })
    }
}

impl Entrance {
    /// Makes what is missing in the folder of keys.
    ///
    /// # Errors
    ///
    /// [`Failure::SecretFile`], if a file of the folder cannot be made or is of no use.
    pub(super) fn door(self, keys: &KeyFolder) -> Result<Door, Failure> {
        let Entrance { is_open_to_others, token, encryption, advertised, main, .. } = self;
        let (monitor_folder, address_file) = (self.monitor_folder, self.address_file);
        let mut certificate = None;
        let own_token = || {
            keys.create()?;
            Token::read_or_make(&keys.path(OWN_TOKEN))
        };
        let (access, tls, joining) = match encryption {
            Encryption::None => {
                if is_open_to_others {
                    tracing::warn!(
                        "no TLS: whoever can read the network reads and alters everything that is said"
                    );
                }
                (token.map_or(Access::Open, Access::Token), None, None)
            }
            Encryption::Given(tls) => {
                (Access::Token(token.map_or_else(own_token, Ok)?), Some(tls), None)
            }
            Encryption::Own { join_file, worker_join_file } => {
                let token = token.map_or_else(own_token, Ok)?;
                let authority = Authority::read_or_make(keys)?;
                let join_file = join_file.unwrap_or_else(|| keys.path("join"));
                let (pin, shown) = (authority.pin(), token.clone());
                certificate = Some(authority.certificate_pem());
                let joining = Joining { join_file, worker_join_file, token: shown, pin };
                let tls = ServerTls::by_authority(authority)?;
                (Access::Token(token), Some(tls), Some(joining))
            }
        };
        let scheme = if tls.is_some() { "https" } else { "http" };
        let signs = Signs {
            monitor_folder,
            authority: certificate,
            address_file,
            scheme,
            advertised,
            main,
            joining,
        };
        Ok(Door { access, tls, signs })
    }
}

impl Signs {
    /// Writes the join strings, and logs how a worker joins. The one for workers is made with a credential in
    /// `ledger`.
    ///
    /// # Errors
    ///
    /// [`Failure::SecretFile`], if a file cannot be written; [`Failure::Usage`], if there is no address to tell
    /// others; [`Failure::LedgerWrite`] and its like, if the ledger cannot be written.
    pub(super) fn write_join_strings(
        &self,
        keys: &KeyFolder,
        ledger: &Ledger,
        bound: &[SocketAddr],
    ) -> Result<(), Failure> {
        let Some(Joining { join_file, worker_join_file, token, pin }) = &self.joining else {
            return Ok(());
        };
        let address = self.address(bound)?;
        let write = |token: Token, path: &Path| {
            JoinString { token, address: address.clone(), pin: *pin }.save(path)
        };
        write(token.clone(), join_file)?;
        if let Some(file) = worker_join_file {
            write(worker_token(keys, ledger)?, file)?;
        }
        tracing::info!(
            "a worker joins with `queens worker --join-file {}`, or with a copy of that file",
            worker_join_file.as_ref().unwrap_or(join_file).display()
        );
        Ok(())
    }

    /// Writes the folder for Prometheus, if one is wanted. Its secret is that of a credential in `ledger`.
    ///
    /// # Errors
    ///
    /// [`Failure::SecretFile`], if a file cannot be written; [`Failure::LedgerWrite`] and its like, if the ledger
    /// cannot be written.
    pub(super) fn write_monitor_folder(
        &self,
        keys: &KeyFolder,
        ledger: &Ledger,
    ) -> Result<(), Failure> {
        let Some(folder) = &self.monitor_folder else { return Ok(()) };
        let token = monitor_token(keys, ledger)?;
        write_monitor_folder(folder, &token, self.authority.as_deref())?;
        tracing::info!("Prometheus reads /metrics with what is in {}", folder.display());
        Ok(())
    }

    /// Writes the address file, if one is wanted.
    ///
    /// # Errors
    ///
    /// [`Failure::Output`], if it cannot be written; [`Failure::Usage`], if there is no address to tell others.
    pub(super) fn write_address(
        &self,
        bound: &[SocketAddr],
    ) -> Result<Option<AddressFile>, Failure> {
        let Some(path) = &self.address_file else { return Ok(None) };
        let url = format!("{}://{}", self.scheme, self.address(bound)?);
        let written = AddressFile::write(path, &url).map_err(|error| Failure::Output {
            what: path.display().to_string(),
            reason: error.to_string(),
        })?;
        tracing::info!(address = url, "others find the address in {}", path.display());
        Ok(Some(written))
    }

    /// The address that others are told.
    fn address(&self, bound: &[SocketAddr]) -> Result<HostPort, Failure> {
        let Advertise { host, port } = &self.advertised;
        HostPort::new(host, port.unwrap_or(bound[self.main].port())).map_err(|error| {
            Failure::Usage(format!(
                "{error}: name an address that others can reach with --advertise"
            ))
        })
    }
}

impl FromStr for Advertise {
    type Err = HostPortError;

    fn from_str(text: &str) -> Result<Advertise, HostPortError> {
        if let Ok(address) = text.parse::<HostPort>() {
            return Ok(Advertise { host: address.host().into(), port: Some(address.port()) });
        }
        let bare = text.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(text);
        // Any port will do to see whether there can be such a host.
        HostPort::new(bare, 1).map_err(|_| HostPortError(text.into()))?;
        Ok(Advertise { host: bare.into(), port: None })
    }
}

fn host_name() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}
