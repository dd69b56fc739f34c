//! The farm's own speed.
use crate::failure::Failure;
use clap::Args;

#[derive(Debug, Args)]
pub(crate) struct FarmBenchArgs {}

pub(super) async fn run(_: FarmBenchArgs) -> Result<(), Failure> {
    Ok(())
}
