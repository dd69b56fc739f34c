//! Checks the text of the protocol, from which others write workers.

#[test]
fn the_text_names_the_version() {
    let text = include_str!("../../../../proto/queens/v1/farm.proto");
    let version = format!("This is version {} of the protocol.", wire::PROTOCOL);
    assert!(text.contains(&version), "farm.proto does not say: {version}");
}
