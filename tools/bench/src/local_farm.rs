//! A farm in this process: a coordinator with a ledger of its own, and workers that do not count.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result, anyhow};
use farm::{Config, LoanKey};
use ledger::CheckedLedger;
use service::coordinator::{Hub, HubHandle, Limits, Listener, serve};
use service::{Endpoint, ServiceError};
use tempfile::TempDir;
use tokio::task::{JoinHandle, JoinSet};

use crate::coordinator::{Tokens, serving};
use crate::idle_worker::{Booked, idle};

/// The coordinator and its workers. They run while something is measured, see [`LocalFarm::during`].
pub(crate) struct LocalFarm {
    pub(crate) entrance: Entrance,
    hub: JoinHandle<Result<(), ServiceError>>,
    /// The server and the workers.
    others: JoinSet<Result<()>>,
    /// Where the ledger is.
    folder: TempDir,
}

/// How to reach the coordinator.
pub(crate) struct Entrance {
    pub(crate) hub: HubHandle,
    pub(crate) address: String,
    pub(crate) tokens: Tokens,
    /// With the token of the workers.
    pub(crate) endpoint: Endpoint,
}

impl LocalFarm {
    /// Starts a coordinator whose ledger lies in a new folder within `parent`.
    pub(crate) async fn start(parent: &Path) -> Result<LocalFarm> {
        let folder = tempfile::tempdir_in(parent)
            .with_context(|| format!("cannot make a folder in {parent:?}"))?;
        let path = folder.path().join("ledger.db");
        let ledger = CheckedLedger::open(&path).and_then(CheckedLedger::begin);
        let ledger = ledger.map_err(|fault| fault.at(Some(&path)))?;
        let (hub, handle) = Hub::new(Config::default(), LoanKey::new(rand::random()), ledger);
        let any = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        let listener = Listener::bind(&[any], Limits::default()).await?;
        let address = listener.addresses()?[0].to_string();
        let tokens = Tokens::new(folder.path())?;
        let endpoint = Endpoint::new(&address, Some(tokens.workers.clone()));
        let phases = serving(tokens.credentials.clone(), handle.clone());
        let server = serve(listener.connections(None), phases, Limits::default());
        let mut others = JoinSet::new();
        others.spawn(async { Ok(server.await?) });
        let hub = tokio::spawn(hub.run());
        Ok(LocalFarm {
            entrance: Entrance { hub: handle, address, tokens, endpoint },
            hub,
            others,
            folder,
        })
    }

    /// Starts workers that hold `credit` tasks each and answer every `tasks_per_result` of them with the count 0.
    pub(crate) fn employ(
        &mut self,
        workers: u32,
        credit: u64,
        tasks_per_result: u64,
    ) -> Arc<Booked> {
        let booked = Arc::new(Booked::default());
        for _ in 0..workers {
            let endpoint = self.entrance.endpoint.clone();
            self.others.spawn(idle(endpoint, credit, tasks_per_result, booked.clone()));
        }
        booked
    }

    /// Runs until `measure` is over, then stops the coordinator and removes its ledger.
    ///
    /// # Errors
    ///
    /// What `measure` says, or if the coordinator, the server or a worker ended before.
    pub(crate) async fn during(
        self,
        measure: impl AsyncFnOnce(&Entrance) -> Result<()>,
    ) -> Result<()> {
        let LocalFarm { entrance, mut hub, mut others, folder } = self;
        tokio::select! {
            measured = measure(&entrance) => measured?,
            Some(ended) = others.join_next() => {
                ended??;
                return Err(anyhow!("a session ended early"));
            }
            ended = &mut hub => {
                ended??;
                return Err(anyhow!("the coordinator ended early"));
            }
        }
        others.shutdown().await;
        entrance.hub.stop().await;
        // A ledger whose file goes before it is closed would be written anew, beside its place.
        hub.await??;
        folder.close().context("the ledger cannot be removed")
    }
}
