//! Runs a coordinator in a process of its own, so that its memory can be measured.

use std::net::SocketAddr;
use std::path::PathBuf;

use anyhow::Result;
use clap::Args;
use farm::Config;
use ledger::CheckedLedger;
use service::coordinator::{Access, Hub, Limits, Listener, serve};

#[derive(Debug, Args)]
pub(crate) struct CoordinatorArgs {
    #[arg(long)]
    listen: SocketAddr,
    #[arg(long)]
    ledger: PathBuf,
}

/// Serves until the process is killed.
pub(crate) async fn run(args: CoordinatorArgs) -> Result<()> {
    let listener = Listener::bind(args.listen, Limits::default()).await?;
    let ledger = CheckedLedger::open(&args.ledger).and_then(CheckedLedger::begin)?;
    let (hub, handle) = Hub::new(Config::default(), ledger);
    let server = serve(listener.connections(), Access::Open, handle, std::future::pending());
    tokio::select! {
        ended = tokio::spawn(hub.run()) => Ok(ended??),
        ended = server => Ok(ended?),
    }
}
