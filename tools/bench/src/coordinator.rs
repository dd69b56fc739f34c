//! Runs a coordinator in a process of its own, so that its memory can be measured.

use std::net::SocketAddr;
use std::path::PathBuf;

use anyhow::Result;
use clap::Args;
use farm::{Config, LoanKey};
use ledger::CheckedLedger;
use service::coordinator::{Access, Credentials, Hub, Limits, Listener, secure, serve};
use service::tls::{Authority, ServerTls};
use service::{HostPort, JoinString, KeyFolder, Token};

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

/// No credential is needed.
pub(crate) fn open_to_all() -> Credentials {
    Credentials::new(&Access::Open, Vec::new())
}

/// Serves until the process is killed.
pub(crate) async fn run(args: CoordinatorArgs) -> Result<()> {
    let listener = Listener::bind(args.listen, Limits::default()).await?;
    let ledger = CheckedLedger::open(&args.ledger).and_then(CheckedLedger::begin)?;
    let (hub, handle) = Hub::new(Config::default(), LoanKey::new(rand::random()), ledger);
    let (connections, stop) = (listener.connections(), std::future::pending());
    let server = match args.join_file {
        None => tokio::spawn(serve(connections, open_to_all(), handle, stop)),
        Some(join_file) => {
            let keys = KeyFolder::beside(&args.ledger);
            let authority = Authority::read_or_make(&keys)?;
            let token = Token::read_or_make(&keys.path("token"))?;
            let credentials = Credentials::new(&Access::Token(token.clone()), Vec::new());
            let address = HostPort::new(&args.listen.ip().to_string(), args.listen.port())?;
            JoinString { token, address, pin: authority.pin() }.save(&join_file)?;
            let secured = secure(connections, ServerTls::by_authority(authority)?);
            tokio::spawn(serve(secured, credentials, handle, stop))
        }
    };
    tokio::select! {
        ended = tokio::spawn(hub.run()) => Ok(ended??),
        ended = server => Ok(ended??),
    }
}
