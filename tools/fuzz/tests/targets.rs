//! The fuzzing target `messages`, and that it reads every message.

use std::path::Path;

#[test]
fn messages() {
    bolero::check!().for_each(fuzz::messages);
}

#[test]
fn every_message_of_the_services_is_read() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../proto");
    let files = protox::compile(["queens/v1/farm.proto", "queens/v1/client.proto"], [folder]);
    let files = files.expect("they are well-formed");
    let methods = files.file.iter().flat_map(|file| &file.service).flat_map(|s| &s.method);
    for message in methods.flat_map(|method| [method.input_type(), method.output_type()]) {
        let name = message.rsplit('.').next().expect("it has a name");
        assert!(fuzz::READERS.iter().any(|reader| reader.name == name), "READERS lacks {name}");
    }
}
