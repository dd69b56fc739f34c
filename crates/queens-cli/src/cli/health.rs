//! `queens health`.

use clap::{Args, ValueEnum};
use serde_json::json;
use tonic_health::pb::health_check_response::ServingStatus;
use tonic_health::pb::{HealthCheckRequest, health_client::HealthClient};
use wire::{LIVENESS, READINESS};

use super::client::CoordinatorArgs;
use crate::failure::Failure;
use crate::output;

#[derive(Debug, Args)]
pub(super) struct HealthArgs {
    /// What to ask for
    #[arg(long, value_enum, default_value_t, env = "QUEENS_HEALTH_SERVICE")]
    service: HealthService,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    coordinator: CoordinatorArgs,
}

#[derive(Clone, Copy, Debug, Default, ValueEnum)]
enum HealthService {
    /// Whether the process lives
    Liveness,
    /// Whether it answers all requests: it has read its ledger, and is not stopping
    #[default]
    Readiness,
}

pub(super) async fn health(args: HealthArgs) -> Result<(), Failure> {
    let service = match args.service {
        HealthService::Liveness => LIVENESS,
        HealthService::Readiness => READINESS,
    };
    let endpoint = args.coordinator.endpoint()?;
    let mut client = HealthClient::new(endpoint.channel().await?);
    let unreachable = |reason: &str| Failure::unreachable(endpoint.url(), reason);
    let mut ask = async |service: &str| {
        let answer = client.check(HealthCheckRequest { service: service.into() }).await;
        let answer = answer.map_err(|status| unreachable(status.message()));
        answer.map(|answer| answer.into_inner().status())
    };
    match ask(service).await? {
        ServingStatus::Serving if args.json => output::print(json!({"status": "serving"})),
        ServingStatus::Serving => output::print("serving"),
        other => {
            let status = other.as_str_name();
            Err(unreachable(&format!("it is {status}: it reads its ledger, or is stopping")))
        }
    }
}
