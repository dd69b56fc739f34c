//! `queens owners`: the hours, weights and limits of the owners of jobs.

use clap::Args;
use farm::{Hours, Share};
use serde_json::{Value, json};
use wire::v1::ask_request::Request as Asked;
use wire::{WireError, v1};

use super::client::{Client, ClientArgs};
use super::options::name;
use super::show;
use crate::failure::Failure;
use crate::output;
use crate::table::{Column, Table, dash};

#[derive(Debug, Args)]
pub(super) struct OwnersArgs {
    /// Only this owner
    #[arg(value_name = "OWNER", value_parser = name)]
    owner: Option<String>,
    /// Divide what is leased in the proportion of such weights, 1 to 10000 [at first 100]
    #[arg(long, value_name = "W", requires = "owner", allow_negative_numbers = true,
        value_parser = clap::value_parser!(u32).range(1..=i64::from(Share::MOST_WEIGHT)))]
    weight: Option<u32>,
    /// Lease nothing more once all its jobs have taken H hours together, of processors and graphics
    /// processors; `none` ends the limit
    #[arg(long, value_name = "H", requires = "owner", allow_negative_numbers = true, value_parser = limit)]
    hours: Option<u64>,
    #[command(flatten)]
    client: ClientArgs,
}

/// A limit in microseconds.
fn limit(text: &str) -> anyhow::Result<u64> {
    const MOST: f64 = Share::MOST_HOURS as f64;
    if text == "none" {
        return Ok(wire::NO_LIMIT);
    }
    let hours = text.parse::<f64>().ok().filter(|hours| (0.0..=MOST).contains(hours));
    let hours = hours.ok_or_else(|| anyhow::anyhow!("give hours from 0 to {MOST}, or none"))?;
    Ok((hours * Hours::US as f64).round() as u64)
}

pub(super) async fn owners(args: OwnersArgs) -> Result<(), Failure> {
    let OwnersArgs { owner, weight, hours: limit_us, client: ClientArgs { json, coordinator } } =
        args;
    let mut client = Client::connect(&coordinator).await?;
    if let Some(owner) = owner.clone().filter(|_| weight.is_some() || limit_us.is_some()) {
        let grant = v1::Grant { owner, weight, limit_us };
        let owner = client.ask(Asked::Grant(grant)).await?.owner;
        let owner = owner.ok_or(WireError::Missing("owner"))?;
        if !json {
            return output::print(granted(&owner));
        }
    }
    let answer = client.service.list_owners(v1::ListOwnersRequest {}).await;
    let owners = client.given(answer)?.owners;
    if !owners.iter().all(|owner| wire::is_text(&owner.owner)) {
        return Err(WireError::text("owner").into());
    }
    let leased_us: f64 = owners.iter().map(|owner| owner.leased_us as f64).sum();
    let is_wanted = |known: &v1::Owner| owner.as_ref().is_none_or(|owner| known.owner == *owner);
    let with_share = |owner: v1::Owner| Shared {
        leased_share: (leased_us > 0.0).then(|| owner.leased_us as f64 / leased_us),
        owner,
    };
    let owners: Vec<Shared> = owners.into_iter().filter(is_wanted).map(with_share).collect();
    if json {
        return owners.iter().try_for_each(|owner| output::print(object(owner)));
    }
    Table::new(&owners, &COLUMNS).print(&["JOBS"], "this coordinator has no such owner")
}

/// An owner, and its part of all that is leased, from 0 to 1. `None` while nothing is leased.
struct Shared {
    owner: v1::Owner,
    leased_share: Option<f64>,
}

fn granted(v1::Owner { owner, weight, limit_us, .. }: &v1::Owner) -> String {
    let limit = limit_us.map(|us| format!("a limit of {} hours", hours(us)));
    let limit = limit.as_deref().unwrap_or("no limit of hours");
    format!("{owner} has the weight {weight}, and {limit}")
}

fn hours(us: u64) -> f64 {
    us as f64 / Hours::US as f64
}

fn object(Shared { owner, leased_share }: &Shared) -> Value {
    json!({
        "owner": owner.owner,
        "jobs": owner.live_jobs,
        "processor_hours": hours(owner.processor_us),
        "gpu_hours": hours(owner.gpu_us),
        "limit_hours": owner.limit_us.map(hours),
        "weight": owner.weight,
        "leased_share": leased_share,
    })
}

const COLUMNS: [Column<Shared>; 7] = [
    ("OWNER", false, |it| show::owner(&it.owner.owner).into()),
    ("JOBS", true, |it| it.owner.live_jobs.to_string()),
    ("CPU-HOURS", true, |it| show::hours(hours(it.owner.processor_us))),
    ("GPU-HOURS", true, |it| show::hours(hours(it.owner.gpu_us))),
    ("LIMIT", true, |it| it.owner.limit_us.map_or_else(dash, |us| show::hours(hours(us)))),
    ("WEIGHT", true, |it| it.owner.weight.to_string()),
    ("LEASED", true, |it| {
        it.leased_share.map_or_else(dash, |share| format!("{:.0}%", 100.0 * share))
    }),
];
