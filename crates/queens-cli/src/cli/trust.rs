//! `queens workers` and `queens trust`.

#![cfg_attr(not(test), warn(clippy::arithmetic_side_effects))]

use clap::{Args, Subcommand};
use count::Variant;
use farm::{Party, WorkerView};
use serde_json::json;
use service::Method;
use service::api::{Distrusted, Drained, Trust, Workers};

use super::client::{Client, ClientArgs, NO_BODY};
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
    #[arg(long, value_name = "TEXT", value_parser = reason)]
    reason: String,
    #[command(flatten)]
    client: ClientArgs,
}

fn reason(text: &str) -> anyhow::Result<String> {
    farm::reason(text).map_err(anyhow::Error::msg)
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

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(super) struct WorkersArgs {
    #[command(subcommand)]
    command: Option<WorkersCommand>,
    #[command(flatten)]
    client: ClientArgs,
}

#[derive(Debug, Subcommand)]
enum WorkersCommand {
    /// Let workers report what they have, and take nothing more until they are started anew
    Drain(DrainArgs),
}

#[derive(Debug, Args)]
struct DrainArgs {
    /// The name of the workers, as `queens workers` lists it
    #[arg(value_name = "NAME", value_parser = name)]
    worker: String,
    #[command(flatten)]
    client: ClientArgs,
}

pub(super) async fn workers(args: WorkersArgs) -> Result<(), Failure> {
    match args.command {
        Some(WorkersCommand::Drain(args)) => drain(args).await,
        None => list(args.client).await,
    }
}

async fn drain(DrainArgs { worker, client: args }: DrainArgs) -> Result<(), Failure> {
    let mut client = Client::connect(&args.coordinator).await?;
    // A name may have any visible character.
    let escaped = |byte: u8| match byte {
        b'0'..=b'9' | b'A'..=b'Z' | b'a'..=b'z' | b'-' | b'_' => char::from(byte).to_string(),
        _ => format!("%{byte:02X}"),
    };
    let path: String = worker.bytes().map(escaped).collect();
    let path = format!("/workers/{path}/drain");
    let Drained { workers } = client.ask(Method::POST, &path, NO_BODY).await?;
    workers.iter().try_for_each(|view| {
        output::mention(match args.json {
            true => output::json(view).to_string(),
            false => format!(
                "worker {worker} of {}: it reports what it has, and takes nothing more",
                view.provenance.principal
            ),
        })
    })
}

async fn list(args: ClientArgs) -> Result<(), Failure> {
    let mut client = Client::connect(&args.coordinator).await?;
    let Workers { mut workers, distrusted, .. } = client.get("/workers").await?;
    workers.sort_by_cached_key(|worker| {
        (worker.provenance.principal.clone(), worker.provenance.worker.clone())
    });
    if !args.json {
        let nothing = "no worker is connected; `queens worker` starts one";
        Table::new(&workers, &COLUMNS).print(&SPARED, nothing)?;
        for worker in workers.iter().filter(|worker| worker.draining) {
            let name = &worker.provenance.worker;
            output::print(format_args!("draining: {name} takes nothing more"))?;
        }
        return distrusted
            .iter()
            .try_for_each(|party| output::print(format_args!("distrusted: {party}")));
    }
    workers.iter().try_for_each(|worker| output::print(output::json(worker)))?;
    distrusted.iter().try_for_each(|party| {
        output::print(json!({ "distrusted": party.owner, "machine": party.machine }))
    })
}

pub(super) const COLUMNS: [Column<WorkerView>; 9] = [
    ("WORKER", false, |worker| worker.provenance.worker.clone()),
    ("OWNER", false, |worker| worker.provenance.principal.owner.clone()),
    ("MACHINE", false, |worker| worker.provenance.principal.machine.clone()),
    ("BUILD", false, |worker| worker.provenance.program().into()),
    ("KERNEL", false, |worker| kernel(worker).into()),
    ("THREADS", true, |worker| worker.threads.to_string()),
    ("TASKS", true, |worker| worker.tasks.to_string()),
    ("TASKS/S", true, |worker| show::rate(worker.rate.tasks_per_second)),
    ("PLACEMENTS/S", true, |worker| show::rate(worker.rate.placements_per_second)),
];

/// The columns that a narrow terminal leaves out, the least important first.
pub(super) const SPARED: [&str; 5] = ["BUILD", "TASKS/S", "MACHINE", "OWNER", "TASKS"];

/// The counting loop of a worker, or its graphics processor, whose name is the fifth part of the
/// worker's build.
fn kernel(worker: &WorkerView) -> &str {
    match worker.backend.as_str() {
        Variant::DEVICE => worker.provenance.build.split('/').nth(4).unwrap_or(Variant::DEVICE),
        "" => "-",
        backend => backend,
    }
}

pub(super) async fn change(args: TrustArgs) -> Result<(), Failure> {
    let mut client = Client::connect(&args.client.coordinator).await?;
    let TrustArgs { party, revoke, reason, client: ClientArgs { json, .. } } = args;
    let trusted = !revoke;
    let Party { owner, machine } = party.clone();
    let trust = Trust { owner, machine, trusted, reason };
    let answer: Distrusted = client.ask(Method::POST, "/trust", Some(&trust)).await?;
    let still: Vec<String> = answer.distrusted.iter().map(ToString::to_string).collect();
    if json {
        return output::print(json!({
            "party": party.to_string(),
            "trusted": trusted && still.is_empty(),
            "still_distrusted": still,
        }));
    }
    output::advise(match (trusted, still.is_empty()) {
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
