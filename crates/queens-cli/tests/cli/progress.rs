//! Tests of progress without a terminal.

use crate::support::process::{Process, queens};

#[test]
#[ignore = "waits for half a minute: CI runs it"]
fn progress_is_a_line_of_the_log_in_the_log_s_format() {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let said = |format: &str, args: &str| {
        let log = folder.path().join(format);
        let mut command =
            queens(&["count", "26", "--method", "rows", "--threads", "1", "--log-format", format]);
        let mut counting = Process::start(&mut command, log);
        counting.wait_for_line(args);
        let said = counting.said();
        counting.kill();
        said
    };
    let lines = said("json", r#""target":"progress""#);
    for line in lines.lines() {
        let event = crate::object(line);
        let message = event["message"].as_str().expect("it says something");
        assert!(message.starts_with("N=26  0.0%"), "{lines}");
    }
    let lines = said("text", "N=26  0.0%");
    assert!(lines.contains(" INFO N=26  0.0%"), "{lines}");
}
