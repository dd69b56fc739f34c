//! `queens export` over the network: a bundle block by block.

use std::io;
use std::path::Path;

use evidence::{Checked, NewFile, NewFileError};
use wire::v1;

use super::client::{Client, CoordinatorArgs};
use crate::failure::Failure;

/// Fetches the bundle of a job from a coordinator into the new file `bundle`, and checks that it does not contradict
/// itself.
pub(super) async fn download(
    job: u64,
    bundle: &Path,
    coordinator: &CoordinatorArgs,
) -> Result<Checked, Failure> {
    let mut client = Client::connect(coordinator).await?;
    let mut file = NewFile::begin(bundle).map_err(|error| unwritten(bundle, &error))?;
    let blocks = client.service.export(v1::JobRequest { job }).await;
    let mut blocks = client.given(blocks)?;
    loop {
        let block = blocks.message().await.map_err(|status| client.failure(status))?;
        let v1::ExportResponse { length, gzip, is_last } = block
            .ok_or_else(|| Failure::unreachable(client.url(), "it ended the export too early"))?;
        file.write_block(length, &gzip).map_err(|error| unwritten(bundle, &error))?;
        if is_last {
            return finish(file, bundle);
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
