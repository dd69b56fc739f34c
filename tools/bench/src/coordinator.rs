//! Runs a coordinator in a process of its own, so that its memory can be measured.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use anyhow::Result;
use clap::Args;
use farm::Config;
use ledger::{CheckedLedger, Credential, Role};
use service::coordinator::{
    Credentials, Hub, HubHandle, Limits, Listener, OwnFiles, Phase, loan_key, serve,
};
use service::tls::Authority;
use service::{JoinFile, KeyFolder, Token};
use tokio::sync::watch;

#[derive(Debug, Args)]
pub(crate) struct CoordinatorArgs {
    #[arg(long)]
    listen: SocketAddr,
    #[arg(long)]
    ledger: PathBuf,
    /// Serve TLS, and write the join string to this file
    #[arg(long)]
    join_file: Option<PathBuf>,
}

/// What a coordinator does that serves from the beginning, for ever.
pub(crate) fn serving(credentials: Credentials, hub: HubHandle) -> watch::Receiver<Phase> {
    watch::channel(Phase::Serving(credentials, hub)).1
}

/// What workers and viewers show a coordinator.
pub(crate) struct Tokens {
    pub(crate) credentials: Credentials,
    /// The file with the token of the workers, who may do everything.
    pub(crate) workers: PathBuf,
    /// The file with the token of the viewers.
    pub(crate) viewers: PathBuf,
}

impl Tokens {
    /// Makes them in `folder`.
    pub(crate) fn new(folder: &Path) -> Result<Tokens> {
        let [workers, viewers] = ["workers", "viewers"].map(|name| folder.join(name));
        let own = Token::read_or_make(&workers)?;
        let credential = Credential {
            id: 1,
            owner: "viewer".into(),
            role: Role::Viewer,
            hash: *Token::read_or_make(&viewers)?.hash().as_bytes(),
            created_at_ms: 0,
            expires_at_ms: None,
            revoked_at_ms: None,
        };
        let credentials = Credentials::new(Some((own, OwnFiles::default())), vec![credential]);
        Ok(Tokens { credentials, workers, viewers })
    }
}

/// Serves until the process is killed.
pub(crate) async fn run(args: CoordinatorArgs) -> Result<()> {
    let listener = Listener::bind(&[args.listen], Limits::default()).await?;
    let ledger = CheckedLedger::open(&args.ledger).and_then(CheckedLedger::begin)?;
    let keys = KeyFolder::beside(&args.ledger);
    let (hub, handle) = Hub::new(Config::default(), loan_key(&keys, &ledger)?, ledger);
    let server = match args.join_file {
        None => {
            let open_to_all = Credentials::new(None, Vec::new());
            tokio::spawn(serve(
                listener.connections(None),
                serving(open_to_all, handle),
                Limits::default(),
            ))
        }
        Some(join_file) => {
            let authority = Authority::read_or_make(&keys)?;
            let token = keys.token("token")?;
            let (address, pin) = (args.listen.to_string().parse()?, authority.pin());
            JoinFile { path: join_file, address, pin }.write(&token)?;
            let credentials = Credentials::new(Some((token, OwnFiles::default())), Vec::new());
            let phases = serving(credentials, handle);
            tokio::spawn(serve(
                listener.connections(Some(authority.acceptor())),
                phases,
                Limits::default(),
            ))
        }
    };
    tokio::select! {
        ended = tokio::spawn(hub.run()) => Ok(ended??),
        ended = server => Ok(ended??),
    }
}
