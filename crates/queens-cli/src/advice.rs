//! Completes the commands that messages advise: whoever typed where the coordinator is needs the
//! same options in the next command. What environment variables say holds for that one anyway.

use std::borrow::Cow;
use std::sync::OnceLock;

/// How this command reaches its coordinator.
pub(crate) struct Connection {
    /// The options that were typed for that, each with a blank before it.
    pub(crate) options: String,
    /// The names of all commands that take such options.
    pub(crate) commands: Vec<String>,
}

static CONNECTION: OnceLock<Connection> = OnceLock::new();

/// From now on, advised commands get the options of this connection.
pub(crate) fn complete_by(connection: Connection) {
    let _ = CONNECTION.set(connection);
}

/// The text with the options of the connection in each command that lacks them. Commands stand
/// between backquotes.
pub(crate) fn completed(text: &str) -> Cow<'_, str> {
    let connection = CONNECTION.get().filter(|connection| !connection.options.is_empty());
    connection.map_or(text.into(), |connection| connection.completed(text).into())
}

impl Connection {
    fn completed(&self, text: &str) -> String {
        const BEGINS: &str = "`queens ";
        let mut parts = text.split(BEGINS);
        let mut whole = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            let end = part.find('`').unwrap_or(0);
            let options = if self.is_lacking(&part[..end]) { &self.options } else { "" };
            whole.extend([BEGINS, &part[..end], options, &part[end..]]);
        }
        whole
    }

    fn is_lacking(&self, command: &str) -> bool {
        const OTHERS: [&str; 4] = ["--coordinator", "--join", "--join-file", "--from"];
        let name = command.split(' ').next().unwrap_or_default();
        self.commands.iter().any(|it| it == name)
            && !command.split(' ').any(|word| OTHERS.contains(&word))
    }
}

/// The words that were typed after the program's name. What is no text in them is shown as such.
pub(crate) fn typed() -> impl Iterator<Item = String> {
    std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned())
}

/// The text as one word of a shell.
pub(crate) fn quoted(text: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "-_./:@%+=,".contains(c);
    match !text.is_empty() && text.chars().all(is_plain) {
        true => text.into(),
        false => format!("'{}'", text.replace('\'', r"'\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_command_that_needs_an_address_and_has_none_gets_it() {
        let commands = ["jobs", "watch", "worker", "backup"].map(String::from).into();
        let connection = Connection { options: " --coordinator a:1".into(), commands };
        for (text, completed) in [
            ("no command", "no command"),
            ("", ""),
            ("`queens jobs`", "`queens jobs --coordinator a:1`"),
            (
                "say `queens watch 3 4`, or `queens jobs`.",
                "say `queens watch 3 4 --coordinator a:1`, or `queens jobs --coordinator a:1`.",
            ),
            ("`queens worker --join-file x`", "`queens worker --join-file x`"),
            ("`queens backup --from l.db COPY`", "`queens backup --from l.db COPY`"),
            ("`queens count 8`, `sqlite3`", "`queens count 8`, `sqlite3`"),
            ("`queens jobs without an end", "`queens jobs without an end"),
        ] {
            assert_eq!(connection.completed(text), completed);
        }
    }

    #[test]
    fn a_shell_reads_what_is_quoted_as_it_was() {
        for (text, expected) in
            [("http://a:1", "http://a:1"), ("", "''"), ("a b", "'a b'"), ("it's", r"'it'\''s'")]
        {
            assert_eq!(quoted(text), expected);
        }
    }
}
