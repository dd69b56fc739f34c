//! Runs the commands of figures, and extracts their values from the output.

use std::collections::HashMap;
use std::process::{Command, Stdio};

use anyhow::{Context, anyhow, bail, ensure};
use serde_json::Value;
use vectors::Figure;

/// The output of commands. A command that several figures share runs once.
#[derive(Debug, Default)]
pub struct Outputs {
    by_command: HashMap<&'static str, String>,
}

impl Outputs {
    /// The value of a figure here.
    ///
    /// # Errors
    ///
    /// The command fails, or does not print such a value.
    pub fn value(&mut self, figure: &'static Figure) -> anyhow::Result<String> {
        let command = figure.run.as_str();
        if !self.by_command.contains_key(command) {
            self.by_command.insert(command, run(command)?);
        }
        let output = &self.by_command[command];
        take(output, &figure.take, figure.over.as_deref())
            .with_context(|| format!("the figure {} from `queens {command}`", figure.name))
    }
}

/// Runs this program with these arguments. No option is taken from the environment, because a
/// figure must not depend on it.
fn run(words: &str) -> anyhow::Result<String> {
    let mut command = Command::new(std::env::current_exe()?);
    let names = std::env::vars_os().map(|(name, _)| name);
    names.filter(|name| name.to_string_lossy().starts_with("QUEENS_")).for_each(|name| {
        command.env_remove(name);
    });
    let output = command.args(words.split_whitespace()).stdin(Stdio::null()).output()?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "`queens {words}` failed: {}", said.trim());
    Ok(String::from_utf8(output.stdout)?)
}

/// The value at `taken`, divided by the value at `over` if there is one.
fn take(output: &str, taken: &str, over: Option<&str>) -> anyhow::Result<String> {
    match (taken, over) {
        ("text", None) => Ok(output.trim().to_owned()),
        ("lines", None) => Ok(output.lines().count().to_string()),
        (taken, over) => {
            let lines = output.lines().map(serde_json::from_str);
            let lines = Value::Array(lines.collect::<Result<_, _>>()?);
            let at = |pointer: &str| {
                lines.pointer(pointer).ok_or_else(|| anyhow!("nothing is at {pointer}"))
            };
            let Some(over) = over else { return text(at(taken)?) };
            let number = |pointer| at(pointer)?.as_f64().context("it is no number");
            Ok(format!("{:.2}", number(taken)? / number(over)?))
        }
    }
}

fn text(value: &Value) -> anyhow::Result<String> {
    match value {
        Value::String(text) => Ok(text.clone()),
        Value::Number(number) => Ok(number.to_string()),
        Value::Array(values) => {
            Ok(values.iter().map(text).collect::<Result<Vec<String>, _>>()?.join(" "))
        }
        Value::Null | Value::Bool(_) | Value::Object(_) => bail!("{value} is no figure"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_taken_from_lines_of_json() {
        let output = "{\"nodes\":3,\"columns\":[2,4,1,3]}\n{\"nodes\":4,\"total\":\"92\"}\n";
        let value = |taken, over| take(output, taken, over).expect("it is there");
        assert_eq!(value("lines", None), "2");
        assert_eq!(value("/0/columns", None), "2 4 1 3");
        assert_eq!(value("/1/total", None), "92");
        assert_eq!(value("/0/nodes", Some("/1/nodes")), "0.75");
        assert_eq!(take(" a b \n", "text", None).expect("any text"), "a b");
        for (taken, over) in
            [("/2/nodes", None), ("/1", None), ("/1/total", Some("/1/nodes")), ("text", Some("/0"))]
        {
            assert!(take(output, taken, over).is_err(), "{taken}");
        }
    }
}
