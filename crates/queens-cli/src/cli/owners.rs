//! `queens owners`: the hours, weights and limits of the owners of jobs.

use clap::Args;
use farm::{Answer, Hours, OwnerView, Share};
use serde_json::{Value, json};
use wire::v1;
use wire::v1::ask_request::Request as Asked;
use wire::v1::grant::Limit;

use super::client::{Client, CoordinatorArgs};
use super::show;
use crate::failure::Failure;
use crate::output;
use crate::table::Table;

#[derive(Debug, Args)]
pub(super) struct OwnersArgs {
    /// Only this owner
    #[arg(value_name = "OWNER")]
    owner: Option<String>,
    /// Divide what is leased in the proportion of such weights, 1 to 10000 [at first 100]
    #[arg(long, value_name = "W", requires = "owner", allow_negative_numbers = true,
        value_parser = clap::value_parser!(u32).range(1..=i64::from(Share::MOST_WEIGHT)))]
    weight: Option<u32>,
    /// Lease nothing more once all its jobs have taken H hours together, of processors and graphics
    /// processors; `none` ends the limit
    #[arg(long, value_name = "H", requires = "owner", allow_negative_numbers = true, value_parser = limit)]
    hours: Option<Limit>,
    /// Print JSON, one object a line
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    coordinator: CoordinatorArgs,
}

fn limit(text: &str) -> anyhow::Result<Limit> {
    const MOST: f64 = Share::MOST_HOURS as f64;
    if text == "none" {
        return Ok(Limit::NoLimit(v1::NoLimit {}));
    }
    let hours = text.parse::<f64>().ok().filter(|hours| (0.0..=MOST).contains(hours));
    let hours = hours.ok_or_else(|| anyhow::anyhow!("give hours from 0 to {MOST}, or none"))?;
    Ok(Limit::LimitUs((hours * Hours::US as f64).round() as u64))
}

pub(super) async fn owners(args: OwnersArgs) -> Result<(), Failure> {
    let OwnersArgs { owner, weight, hours: limit, json, coordinator } = args;
    let mut client = Client::connect(&coordinator).await?;
    if let Some(owner) = owner.clone().filter(|_| weight.is_some() || limit.is_some()) {
        let grant = v1::Grant { owner, weight, limit };
        let Answer::Owner(view) = client.ask(Asked::Grant(grant)).await? else {
            return Err(Failure::Incompatible("the coordinator answers something else".into()));
        };
        if !json {
            return output::print(granted(&view));
        }
    }
    let answer = client.service.list_owners(v1::ListOwnersRequest {}).await;
    let reported = client.given(answer)?.owners.into_iter().map(OwnerView::try_from);
    let all: Vec<OwnerView> = reported.collect::<Result<_, _>>()?;
    let is_wanted = |view: &&OwnerView| owner.as_ref().is_none_or(|owner| view.owner == *owner);
    let wanted: Vec<&OwnerView> = all.iter().filter(is_wanted).collect();
    if json {
        return wanted.iter().try_for_each(|view| output::print(object(view, &all)));
    }
    table(&wanted, &all).print(&["JOBS"], "this coordinator has no such owner")
}

/// The weight and the limit of an owner.
fn granted(view: &OwnerView) -> String {
    let OwnerView { owner, share: Share { weight, limit_us }, .. } = view;
    match limit_us {
        Some(us) => format!("{owner} has the weight {weight}, and a limit of {} hours", hours(*us)),
        None => format!("{owner} has the weight {weight}, and no limit of hours"),
    }
}

fn hours(us: u64) -> f64 {
    us as f64 / Hours::US as f64
}

fn object(view: &OwnerView, all: &[OwnerView]) -> Value {
    json!({
        "owner": view.owner,
        "jobs": view.live_jobs,
        "processor_hours": view.hours.processor(),
        "gpu_hours": view.hours.gpu(),
        "limit_hours": view.share.limit_us.map(hours),
        "weight": view.share.weight,
        "leased_share": view.share_of(all),
    })
}

fn table(wanted: &[&OwnerView], all: &[OwnerView]) -> Table {
    let mut table = Table::new(&[
        ("OWNER", false),
        ("JOBS", true),
        ("CPU-HOURS", true),
        ("GPU-HOURS", true),
        ("LIMIT", true),
        ("WEIGHT", true),
        ("LEASED", true),
    ]);
    for view in wanted {
        let dash = || "-".to_string();
        table.push(vec![
            if view.owner.is_empty() { "unknown".into() } else { view.owner.clone() },
            view.live_jobs.to_string(),
            show::hours(view.hours.processor()),
            show::hours(view.hours.gpu()),
            view.share.limit_us.map_or_else(dash, |us| show::hours(hours(us))),
            view.share.weight.to_string(),
            view.share_of(all).map_or_else(dash, |share| format!("{:.0}%", 100.0 * share)),
        ]);
    }
    table
}
