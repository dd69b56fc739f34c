//! `queens export` over the network: a bundle block by block, over any number of lost connections.

use std::io;
use std::path::Path;

use evidence::{Checked, Part, PartError};
use tonic::Status;
use wire::v1;

use super::client::{Client, CoordinatorArgs};
use crate::failure::Failure;

/// How often in a row a connection may break without a single block.
const MOST_FAILURES: u32 = 30;

/// Fetches the bundle of a job from a coordinator into the new file `bundle`, and checks that it does not contradict
/// itself. What has arrived stays beside it if this ends too early.
pub(super) async fn download(
    job: u64,
    bundle: &Path,
    coordinator: &CoordinatorArgs,
) -> Result<Checked, Failure> {
    let mut part = Part::open(bundle).map_err(|error| unwritten(bundle, &error))?;
    match fetch(job, &mut part, bundle, coordinator).await {
        Ok(()) => finish(part, bundle),
        Err(failure) => {
            part.leave();
            Err(failure)
        }
    }
}

/// Fetches what is missing in `part`.
async fn fetch(
    job: u64,
    part: &mut Part,
    bundle: &Path,
    coordinator: &CoordinatorArgs,
) -> Result<(), Failure> {
    let mut client = Client::connect(coordinator).await?;
    let mut failures = 0;
    loop {
        let header = part.header().map_err(|error| unwritten(bundle, &error))?;
        let wanted = v1::ExportRequest { job, header, offset: part.len() };
        let broken = match client.jobs.export(wanted).await {
            Ok(blocks) => {
                let mut blocks = blocks.into_inner();
                loop {
                    match blocks.message().await {
                        Ok(Some(v1::ExportResponse { offset, length, zstd, is_last })) => {
                            let added = part.add(offset, length, &zstd);
                            added.map_err(|error| unwritten(bundle, &error))?;
                            failures = 0;
                            if is_last {
                                return Ok(());
                            }
                        }
                        Ok(None) => break Status::unavailable("the stream ended too early"),
                        Err(status) => break status,
                    }
                }
            }
            Err(status) => status,
        };
        failures += 1;
        if !client.is_passing(&broken) || failures > MOST_FAILURES {
            return Err(client.failure(broken));
        }
        tracing::warn!(reason = broken.message(), "the export broke off; it goes on from there");
        client.connect_again().await?;
    }
}

fn unwritten(bundle: &Path, error: &io::Error) -> Failure {
    Failure::Output { what: bundle.display().to_string(), reason: error.to_string() }
}

fn finish(part: Part, bundle: &Path) -> Result<Checked, Failure> {
    part.finish().map_err(|error| match error {
        PartError::Bundle(error) => {
            Failure::Bundle { path: bundle.to_path_buf(), reason: error.to_string() }
        }
        PartError::Output(error) => unwritten(bundle, &error),
    })
}
