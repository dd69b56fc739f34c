//! The fuzzing target `messages`, and that it reads every message.

use std::path::Path;

use serde_json::Value;

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

#[test]
fn messages() {
    bolero::check!().for_each(fuzz::messages);
}

#[test]
fn every_message_of_workers_is_read() {
    let folder = Path::new(ROOT).join("proto");
    let files = protox::compile(["queens/v1/farm.proto"], [folder]);
    let files = files.expect("they are well-formed");
    let methods = files.file.iter().flat_map(|file| &file.service).flat_map(|s| &s.method);
    for message in methods.flat_map(|method| [method.input_type(), method.output_type()]) {
        assert_is_read(message.rsplit('.').next().expect("it has a name"));
    }
}

#[test]
fn every_request_and_answer_of_clients_is_read() {
    let text = std::fs::read_to_string(Path::new(ROOT).join("docs/openapi.json"));
    let described: Value = serde_json::from_str(&text.expect("it is text")).expect("it is JSON");
    let mut names = Vec::new();
    schemas(&described["paths"], &mut names);
    assert!(names.len() > 10, "{names:?}");
    for name in names {
        assert_is_read(name.strip_prefix("OneOrMore_").unwrap_or(&name));
    }
}

/// The names of the schemas in a part of a description.
fn schemas(part: &Value, names: &mut Vec<String>) {
    match part {
        Value::Object(fields) => {
            let name = fields.get("$ref").and_then(Value::as_str);
            names.extend(name.and_then(|name| name.rsplit('/').next()).map(String::from));
            fields.values().for_each(|part| schemas(part, names));
        }
        Value::Array(parts) => parts.iter().for_each(|part| schemas(part, names)),
        _ => {}
    }
}

#[track_caller]
fn assert_is_read(name: &str) {
    assert!(fuzz::READERS.iter().any(|reader| reader.name == name), "READERS lacks {name}");
}
