//! `queens workers` and `queens trust`.

use clap::Args;
use count::Variant;
use farm::Party;
use serde_json::json;
use wire::v1;
use wire::v1::ask_request::Request as Asked;

use super::client::{Client, ClientArgs};
use super::options::name;
use super::show;
use crate::failure::Failure;
use crate::output;
use crate::table::{Column, Table};

#[derive(Debug, Args)]
pub(super) struct TrustArgs {
    /// The machine, as OWNER/MACHINE, or an owner with all machines
    #[arg(value_name = "OWNER[/MACHINE]", value_parser = party)]
    party: Party,
    /// Distrust it
    #[arg(long)]
    revoke: bool,
    /// The reason, for later readers of the ledger
    #[arg(long, value_name = "TEXT", value_parser = wire::reason)]
    reason: String,
    #[command(flatten)]
    client: ClientArgs,
}

fn party(text: &str) -> anyhow::Result<Party> {
    let of_machine = text.split_once('/').map(|(owner, machine)| (owner, Some(machine)));
    let (owner, machine) = of_machine.unwrap_or((text, None));
    anyhow::ensure!(
        name(owner).is_ok() && machine.is_none_or(|machine| name(machine).is_ok()),
        "name an owner, or a machine as OWNER/MACHINE; `queens workers` lists them"
    );
    Ok(Party { owner: owner.into(), machine: machine.map(Into::into) })
}

pub(super) async fn workers(args: ClientArgs) -> Result<(), Failure> {
    let mut client = Client::connect(&args.coordinator).await?;
    let answer = client.service.list_workers(v1::ListWorkersRequest {}).await;
    let v1::ListWorkersResponse { mut workers, distrusted, .. } = client.given(answer)?;
    let place =
        |worker: &v1::Worker| (worker.owner.clone(), worker.machine.clone(), worker.name.clone());
    workers.sort_by_cached_key(place);
    let distrusted = distrusted.into_iter().map(Party::try_from);
    let distrusted: Vec<Party> = distrusted.collect::<Result<_, _>>()?;
    if !args.json {
        let nothing = "no worker is connected; `queens worker` starts one";
        Table::new(&workers, &COLUMNS).print(&SPARED, nothing)?;
        return distrusted
            .iter()
            .try_for_each(|party| output::print(format_args!("distrusted: {party}")));
    }
    for worker in &workers {
        output::print(json!({
            "worker": worker.name,
            "owner": worker.owner,
            "machine": worker.machine,
            "build": worker.build,
            "threads": worker.threads,
            "backend": worker.backend,
            "tasks": worker.tasks,
            "tasks_per_second": show::known(worker.tasks_per_second),
            "placements_per_second": show::known(worker.placements_per_second),
        }))?;
    }
    distrusted.iter().try_for_each(|party| {
        output::print(json!({ "distrusted": party.owner, "machine": party.machine }))
    })
}

pub(super) const COLUMNS: [Column<v1::Worker>; 9] = [
    ("WORKER", false, |worker| worker.name.clone()),
    ("OWNER", false, |worker| worker.owner.clone()),
    ("MACHINE", false, |worker| worker.machine.clone()),
    ("BUILD", false, |worker| farm::program_of(&worker.build).into()),
    ("KERNEL", false, |worker| kernel(worker).into()),
    ("THREADS", true, |worker| worker.threads.to_string()),
    ("TASKS", true, |worker| worker.tasks.to_string()),
    ("TASKS/S", true, |worker| show::rate(worker.tasks_per_second)),
    ("PLACEMENTS/S", true, |worker| show::rate(worker.placements_per_second)),
];

/// The columns that a narrow terminal leaves out, the least important first.
pub(super) const SPARED: [&str; 5] = ["BUILD", "TASKS/S", "MACHINE", "OWNER", "TASKS"];

/// The counting loop of a worker, or its graphics processor, whose name is the fifth part of the
/// worker's build.
fn kernel(worker: &v1::Worker) -> &str {
    match worker.backend.as_str() {
        Variant::DEVICE => worker.build.split('/').nth(4).unwrap_or(Variant::DEVICE),
        "" => "-",
        backend => backend,
    }
}

pub(super) async fn change(args: TrustArgs) -> Result<(), Failure> {
    let mut client = Client::connect(&args.client.coordinator).await?;
    let TrustArgs { party, revoke, reason, client: ClientArgs { json, .. } } = args;
    let trusted = !revoke;
    let trust = v1::Trust { party: Some(party.clone().into()), trusted, reason };
    let still = client.ask(Asked::Trust(trust)).await?.distrusted;
    let named = |party| Party::try_from(party).map(|party| party.to_string());
    let still: Vec<String> = still.into_iter().map(named).collect::<Result<_, _>>()?;
    if json {
        return output::print(json!({
            "party": party.to_string(),
            "trusted": trusted && still.is_empty(),
            "still_distrusted": still,
        }));
    }
    output::print(match (trusted, still.is_empty()) {
        (true, true) => format!("{party} is trusted again; its workers may be started anew"),
        (true, false) => format!(
            "{party} is reinstated, but what was decided about {} still stands; `queens trust` reinstates each",
            still.join(", ")
        ),
        (false, _) => format!(
            "{party} is distrusted: its sessions have ended, and what nobody else has confirmed of its \
             counts is counted again"
        ),
    })
}
