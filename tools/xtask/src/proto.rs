//! `cargo xtask proto`: generates the gRPC types of `crates/wire` from the messages in `proto`,
//! without protoc. The types are committed, so a build of the program needs no generator.

use std::error::Error;
use std::fs;
use std::path::Path;

use prost::Message;

use crate::fault;

const FILES: [&str; 2] = ["queens/v1/farm.proto", "queens/v1/client.proto"];
const FOLDER: &str = "crates/wire/src/generated";
const TYPES: &str = "queens.v1.rs";
const DESCRIPTORS: &str = "descriptors.bin";

/// Writes the types and the descriptors. With `check`, only compares them.
pub(crate) fn run(check: bool) -> Result<(), u8> {
    let made = make().map_err(|error| fault(&format!("proto: {error}")))?;
    for (name, content) in [TYPES, DESCRIPTORS].into_iter().zip(made) {
        let path = Path::new(FOLDER).join(name);
        if fs::read(&path).is_ok_and(|written| written == content) {
            continue;
        }
        let path = path.display();
        if check {
            return Err(fault(&format!("{path} does not match proto: run `cargo xtask proto`")));
        }
        fs::write(path.to_string(), content).map_err(|error| fault(&format!("{path}: {error}")))?;
    }
    Ok(())
}

/// The content of the generated files.
fn make() -> Result<[Vec<u8>; 2], Box<dyn Error>> {
    let descriptors = protox::compile(FILES, ["proto"])?;
    let encoded = descriptors.encode_to_vec();
    let folder = tempfile::tempdir()?;
    tonic_prost_build::configure()
        .build_transport(false)
        .out_dir(folder.path())
        .compile_fds(descriptors)?;
    Ok([fs::read(folder.path().join(TYPES))?, encoded])
}
