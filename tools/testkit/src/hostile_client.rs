//! Hostile clients: they have the token and ask the coordinator for as much as they can.

use std::time::Duration;

use farm::Problem;
use service::{Endpoint, TokenChannel};
use tokio::task::JoinSet;
use tonic::Status;
use wire::v1::jobs_service_client::JobsServiceClient;
use wire::v1::{self, submit_request::Method};

/// What a hostile client asks for again and again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Demand {
    /// Lists of all jobs.
    Lists,
    /// One job.
    Gets,
    /// The beginning of a watch.
    Watches,
    /// Jobs, which it cancels again.
    Submissions,
    /// Plans that take seconds to make, and all of them different.
    LargePlans,
    /// That a job rests, and that it goes on.
    Changes,
}

impl Demand {
    /// All demands, with their names.
    pub const ALL: [(&str, Demand); 6] = [
        ("lists", Demand::Lists),
        ("gets", Demand::Gets),
        ("watches", Demand::Watches),
        ("submissions", Demand::Submissions),
        ("large-plans", Demand::LargePlans),
        ("changes", Demand::Changes),
    ];
}

/// Number of requests of one connection at a time: as many as a coordinator allows.
const STREAMS: u32 = 64;

/// Asks over `connections` connections, for ever. `job` is a job of the attacker's own.
pub async fn demand(demand: Demand, endpoint: Endpoint, connections: u32, job: u64) {
    let mut all = JoinSet::new();
    for connection in 0..connections {
        let endpoint = endpoint.clone();
        all.spawn(async move {
            loop {
                let Ok(channel) = endpoint.connect().await else {
                    // A real attacker would not wait; here that would take the processor from honest workers.
                    tokio::time::sleep(Duration::from_millis(10)).await;
                    continue;
                };
                let mut streams = JoinSet::new();
                for stream in 0..STREAMS {
                    let client = JobsServiceClient::new(channel.clone());
                    streams.spawn(ask(demand, client, job, connection * STREAMS + stream));
                }
                streams.join_all().await;
            }
        });
    }
    all.join_all().await;
}

/// Repeats a request until the connection fails.
async fn ask(
    demand: Demand,
    mut client: JobsServiceClient<TokenChannel>,
    job: u64,
    mut number: u32,
) {
    loop {
        let asked = request(demand, &mut client, job, number).await;
        if asked.is_err_and(|status| status.code() == tonic::Code::Unavailable) {
            return;
        }
        number = number.wrapping_add(STREAMS);
    }
}

async fn request(
    demand: Demand,
    client: &mut JobsServiceClient<TokenChannel>,
    job: u64,
    number: u32,
) -> Result<(), Status> {
    match demand {
        Demand::Lists => drop(client.list(v1::ListRequest::default()).await?),
        Demand::Gets => drop(client.get(v1::GetRequest { job }).await?),
        Demand::Watches => {
            let mut told = client.watch(v1::WatchRequest { job }).await?.into_inner();
            told.message().await?;
        }
        Demand::Submissions => {
            let rows = Method::Rows(v1::RowsRequest { rows: Some(2) });
            let submitted = client.submit(submission(8 + number % 4, rows)).await?;
            let job = submitted.into_inner().job.map_or(0, |job| job.id);
            client.cancel(v1::CancelRequest { job }).await?;
        }
        Demand::LargePlans => {
            let ring = Method::Ring(v1::RingRequest { width: Some(2) });
            client.submit(submission(26 + number % 7, ring)).await?;
        }
        Demand::Changes => {
            client.pause(v1::PauseRequest { job }).await?;
            client.resume(v1::ResumeRequest { job }).await?;
        }
    }
    Ok(())
}

fn submission(n: u32, method: Method) -> v1::SubmitRequest {
    let problem = Some(Problem::Total { n }.into());
    v1::SubmitRequest { problem, method: Some(method), priority: -2, ..Default::default() }
}
