//! `queens audit`: has accepted ranges counted again.

use std::time::Duration;

use clap::Args;
use count::Backend;
use farm::{AuditPolicy, AuditScope, JobView};
use service::Method;
use service::api::{AuditWish, Patch};

use super::client::{Client, ClientArgs};
use super::options::{scope, share};
use super::show::plural;
use crate::failure::{Failure, usage};
use crate::output;

/// How often the coordinator is asked whether a worker may count the waiting ranges, and the pause
/// between two requests.
const MOST_LOOKS: u32 = 20;
const BETWEEN_LOOKS: Duration = Duration::from_millis(100);

#[derive(Debug, Args)]
pub(super) struct AuditArgs {
    /// The job's number
    job: u64,
    /// The share of the ranges to count again
    #[arg(long, value_name = "SHARE", default_value = "2%",
          value_parser = share)]
    fraction: u32,
    /// Count every range again
    #[arg(long, conflicts_with = "fraction")]
    all: bool,
    /// Who counts again: another machine, or owner
    ///
    /// A second count by another machine protects against broken hardware, one by another owner
    /// also against lies [default: owner, if the job's audit before was, or as soon as two owners
    /// have a worker's credential].
    #[arg(long, value_name = "ACROSS", value_parser = scope())]
    across: Option<AuditScope>,
    /// With `reference`, count ranges of colours by the reference
    ///
    /// It searches row by row for the queens of each colour, without the tables and vectors of
    /// other loops, and takes hundreds of times as long [default: by another counting loop].
    #[arg(long, value_name = "reference", value_parser = [Backend::Reference.name()])]
    backend: Option<String>,
    /// Count nothing again any more
    ///
    /// Ranges stop waiting for their second counts. A job that waited for nothing else is done.
    #[arg(long, conflicts_with_all = ["fraction", "all", "across", "backend"])]
    withdraw: bool,
    #[command(flatten)]
    client: ClientArgs,
}

pub(super) async fn audit(args: AuditArgs) -> Result<(), Failure> {
    if args.fraction == 0 && !args.all && !args.withdraw {
        return usage(
            "an audit of nothing changes nothing: give a larger --fraction, or --withdraw to have nothing \
             counted again any more",
        );
    }
    let mut client = Client::connect(&args.client.coordinator).await?;
    let share_ppm = match (args.all, args.withdraw) {
        (true, _) => AuditPolicy::ALL,
        (_, true) => 0,
        _ => args.fraction,
    };
    let wish = AuditWish {
        by_reference: args.backend.is_some(),
        across: args.across,
        ..AuditWish::of_ppm(share_ppm)
    };
    let patch = Patch { audit: Some(wish), ..Patch::default() };
    let job: JobView =
        client.ask(Method::PATCH, &format!("/jobs/{}", args.job), Some(&patch)).await?;
    let mut later = job.clone();
    // The coordinator knows a moment later which ranges wait, and whether a worker may count them.
    for _ in 0..MOST_LOOKS {
        if later.audits_stranded.is_some() {
            break;
        }
        tokio::time::sleep(BETWEEN_LOOKS).await;
        later = client.job(args.job).await?;
    }
    if args.client.json {
        return output::print(output::json(&later));
    }
    let id = job.id;
    output::advise(match job.audits_wanted {
        0 if share_ppm == 0 => format!("job {id}: nothing is counted again any more"),
        0 if args.all => format!(
            "job {id}: nothing is counted again: none of its ranges is accepted yet, or all were counted twice already"
        ),
        0 => format!(
            "job {id}: nothing is counted again yet: the draw chose none of its accepted ranges that were counted once; a \
             larger --fraction, or --all, chooses more, and ranges that are accepted later are drawn, too"
        ),
        wanted => format!(
            "job {id}: {wanted} accepted range{} to be counted again by other machines or owners; \
             `queens jobs {id}` says how far that is",
            plural(wanted, "s")
        ),
    })?;
    match later.waits_for.filter(|_| later.audits_wanted > 0) {
        None => Ok(()),
        Some(what) => output::advise(format!("job {id} waits for {what}")),
    }
}
