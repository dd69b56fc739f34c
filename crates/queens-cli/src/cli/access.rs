//! The access to a coordinator for workers and clients: plain text or TLS, with or without a token.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use clap::Args;
use ledger::{Ledger, LedgerLock, Role};
use service::coordinator::{
    Limits, Listener, OwnFiles, require_keys, role_token, write_monitor_folder,
};
use service::tls::Authority;
use service::{HostPort, HostPortError, JoinString, KeyFolder, Token, with_port};

use crate::failure::{Failure, usage};

#[derive(Debug, Args)]
#[command(next_help_heading = "Access")]
pub(super) struct AccessArgs {
    /// The token that others must show
    ///
    /// It is made if there is none [default, with TLS: the file `token` in the folder of keys
    /// beside the ledger].
    #[arg(long, value_name = "FILE", env = "QUEENS_TOKEN_FILE")]
    token_file: Option<PathBuf>,
    /// Serve TLS on loopback too
    #[arg(long, conflicts_with = "insecure", env = "QUEENS_TLS")]
    tls: bool,
    /// Where the join string for others is written
    ///
    /// Workers and clients need it [default: the file `join` in the folder of keys beside the
    /// ledger].
    #[arg(long, value_name = "FILE", conflicts_with = "insecure")]
    join_file: Option<PathBuf>,
    /// Where one is written that only lets count
    ///
    /// It is for the workers of the farm's operator [default: none is made].
    #[arg(long, value_name = "FILE", conflicts_with = "insecure")]
    worker_join_file: Option<PathBuf>,
    /// A folder for what Prometheus needs
    ///
    /// The coordinator writes the secret of a viewer into its file `token`, and the certificate of
    /// its own authority into its file `authority.pem` [default: none is made].
    #[arg(long, value_name = "FOLDER", env = "QUEENS_MONITOR_FOLDER")]
    monitor_folder: Option<PathBuf>,
    /// Make new keys where those before are lost
    ///
    /// They are an authority and a token, in the folder of keys beside the ledger. Workers and
    /// clients need new join strings then.
    #[arg(long, env = "QUEENS_NEW_KEYS")]
    new_keys: bool,
    /// The address in the join strings
    ///
    /// [default: the first of --listen that others can reach, with the host's name where it stands
    /// for all addresses; without a port, the one that is bound]
    #[arg(long, value_name = "HOST[:PORT]", env = "QUEENS_ADVERTISE", value_parser = advertised)]
    advertise: Option<String>,
    /// Serve without TLS on any address
    ///
    /// Anybody on the network can then read and alter everything, including the token. Without
    /// --token-file, anybody who can connect may use the farm.
    #[arg(long, env = "QUEENS_INSECURE")]
    insecure: bool,
}

/// The access to the coordinator, with its secrets.
pub(super) struct Access {
    /// The coordinator's own token and its file; `None` if anybody who can connect may do everything.
    own: Option<(Token, PathBuf)>,
    /// `None` for plain text.
    pub(super) authority: Option<Authority>,
    args: AccessArgs,
    keys: KeyFolder,
}

impl AccessArgs {
    /// Binds the addresses, and makes what is missing in the folder of keys beside the ledger. Plain text without a token
    /// is only for addresses that are all on loopback.
    pub(super) async fn open(
        self,
        listen: &[SocketAddr],
        keys: KeyFolder,
        ledger: &Path,
    ) -> Result<(Access, Listener), Failure> {
        let main = published(listen);
        let has_tls = self.tls || (!main.ip().is_loopback() && !self.insecure);
        if self.worker_join_file.is_some() && self.worker_join_file == self.join_file {
            return usage(
                "--join-file and --worker-join-file name one file, and their join strings allow different \
                 things: name two files",
            );
        }
        if !has_tls && (self.join_file.is_some() || self.worker_join_file.is_some()) {
            return usage(format!(
                "there is no join string without TLS, and a coordinator that listens on {main} serves plain \
                 text: give --tls as well"
            ));
        }
        if !has_tls && self.monitor_folder.is_some() && self.token_file.is_none() {
            return usage(
                "anybody who can connect to this coordinator may read its /metrics, so that there is nothing to \
                 write for Prometheus: leave --monitor-folder out, or give --tls or --token-file",
            );
        }
        // Nothing is created beside a ledger that another process uses.
        drop(LedgerLock::of(ledger).map_err(|fault| fault.at(Some(ledger)))?);
        if has_tls && !self.new_keys {
            require_keys(ledger, &keys, self.token_file.is_none())?;
        }
        // A coordinator that cannot listen leaves no new keys.
        let listener = Listener::bind(listen, Limits::default()).await?;
        let own = match self.token_file.clone() {
            None if has_tls => Some(keys.with_folder(KeyFolder::OWN_TOKEN)?),
            file => file,
        };
        let own = own.map(|file| Token::read_or_make(&file).map(|token| (token, file)));
        let own = own.transpose()?;
        let authority = has_tls.then(|| Authority::read_or_make(&keys)).transpose()?;
        Ok((Access { own, authority, args: self, keys }, listener))
    }
}

impl Access {
    /// Writes the files with which others reach the coordinator, and logs how a worker joins. Credentials other than the
    /// coordinator's own token are added to `ledger`. The files are written after the ledger is opened, so that a second
    /// coordinator that finds the ledger in use does not overwrite them.
    pub(super) fn write_files(
        self,
        ledger: &Ledger,
        bound: &[SocketAddr],
    ) -> Result<Option<(Token, OwnFiles)>, Failure> {
        let Access { own, authority, args, keys } = &self;
        let bound = published(bound);
        if authority.is_none() && !bound.ip().is_loopback() {
            tracing::warn!("no TLS: anybody on the network can read and alter everything");
        }
        if let Some(folder) = &args.monitor_folder {
            let certificate = authority.as_ref().map(Authority::certificate_pem);
            let token = role_token(keys, ledger, Role::Viewer)?;
            write_monitor_folder(folder, &token, certificate.as_deref())?;
            tracing::info!("Prometheus reads /metrics with what is in {}", folder.display());
        }
        let Some((own, file)) = own.clone() else { return Ok(None) };
        let Some(authority) = authority else {
            return Ok(Some((own, OwnFiles { token: file, join: None })));
        };
        let host = args.advertise.clone().unwrap_or_else(|| match bound.ip() {
            ip if ip.is_unspecified() => executor::host_name(),
            ip => ip.to_string(),
        });
        let address = with_port(&host, bound.port()).parse().map_err(|error: HostPortError| {
            let way_out = "name an address that others can reach with --advertise";
            Failure::Usage(format!("{error}: {way_out}"))
        })?;
        let join = JoinString { token: own.clone(), address, pin: authority.pin() };
        let path = args.join_file.clone().unwrap_or_else(|| keys.path("join"));
        join.write(&path)?;
        let mut for_workers = &path;
        if let Some(path) = &args.worker_join_file {
            let token = role_token(keys, ledger, Role::Worker)?;
            JoinString { token, ..join.clone() }.write(path)?;
            for_workers = path;
        }
        tracing::info!(
            "a worker joins with `queens worker --join-file {}`, or with a copy of that file",
            for_workers.display()
        );
        Ok(Some((own, OwnFiles { token: file, join: Some((path, join)) })))
    }
}

/// The first address that others can reach, or the first one.
fn published(addresses: &[SocketAddr]) -> SocketAddr {
    let reachable = addresses.iter().find(|address| !address.ip().is_loopback());
    *reachable.unwrap_or(&addresses[0])
}

/// The address to publish: a host, with or without a port.
fn advertised(text: &str) -> Result<String, HostPortError> {
    // Any port serves to check the host.
    let checked = with_port(text, 1).parse::<HostPort>();
    checked.map(|_| text.into()).map_err(|_| HostPortError(text.into()))
}
