//! The options for how workers and clients get access to a coordinator: plain text or TLS, with or
//! without a token.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use clap::Args;
use ledger::{Ledger, LedgerLock, Role, canonical, make_ledger, with_suffix};
use service::coordinator::{Credentials, OwnFiles};
use service::tls::Authority;
use service::{
    HostPort, HostPortError, JoinString, KeyFolder, Token, note_keys, require_keys, role_token,
    with_port, write_monitor_folder,
};

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
    /// Where a join string for workers is written
    ///
    /// It only lets count, and is for the workers of the farm's operator [default: none is made].
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
    /// They are an authority, in the folder of keys beside the ledger, and a token, there or in
    /// --token-file. Workers and clients need new join strings then.
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
    /// The coordinator's own token and its file; `None` if anybody who can connect may do
    /// everything.
    own: Option<(Token, PathBuf)>,
    /// `None` for plain text.
    pub(super) authority: Option<Authority>,
    args: AccessArgs,
    keys: KeyFolder,
}

impl AccessArgs {
    /// Checks that the options fit together, and returns whether to serve TLS. Plain text without a
    /// token is only for addresses that are all on loopback.
    pub(super) fn check(
        &self,
        listen: &[SocketAddr],
        keys: &KeyFolder,
        ledger: &Path,
    ) -> Result<bool, Failure> {
        let main = published(listen);
        let has_tls = self.tls || (!main.ip().is_loopback() && !self.insecure);
        self.check_outputs(keys, ledger)?;
        // A variable may be meant for all coordinators of a machine, so that one without TLS
        // ignores it.
        let exported = std::env::var("QUEENS_ADVERTISE").ok();
        let is_typed = self.advertise.is_some() && self.advertise != exported;
        if !has_tls && (self.join_file.is_some() || self.worker_join_file.is_some() || is_typed) {
            return usage(format!(
                "there is no join string without TLS, and a coordinator that listens on {main} serves plain \
                 text: give --tls, or leave --join-file, --worker-join-file and --advertise out"
            ));
        }
        if !has_tls && self.monitor_folder.is_some() && self.token_file.is_none() {
            return usage(
                "anybody who can connect to this coordinator may read its /metrics, so that there is nothing to \
                 write for Prometheus: leave --monitor-folder out, or give --tls or --token-file",
            );
        }
        Ok(has_tls)
    }

    /// Makes the ledger if there is none, as [`make_ledger`] says, and checks that no key of an old
    /// one is lost. The keys come after the ledger, so that keys without a ledger mean that it was
    /// lost. Nothing is created beside a ledger that another process uses.
    pub(super) fn begin(
        &self,
        has_tls: bool,
        keys: &KeyFolder,
        ledger: &Path,
        anew: bool,
    ) -> Result<(), Failure> {
        let locked = make_ledger(ledger, anew).and_then(|()| LedgerLock::of(ledger));
        drop(locked.map_err(|fault| fault.at(Some(ledger)))?);
        if !self.new_keys {
            require_keys(ledger, keys, has_tls, self.token_file.as_deref())?;
        }
        Ok(())
    }

    /// Refuses options by which the coordinator would overwrite its ledger, a key, or what another
    /// option names. Only the token and the join string may be in the folder of keys, where they
    /// are by default. Links are followed.
    fn check_outputs(&self, keys: &KeyFolder, ledger: &Path) -> Result<(), Failure> {
        let ledger = canonical(ledger);
        let of_ledger = ["", "-wal", "-shm", "-journal", "-lock"];
        let of_ledger = of_ledger.map(|end| ("the ledger", with_suffix(&ledger, end)));
        // The folder comes first, so that it can be skipped for a file that has its default place
        // in it.
        let mut taken = vec![("the folder of keys", canonical(&keys.path("")))];
        taken.extend(of_ledger);
        let monitor = |name| self.monitor_folder.as_ref().map(|folder| folder.join(name));
        let outputs = [
            ("--token-file", self.token_file.clone(), Some(KeyFolder::OWN_TOKEN)),
            ("--join-file", self.join_file.clone(), Some(KeyFolder::JOIN)),
            ("--worker-join-file", self.worker_join_file.clone(), None),
            ("--monitor-folder", monitor("token"), None),
            ("--monitor-folder", monitor("authority.pem"), None),
        ];
        for (option, named, default) in outputs {
            let Some(named) = named else { continue };
            let file = canonical(&named);
            let is_default = default.is_some_and(|name| canonical(&keys.path(name)) == file);
            let mut others = taken.iter().skip(usize::from(is_default));
            if let Some((what, _)) = others.find(|(_, other)| file.starts_with(other)) {
                let file = named.display();
                return usage(format!("{option}: {file} belongs to {what}: name another"));
            }
            taken.push((option, file));
        }
        Ok(())
    }

    /// Reads the keys, and makes what is missing in their folder beside the ledger.
    pub(super) fn open(self, has_tls: bool, keys: KeyFolder) -> Result<Access, Failure> {
        let own = match self.token_file.clone() {
            None if has_tls => Some(keys.with_folder(KeyFolder::OWN_TOKEN)?),
            file => file,
        };
        let made = self.token_file.clone().filter(|file| !file.exists());
        let own = own.map(|file| Token::read_or_make(&file).map(|token| (token, file)));
        let own = own.transpose()?;
        if let Some(file) = made {
            tracing::warn!(
                "there was no {}: it is made, with a new token that workers and clients need",
                file.display()
            );
        }
        let authority = has_tls.then(|| Authority::read_or_make(&keys)).transpose()?;
        Ok(Access { own, authority, args: self, keys })
    }
}

impl Access {
    /// Writes the files with which others reach the coordinator, and logs how a worker joins.
    /// Returns all credentials. The credentials in the files are added to `ledger`, except for the
    /// coordinator's own token. The files are written last, so that a coordinator that does not
    /// start does not overwrite those of another one.
    pub(super) fn write_files(
        self,
        ledger: &Ledger,
        bound: &[SocketAddr],
    ) -> Result<Credentials, Failure> {
        let Access { own, authority, args, keys } = self;
        let bound = published(bound);
        let (monitor, for_workers) = (args.monitor_folder.as_ref(), args.worker_join_file.as_ref());
        let token = |role| role_token(&keys, ledger, role);
        let viewer = monitor.map(|_| token(Role::Viewer)).transpose()?;
        let worker = for_workers.map(|_| token(Role::Worker)).transpose()?;
        let join = own.as_ref().zip(authority.as_ref()).map(|((token, _), authority)| {
            let host = args.advertise.unwrap_or_else(|| match bound.ip() {
                ip if ip.is_unspecified() => executor::host_name(),
                ip => ip.to_string(),
            });
            let join = |address| JoinString { token: token.clone(), address, pin: authority.pin() };
            with_port(&host, bound.port()).parse().map(join).map_err(|error: HostPortError| {
                let way_out = "name an address that others can reach with --advertise";
                Failure::Usage(format!("{error}: {way_out}"))
            })
        });
        let join = join.transpose()?;
        note_keys(ledger, &keys, own.is_some())?;
        let known = ledger.credentials().map_err(|fault| fault.at(ledger.path()))?;

        if authority.is_none() && !bound.ip().is_loopback() {
            tracing::warn!("no TLS: anybody on the network can read and alter everything");
        }
        if let Some((folder, token)) = monitor.zip(viewer) {
            let certificate = authority.as_ref().map(Authority::certificate_pem);
            write_monitor_folder(folder, &token, certificate.as_deref())?;
            tracing::info!("Prometheus reads /metrics with what is in {}", folder.display());
        }
        let path = args.join_file.unwrap_or_else(|| keys.path(KeyFolder::JOIN));
        if let Some(join) = &join {
            join.write(&path)?;
            if let Some((path, token)) = for_workers.zip(worker) {
                JoinString { token, ..join.clone() }.write(path)?;
            }
            tracing::info!(
                "a worker joins with `queens worker --join-file {}`, or with a copy of that file",
                for_workers.unwrap_or(&path).display()
            );
        }
        let join = join.map(|join| (path, join));
        let own = own.map(|(own, token)| (own, OwnFiles { token, join }));
        Ok(Credentials::new(own, known))
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
