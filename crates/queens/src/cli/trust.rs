//! `queens workers`, `queens trust` and `queens distrust`.

use bytesize::ByteSize;
use clap::Args;
use farm::Party;
use serde_json::json;
use wire::v1;

use super::client::{Client, CoordinatorArgs};
use crate::failure::Failure;
use crate::output;

#[derive(Debug, Args)]
pub(super) struct WorkersArgs {
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    coordinator: CoordinatorArgs,
}

#[derive(Debug, Args)]
pub(super) struct TrustArgs {
    /// The machine, as OWNER/MACHINE, or an owner with all machines
    #[arg(value_name = "OWNER[/MACHINE]", value_parser = party)]
    party: Party,
    /// Why, for those who read the ledger later
    #[arg(long, value_name = "TEXT")]
    reason: String,
    #[command(flatten)]
    coordinator: CoordinatorArgs,
}

fn party(text: &str) -> anyhow::Result<Party> {
    let (owner, machine) = match text.split_once('/') {
        Some((owner, machine)) => (owner, Some(machine)),
        None => (text, None),
    };
    let is_name = |name: &str| !name.is_empty() && wire::is_text(name);
    anyhow::ensure!(
        is_name(owner) && machine.is_none_or(is_name),
        "name an owner, or a machine as OWNER/MACHINE; `queens workers` lists them"
    );
    Ok(Party { owner: owner.into(), machine: machine.map(Into::into) })
}

pub(super) async fn workers(args: WorkersArgs) -> Result<(), Failure> {
    let mut client = Client::connect(&args.coordinator).await?;
    let answer = client.admin.list_workers(v1::ListWorkersRequest {}).await;
    let v1::ListWorkersResponse { workers, distrusted } =
        answer.map_err(|status| client.failure(status))?.into_inner();
    let distrusted = parties(distrusted)?;
    if args.json {
        for worker in &workers {
            output::print(json!({
                "owner": worker.owner,
                "machine": worker.machine,
                "worker": worker.name,
                "build": worker.build,
                "threads": worker.threads,
                "memory_bytes": worker.memory,
                "tasks": worker.tasks,
                "memory_kills": worker.memory_kills,
            }))?;
        }
        return distrusted.iter().try_for_each(|party| {
            output::print(json!({ "distrusted": party.owner, "machine": party.machine }))
        });
    }
    output::print(format_args!(
        "{:>7}  {:>10}  {:>8}  worker, owner/machine",
        "threads", "memory", "tasks"
    ))?;
    for worker in &workers {
        let memory = ByteSize(worker.memory).display().iec().to_string();
        output::print(format_args!(
            "{:>7}  {memory:>10}  {:>8}  {}, {}/{}",
            worker.threads, worker.tasks, worker.name, worker.owner, worker.machine
        ))?;
    }
    for worker in workers.iter().filter(|worker| worker.memory_kills > 0) {
        output::print(format_args!(
            "{}: the system has killed {} processes of its control group for lack of memory; start its workers with \
             less --memory, or allow the group more",
            worker.name, worker.memory_kills
        ))?;
    }
    distrusted.iter().try_for_each(|party| output::print(format_args!("not believed: {party}")))
}

fn parties(told: Vec<v1::Party>) -> Result<Vec<Party>, Failure> {
    let parties: Result<_, _> = told.into_iter().map(Party::try_from).collect();
    parties.map_err(|error: wire::WireError| Failure::Incompatible(error.to_string()))
}

pub(super) async fn change(args: TrustArgs, trusted: bool) -> Result<(), Failure> {
    let mut client = Client::connect(&args.coordinator).await?;
    let TrustArgs { party, reason, .. } = args;
    let request = v1::ChangeTrustRequest { party: Some(party.clone().into()), trusted, reason };
    let answer = client.admin.change_trust(request).await;
    let v1::ChangeTrustResponse { still_distrusted } =
        answer.map_err(|status| client.failure(status))?.into_inner();
    let still = parties(still_distrusted)?;
    output::print(match (trusted, still.is_empty()) {
        (true, true) => format!("{party} is believed again; its workers may be started anew"),
        (true, false) => format!(
            "{party} is pardoned, but what was decided about {} still stands; `queens trust` pardons each",
            still.iter().map(Party::to_string).collect::<Vec<_>>().join(", ")
        ),
        (false, _) => format!(
            "{party} is believed no more: its sessions have ended, and what nobody else has confirmed of its \
             counts is counted again"
        ),
    })
}
