//! `cargo xtask proto`: generates the gRPC types of `crates/service` from the messages in `proto`,
//! without protoc. The types are committed, so a build of the program needs no generator.

use std::error::Error;
use std::fs;
use std::path::Path;

use crate::fault;

const FILES: [&str; 1] = ["queens/v1/farm.proto"];
const FOLDER: &str = "crates/service/src/wire/generated";
const TYPES: &str = "queens.v1.rs";

/// Writes the types. With `check`, only compares them.
pub(crate) fn run(check: bool) -> Result<(), u8> {
    let made = make().map_err(|error| fault(&format!("proto: {error}")))?;
    let path = Path::new(FOLDER).join(TYPES);
    if fs::read(&path).is_ok_and(|written| written == made) {
        return Ok(());
    }
    let name = path.display();
    if check {
        return Err(fault(&format!("{name} does not match proto: run `cargo xtask proto`")));
    }
    fs::write(&path, made).map_err(|error| fault(&format!("{name}: {error}")))
}

/// The content of the generated file.
fn make() -> Result<Vec<u8>, Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    tonic_prost_build::configure()
        .build_transport(false)
        .out_dir(folder.path())
        .compile_fds(protox::compile(FILES, ["proto"])?)?;
    Ok(fs::read(folder.path().join(TYPES))?)
}
