//! The program `queens` as a child process, whose memory can be measured separately.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use farm::JobView;
use service::api::{Jobs, Submit};
use service::{Client, Endpoint, Method};

/// A coordinator with a temporary ledger. Dropping the value ends the process and removes the
/// ledger.
pub(crate) struct Coordinator {
    child: Child,
    folder: PathBuf,
    pub(crate) endpoint: Endpoint,
    address: String,
}

impl Coordinator {
    /// Submits a job and returns its view.
    pub(crate) async fn submit(&self, submit: &Submit) -> Result<JobView> {
        Ok(self.client().await?.ask(Method::POST, "/jobs", Some(submit)).await?)
    }

    /// Starts a coordinator whose ledger is in a new folder within `parent`, over TLS or in plain
    /// text.
    pub(crate) async fn start(parent: &Path, tls: bool) -> Result<Coordinator> {
        let folder = parent.join(format!("queens-bench-{:08x}", rand::random::<u32>()));
        std::fs::create_dir(&folder).with_context(|| format!("cannot create {folder:?}"))?;
        let port = free_port().context("no free port")?;
        let address = format!("127.0.0.1:{port}");
        let mut endpoint = Endpoint::new(&address, None);
        let join_file = tls.then(|| folder.join("join"));
        if let Some(join) = &join_file {
            endpoint = Endpoint::join_file(join.clone());
        }
        let mut command = queens()?;
        command.args(["coordinator", "--log", "error", "--listen", &address]);
        command.args(["--max-jobs", "2000", "--max-jobs-per-owner", "2000", "--ledger"]);
        command.arg(folder.join("ledger.db")).stdin(Stdio::null());
        if let Some(join) = &join_file {
            command.arg("--tls").arg("--join-file").arg(join);
        }
        let child = command.spawn().context("`cargo build` makes what is measured")?;
        let coordinator = Coordinator { child, folder, endpoint, address };
        coordinator.wait_until_it_answers().await?;
        Ok(coordinator)
    }

    async fn wait_until_it_answers(&self) -> Result<()> {
        const TRIES: u32 = 100;
        for _ in 0..TRIES {
            if self.lists_jobs().await.is_ok() {
                return Ok(());
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        bail!("the coordinator did not start")
    }

    /// Lists jobs, which the coordinator answers once it has read its ledger.
    async fn lists_jobs(&self) -> Result<Jobs> {
        Ok(self.client().await?.get("/jobs?limit=1").await?)
    }

    async fn client(&self) -> Result<Client> {
        Ok(Client::connect(self.endpoint.clone()).await?)
    }

    /// Its host and port.
    pub(crate) fn address(&self) -> &str {
        &self.address
    }

    /// Processor time that it has taken, seconds. `None` if the system does not report it.
    pub(crate) fn processor_seconds(&self) -> Option<f64> {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.child.id())).ok()?;
        // Behind the name of the program: user and system time are fields 14 and 15, in
        // hundredths.
        let fields = stat.rsplit(')').next()?.split_whitespace().skip(11).take(2);
        Some(fields.filter_map(|ticks| ticks.parse::<f64>().ok()).sum::<f64>() / 100.0)
    }

    /// Resident memory, in MiB. `None` if the system does not report it.
    pub(crate) fn memory_mib(&self) -> Option<f64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).ok()?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
        let kib: f64 = line.split_whitespace().next()?.parse().ok()?;
        Some(kib / 1024.0)
    }
}

/// The program that cargo has built beside this one, without the environment variables that could
/// set its options.
pub(crate) fn queens() -> Result<Command> {
    let this = std::env::current_exe().context("this program has no path")?;
    let mut command = Command::new(this.with_file_name("queens"));
    let names = std::env::vars_os().map(|(name, _)| name);
    names.filter(|name| name.to_string_lossy().starts_with("QUEENS_")).for_each(|name| {
        command.env_remove(name);
    });
    Ok(command)
}

impl Drop for Coordinator {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

fn free_port() -> std::io::Result<u16> {
    Ok(std::net::TcpListener::bind("127.0.0.1:0")?.local_addr()?.port())
}
