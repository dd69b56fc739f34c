//! `queens coordinator`.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use farm::Config;
use tokio::sync::watch;

use super::door::{DoorArgs, Open};
use super::signal::asked_to_stop;
use crate::failure::Failure;
use ledger::CheckedLedger;
use service::KeyFolder;
use service::coordinator::{Access, Credentials, Hub, Limits, Listener, loan_key, secure, serve};

/// How long streams may take to end once the ledger is closed.
const DRAIN: Duration = Duration::from_secs(3);

#[derive(Debug, Args)]
pub(super) struct CoordinatorArgs {
    /// Where to listen; beyond loopback it serves TLS and wants a token, unless --insecure is given
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:7410", env = "QUEENS_LISTEN")]
    listen: String,
    /// The file that keeps jobs and counts
    #[arg(long, value_name = "FILE", default_value = "queens.db", env = "QUEENS_LEDGER")]
    ledger: PathBuf,
    /// How long a worker is to be busy with one lease, milliseconds
    #[arg(long, value_name = "MS", default_value_t = 10_000, env = "QUEENS_LEASE_MS",
          value_parser = clap::value_parser!(u64).range(1..=86_400_000))]
    lease_ms: u64,
    /// How long a lease lives without a report, milliseconds
    #[arg(long, value_name = "MS", default_value_t = 60_000, env = "QUEENS_LEASE_TTL_MS",
          value_parser = clap::value_parser!(u64).range(1..=86_400_000))]
    lease_ttl_ms: u64,
    /// How long after a restart workers that still hold ranges may take to reconnect, before
    /// these are lent to others, milliseconds
    #[arg(long, value_name = "MS", default_value_t = 5_000, env = "QUEENS_GRACE_MS",
          value_parser = clap::value_parser!(u64).range(0..=3_600_000))]
    grace_ms: u64,
    /// The most jobs that have not ended; further ones are refused
    #[arg(long, value_name = "JOBS", default_value_t = 1_000, env = "QUEENS_MAX_JOBS",
          value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    max_jobs: u32,
    #[command(flatten)]
    door: DoorArgs,
}

pub(super) async fn run(args: CoordinatorArgs) -> Result<(), Failure> {
    let address = resolve(&args.listen).await?;
    let entrance = args.door.entrance(address)?;
    if args.lease_ttl_ms < 2 * args.lease_ms {
        return Err(Failure::Usage(format!(
            "a lease that keeps a worker busy for {} ms must live for more than {} ms: give \
             --lease-ttl-ms at least twice --lease-ms",
            args.lease_ms, args.lease_ttl_ms
        )));
    }
    // Signals are caught from here on: whoever reads that the coordinator serves may ask it to stop.
    let asked = asked_to_stop();
    let listener = Listener::bind(address, Limits::default()).await?;
    let ledger = CheckedLedger::open(&args.ledger).and_then(CheckedLedger::begin);
    let ledger = ledger.map_err(|fault| fault.at(Some(&args.ledger)))?;
    let config = Config {
        lease_ms: args.lease_ms,
        lease_ttl_ms: args.lease_ttl_ms,
        grace_ms: args.grace_ms,
        max_jobs: args.max_jobs as usize,
        ..Config::default()
    };
    let keys = KeyFolder::beside(&args.ledger);
    let known = ledger.credentials().map_err(|fault| fault.at(Some(&args.ledger)))?;
    let (hub, handle) = Hub::new(config, loan_key(&keys)?, ledger);
    let address = listener.address().map_err(anyhow::Error::from)?;
    let Open { access, tls } = entrance.open(&keys, address.port())?;
    tracing::info!(%address, ledger = %args.ledger.display(), tls = tls.is_some(),
        token = matches!(access, Access::Token(_)), "coordinator serves");

    let (stop, mut stopping) = watch::channel(false);
    let stopped = async move {
        let _ = stopping.wait_for(|stop| *stop).await;
    };
    let mut hub = tokio::spawn(hub.run());
    let (connections, clients) = (listener.connections(), handle.clone());
    let credentials = Credentials::new(&access, known);
    let mut server = match tls {
        Some(tls) => tokio::spawn(serve(secure(connections, tls), credentials, clients, stopped)),
        None => tokio::spawn(serve(connections, credentials, clients, stopped)),
    };
    tokio::select! {
        ended = &mut hub => return Ok(ended.map_err(anyhow::Error::from)??),
        ended = &mut server => return Ok(ended.map_err(anyhow::Error::from)??),
        () = asked => {}
    }
    tracing::info!("asked to stop: closing the ledger");
    handle.stop().await;
    hub.await.map_err(anyhow::Error::from)??;
    stop.send_replace(true);
    let _ = tokio::time::timeout(DRAIN, server).await;
    Ok(())
}

async fn resolve(listen: &str) -> Result<SocketAddr, Failure> {
    let fault = |reason: String| Failure::Listen { address: listen.into(), reason };
    let mut found = tokio::net::lookup_host(listen).await.map_err(|e| fault(e.to_string()))?;
    found.next().ok_or_else(|| fault("the name has no address".into()))
}
