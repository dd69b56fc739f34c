//! A client: submits a job that takes as long as there is trouble, and small ones meanwhile, and sees all of them end.

use std::rc::Rc;
use std::time::Duration;

use board::{MethodChoice, Problem};
use farm::JobView;
use tokio::time::{sleep, timeout};
use wire::v1;
use wire::v1::jobs_service_client::JobsServiceClient;

use super::faults::TROUBLE_MS;
use super::hosts::endpoint;
use super::places::{Place, Places};

/// The name of the long job.
pub(super) const LONG: &str = "long";
/// What the small jobs count.
pub(super) const SMALL: Problem = Problem::Total { n: 5 };
/// The pause between two small jobs, and between two looks.
const PAUSE: Duration = Duration::from_millis(1_500);
const LOOK: Duration = Duration::from_millis(500);
/// A decision may wait for a stand-by for five seconds.
const PATIENCE: Duration = Duration::from_secs(8);

/// What the client was told.
#[derive(Default)]
pub(super) struct Told {
    /// The names of jobs that were accepted by a coordinator while all other places, if there are any, followed it.
    pub(super) followed: Vec<String>,
    /// The number of jobs that were accepted by other coordinators.
    pub(super) alone: u64,
    /// All jobs in the end.
    pub(super) jobs: Vec<JobView>,
}

pub(super) async fn client(
    problem: Problem,
    method: MethodChoice,
    places: Rc<Places>,
) -> turmoil::Result<Told> {
    let mut told = Told::default();
    while !submit(&mut told, &places, LONG.into(), problem, method).await {
        sleep(LOOK).await;
    }
    let small = MethodChoice::Rows { rows: Some(1) };
    for number in 0.. {
        if turmoil::elapsed() > Duration::from_millis(TROUBLE_MS.end) {
            break;
        }
        sleep(PAUSE).await;
        // What was not answered may have been accepted or not: it is not repeated.
        submit(&mut told, &places, format!("small-{number}"), SMALL, small).await;
    }
    loop {
        sleep(LOOK).await;
        if places.are_settled()
            && let Ok(Ok(jobs)) = timeout(PATIENCE, list(&places)).await
            && jobs.iter().all(|job| job.state.is_over())
        {
            return Ok(Told { jobs, ..told });
        }
    }
}

/// Asks one place after the other. Returns whether one has accepted the job.
async fn submit(
    told: &mut Told,
    places: &Places,
    name: String,
    problem: Problem,
    method: MethodChoice,
) -> bool {
    let request = v1::SubmitRequest {
        problem: Some(problem.into()),
        method: Some(method.into()),
        priority: if name == LONG { 0 } else { -1 },
        key: Some(name.clone()),
        ..Default::default()
    };
    for place in places.iter() {
        let asked = timeout(PATIENCE, submit_to(place, request.clone())).await;
        if matches!(asked, Ok(Ok(()))) {
            if place.is_followed_by_all() {
                told.followed.push(name);
            } else {
                told.alone += 1;
            }
            return true;
        }
    }
    false
}

async fn submit_to(place: &Place, request: v1::SubmitRequest) -> turmoil::Result {
    let channel = endpoint(&[place.name]).connect().await?;
    JobsServiceClient::new(channel).submit(request).await?;
    Ok(())
}

/// All jobs, as whoever serves sees them.
async fn list(places: &Places) -> turmoil::Result<Vec<JobView>> {
    let mut jobs = JobsServiceClient::new(places.endpoint().connect().await?);
    let listed = jobs.list(v1::ListRequest::default()).await?.into_inner();
    Ok(listed.jobs.into_iter().map(JobView::try_from).collect::<Result<_, _>>()?)
}
