//! Tests of progress without a terminal.

use crate::support::process::{Process, queens};

#[test]
#[ignore = "waits for half a minute: CI runs it"]
fn progress_is_a_line_of_the_log_in_the_log_s_format() {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let count = ["count", "26", "--method", "rows", "--threads", "1", "--log-format", "json"];
    let mut counting = Process::start(&mut queens(&count), folder.path().join("log"));

    counting.wait_for_line(r#""target":"progress""#);

    let lines = counting.said();
    for line in lines.lines() {
        let event = crate::object(line);
        let message = event["message"].as_str().expect("it says something");
        assert!(message.starts_with("N=26  0.0%"), "{lines}");
    }
}
