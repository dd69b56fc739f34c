//! `queens export` over the network: a bundle block by block. If the connection is lost, it begins
//! anew.

use std::io;
use std::path::Path;

use evidence::{Checked, NewFile, NewFileError};
use tonic::Status;
use wire::v1;

use super::client::{Client, CoordinatorArgs};
use crate::failure::Failure;

/// How often a connection may break.
const MOST_FAILURES: u32 = 30;

/// Fetches the bundle of a job from a coordinator into the new file `bundle`, and checks that it does not contradict
/// itself.
pub(super) async fn download(
    job: u64,
    bundle: &Path,
    coordinator: &CoordinatorArgs,
) -> Result<Checked, Failure> {
    let mut client = Client::connect(coordinator).await?;
    let mut failures = 0;
    loop {
        let mut file = NewFile::begin(bundle).map_err(|error| unwritten(bundle, &error))?;
        let Err(broken) = fetch(job, &mut file, bundle, &mut client).await? else {
            return finish(file, bundle);
        };
        failures += 1;
        if !client.is_passing(&broken) || failures > MOST_FAILURES {
            return Err(client.failure(broken));
        }
        tracing::warn!(reason = broken.message(), "the export broke off; it begins anew");
        client.connect_again().await?;
    }
}

/// Fetches all of it, or says why that broke off.
async fn fetch(
    job: u64,
    file: &mut NewFile,
    bundle: &Path,
    client: &mut Client,
) -> Result<Result<(), Status>, Failure> {
    let mut blocks = match client.service.export(v1::JobRequest { job }).await {
        Ok(blocks) => blocks.into_inner(),
        Err(status) => return Ok(Err(status)),
    };
    loop {
        match blocks.message().await {
            Ok(Some(v1::ExportResponse { length, gzip, is_last })) => {
                file.write_block(length, &gzip).map_err(|error| unwritten(bundle, &error))?;
                if is_last {
                    return Ok(Ok(()));
                }
            }
            Ok(None) => return Ok(Err(Status::unavailable("the stream ended too early"))),
            Err(status) => return Ok(Err(status)),
        }
    }
}

fn unwritten(bundle: &Path, error: &io::Error) -> Failure {
    Failure::output(bundle.display(), error)
}

fn finish(file: NewFile, bundle: &Path) -> Result<Checked, Failure> {
    file.finish_bundle().map_err(|error| match error {
        NewFileError::Bundle(error) => Failure::bundle(bundle, error),
        NewFileError::Output(error) => unwritten(bundle, &error),
    })
}
