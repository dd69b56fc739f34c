//! `queens coordinator`.

use std::io::ErrorKind;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use farm::Config;

use super::access::AccessArgs;
use super::arguments::LARGE_FARMS;
use super::options::{in_units, name};
use super::signal::asked_to_stop;
use crate::failure::{Failure, usage};
use crate::os::{self, notify_systemd};
use ledger::CheckedLedger;
use service::coordinator::{EventLoop, Limits, Listener, serve};
use service::tls::Authority;
use service::{KeyFolder, PORT, ServiceError, lease_key, with_port};

/// How long streams may take to end once the ledger is closed.
const DRAIN: Duration = Duration::from_secs(3);

#[derive(Debug, Args)]
pub(super) struct CoordinatorArgs {
    /// Where to listen: a host, a port, or both
    ///
    /// A port alone is a port of this machine on loopback; port 0 is any that is free. It may be
    /// given several times, or with commas. If others can reach one of the addresses, it serves TLS
    /// and wants a token, unless --insecure is given.
    #[arg(
        long,
        value_name = "HOST:PORT",
        default_value = "127.0.0.1:7410",
        value_delimiter = ',',
        env = "QUEENS_LISTEN"
    )]
    listen: Vec<String>,
    /// The file that keeps jobs and counts
    #[arg(long, value_name = "FILE", default_value = "queens.db", env = "QUEENS_LEDGER")]
    ledger: PathBuf,
    /// Begin a new ledger where one was lost
    ///
    /// Without this, a coordinator does not start if its ledger is empty, or is missing while its
    /// keys, its lock or its log is there: put it or its latest copy in its place.
    #[arg(hide_short_help = true, long, env = "QUEENS_NEW")]
    new: bool,
    /// How long a worker is to be busy with one lease; in milliseconds, or with a unit as in 5s
    #[arg(hide_short_help = true, long, value_name = "MS", default_value = "10s", env = "QUEENS_LEASE_MS",
          help_heading = LARGE_FARMS,
          value_parser = in_units(1, 1..=86_400_000))]
    lease_ms: u64,
    /// How long a lease lives without a report; in milliseconds, or with a unit as in 5s
    #[arg(hide_short_help = true, long, value_name = "MS", default_value = "60s", env = "QUEENS_LEASE_TTL_MS",
          help_heading = LARGE_FARMS,
          value_parser = in_units(1, 1..=86_400_000))]
    lease_ttl_ms: u64,
    /// How long workers may take to reconnect
    ///
    /// The time begins when a coordinator starts again. What workers hold that have not come back
    /// by its end is leased to others. In milliseconds, or with a unit as in 5s.
    #[arg(hide_short_help = true, long, value_name = "MS", default_value = "5s", env = "QUEENS_GRACE_MS",
          help_heading = LARGE_FARMS,
          value_parser = in_units(1, 0..=3_600_000))]
    grace_ms: u64,
    /// The most jobs that have not ended; further ones are refused
    #[arg(hide_short_help = true, long, value_name = "JOBS", default_value_t = 1_000, env = "QUEENS_MAX_JOBS",
          help_heading = LARGE_FARMS,
          value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    max_jobs: u32,
    /// The most jobs of one owner that have not ended; further ones are refused
    #[arg(hide_short_help = true, long, value_name = "JOBS", default_value_t = 250, env = "QUEENS_MAX_JOBS_PER_OWNER",
          help_heading = LARGE_FARMS,
          value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    max_jobs_per_owner: u32,
    /// Serve a page for everybody, without a token
    ///
    /// It is at /public, and shows what is counted and what has been counted. It names no job, no
    /// machine, and no owner but those of --public-owners.
    #[arg(long, env = "QUEENS_PUBLIC_PAGE")]
    public_page: bool,
    /// Owners that the public page names, with what they have counted
    ///
    /// Give those that agreed, with commas between them [default: none].
    #[arg(long, value_name = "NAMES", requires = "public_page", value_delimiter = ',',
          value_parser = name, env = "QUEENS_PUBLIC_OWNERS")]
    public_owners: Vec<String>,
    #[command(flatten)]
    access: AccessArgs,
}

pub(super) async fn run(args: CoordinatorArgs) -> Result<(), Failure> {
    let mut addresses = Vec::new();
    for listen in &args.listen {
        addresses.push(resolve(listen).await?);
    }
    if args.lease_ttl_ms < 2 * args.lease_ms {
        return usage(format!(
            "a lease that keeps a worker busy for {} ms must live for more than {} ms: give \
             --lease-ttl-ms at least twice --lease-ms",
            args.lease_ms, args.lease_ttl_ms
        ));
    }
    let keys = KeyFolder::beside(&args.ledger);
    let has_tls = args.access.check(&addresses, &keys, &args.ledger)?;
    // Signals are caught before the log says that the coordinator serves, because whoever reads
    // that may send one.
    let asked = asked_to_stop();
    tokio::pin!(asked);
    let limits = Limits::within(os::raise_file_limit());
    let listener = Listener::bind(&addresses, limits).await?;
    let bound = listener.addresses().map_err(anyhow::Error::from)?;
    args.access.begin(has_tls, &keys, &args.ledger, args.new)?;
    let access = args.access.open(has_tls, keys.clone())?;

    // Health is served while the ledger is being read, and everything else afterwards.
    let tls = access.authority.as_ref().map(Authority::acceptor);
    let (phases, server) = serve(listener, tls).await;
    let mut server = tokio::spawn(server);
    notify_systemd("STATUS=reading the ledger");
    let path = args.ledger.clone();
    let reading = tokio::task::spawn_blocking(move || {
        let ledger = CheckedLedger::open(&path).and_then(CheckedLedger::begin);
        ledger.map_err(|fault| fault.at(Some(&path)))
    });
    let ledger = tokio::select! {
        read = reading => read.map_err(anyhow::Error::from)??,
        () = &mut asked => return Ok(()),
    };
    let lease_key = lease_key(&keys, &ledger)?;
    let credentials = access.write_files(&ledger, &bound)?;
    let has_token = !credentials.are_needless();
    let config = Config {
        lease_ms: args.lease_ms,
        lease_ttl_ms: args.lease_ttl_ms,
        grace_ms: args.grace_ms,
        max_jobs: args.max_jobs as usize,
        max_jobs_per_owner: args.max_jobs_per_owner as usize,
        ..Config::default()
    };
    let (farm, handle) = EventLoop::new(config, lease_key, ledger);
    let mut farm = tokio::spawn(farm.run());
    let public = args.public_page.then(|| args.public_owners.into());
    phases.open(credentials, handle.clone(), public).await;
    let page = page(bound[0], has_tls);
    let addresses = bound.iter().map(SocketAddr::to_string).collect::<Vec<_>>().join(", ");
    tracing::info!(addresses, page, ledger = %args.ledger.display(), tls = has_tls,
        token = has_token, "coordinator serves");
    notify_systemd(&format!("READY=1\nSTATUS=serving on {addresses}"));

    tokio::select! {
        ended = &mut farm => return Ok(ended.map_err(anyhow::Error::from)??),
        ended = &mut server => return Ok(ended.map_err(anyhow::Error::from)?),
        () = &mut asked => {}
    }
    tracing::info!("asked to stop: closing the ledger");
    notify_systemd("STOPPING=1\nSTATUS=closing the ledger");
    phases.drain().await;
    handle.stop().await;
    farm.await.map_err(anyhow::Error::from)??;
    phases.stop();
    let _ = tokio::time::timeout(DRAIN, server).await;
    Ok(())
}

/// The address of the page for a browser on this machine.
fn page(mut bound: SocketAddr, has_tls: bool) -> String {
    match bound.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => bound.set_ip(Ipv4Addr::LOCALHOST.into()),
        IpAddr::V6(ip) if ip.is_unspecified() => bound.set_ip(Ipv6Addr::LOCALHOST.into()),
        _ => {}
    }
    format!("http{}://{bound}/", if has_tls { "s" } else { "" })
}

/// The address to listen on. A port alone is one of this machine, and a host alone has the port of
/// coordinators.
async fn resolve(listen: &str) -> Result<SocketAddr, Failure> {
    let fault = |reason: String| ServiceError::Listen { address: listen.into(), reason };
    let address = match listen.parse::<u16>() {
        Ok(port) => format!("127.0.0.1:{port}"),
        Err(_) if listen.bytes().all(|sign| sign.is_ascii_digit()) => {
            return usage(format!("--listen: {listen} is neither a port, 0 to 65535, nor a host"));
        }
        Err(_) => with_port(listen, PORT),
    };
    let found = tokio::net::lookup_host(address).await.map_err(|error| match error.kind() {
        ErrorKind::InvalidInput => Failure::Usage(format!("cannot listen on {listen}: {error}")),
        _ => fault(error.to_string()).into(),
    })?;
    // An address of IPv4 is preferred, because clients use one by default.
    let best = found.min_by_key(SocketAddr::is_ipv6);
    Ok(best.ok_or_else(|| fault("the name has no address".into()))?)
}
