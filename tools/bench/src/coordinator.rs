//! Runs a coordinator in its own process, so that its memory can be measured.

use std::net::SocketAddr;
use std::path::PathBuf;

use anyhow::Result;
use clap::Args;
use farm::Config;
use ledger::CheckedLedger;
use service::coordinator::{Credentials, EventLoop, Limits, Listener, OwnFiles, lease_key, serve};
use service::tls::Authority;
use service::{JoinString, KeyFolder, Token};

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

/// Serves until the process is killed.
pub(crate) async fn run(args: CoordinatorArgs) -> Result<()> {
    let listener = Listener::bind(&[args.listen], Limits::default()).await?;
    let ledger = CheckedLedger::open(&args.ledger).and_then(CheckedLedger::begin)?;
    let keys = KeyFolder::beside(&args.ledger);
    let (farm, handle) = EventLoop::new(Config::default(), lease_key(&keys, &ledger)?, ledger);
    let (credentials, tls) = match args.join_file {
        None => (Credentials::new(None, Vec::new()), None),
        Some(join_file) => {
            let authority = Authority::read_or_make(&keys)?;
            let token = Token::read_or_make(&keys.with_folder("token")?)?;
            let (address, pin) = (args.listen.to_string().parse()?, authority.pin());
            JoinString { token: token.clone(), address, pin }.write(&join_file)?;
            let credentials = Credentials::new(Some((token, OwnFiles::default())), Vec::new());
            (credentials, Some(authority.acceptor()))
        }
    };
    let (phases, server) = serve(listener, tls).await;
    phases.open(credentials, handle).await;
    tokio::select! {
        ended = tokio::spawn(farm.run()) => Ok(ended??),
        ended = tokio::spawn(server) => Ok(ended??),
    }
}
