//! The figures that the literature prints, each counted again here.
//!
//! A command of the program reproduces a figure, so anybody can repeat it. `sources.json`
//! has the command. An exact figure agrees, differs for a given reason, or is an error. A measured
//! figure, such as the ratio of two times, depends on the machine, so it can only be compared.

use std::collections::HashMap;
use std::process::{Command, Stdio};

use crate::sources::{Figure, Source};
use anyhow::{Context, anyhow, bail, ensure};
use serde_json::{Value, json};

/// A figure and its value here.
#[derive(Debug)]
pub struct Line {
    /// The figure.
    pub figure: &'static Figure,
    ours: String,
    verdict: Verdict,
}

/// The result of comparing a value here with that of the source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    /// The values are equal, or within the factor of a measured figure.
    Agrees,
    /// An exact value differs as expected, and the figure has the reason.
    Explained,
    /// The values differ.
    Differs,
}

/// The header of the table.
pub const HEAD: &str =
    "figure                  the source's value    ours                  verdict";

impl Line {
    /// Whether the program or the machine is wrong.
    pub fn is_fault(&self) -> bool {
        self.verdict == Verdict::Differs && self.figure.within.is_none()
    }

    /// A line of the table, followed by the values if they are too long for their columns, and by
    /// the reason if there is one.
    pub fn row(&self) -> String {
        let Line { figure, ours, verdict } = self;
        let mut values = [said(figure), ours.clone()];
        let mut below = String::new();
        for value in values.iter_mut().filter(|value| value.len() > 20) {
            below = format!("{below}\n    {value}");
            *value = "below".into();
        }
        let ([says, ours], name, verdict) = (values, &figure.name, verdict.words());
        let why = self.reason().map_or_else(String::new, |why| format!("\n    {why}"));
        format!("{name:<22}  {says:<20}  {ours:<20}  {verdict}{below}{why}")
    }

    /// A JSON object. Values are strings, because some are placements and some exceed 2^53.
    pub fn json(&self) -> Value {
        let Line { figure, ours, verdict } = self;
        let Source { author, year, place, .. } = figure.source();
        json!({
            "figure": figure.name,
            "author": author,
            "year": year,
            "place": place,
            "claim": figure.claim,
            "command": format!("queens {}", figure.run),
            "source_value": said(figure),
            "ours": ours,
            "verdict": verdict.words(),
            "exact": figure.within.is_none(),
            "reason": self.reason(),
        })
    }

    /// The reason why the values differ, if they do and it is known.
    fn reason(&self) -> Option<&'static str> {
        let why = self.figure.why.as_deref();
        why.filter(|_| self.verdict != Verdict::Agrees)
    }
}

/// The value of the source.
fn said(figure: &Figure) -> String {
    format!("{}{}", if figure.at_most { "at most " } else { "" }, figure.says)
}

/// The subject of a figure: the part of its name before the slash.
pub fn subject(figure: &Figure) -> &str {
    figure.name.split('/').next().unwrap_or_default()
}

/// The number of figures with each verdict.
pub fn summary(lines: &[Line]) -> String {
    let having = |wanted: fn(&Line) -> bool| lines.iter().filter(|line| wanted(line)).count();
    let explained = having(|line| line.verdict == Verdict::Explained);
    let measured = having(|line| line.verdict == Verdict::Differs && !line.is_fault());
    format!(
        "{} figure{}: {} agree, {explained} differ for a known reason, {measured} that were measured differ, \
         {} contradict their source",
        lines.len(),
        if lines.len() == 1 { "" } else { "s" },
        having(|line| line.verdict == Verdict::Agrees),
        having(Line::is_fault),
    )
}

impl Verdict {
    fn of(figure: &Figure, ours: &str) -> Verdict {
        let both = ours.parse::<f64>().ok().zip(figure.says.parse::<f64>().ok());
        let agrees = match figure.within {
            None if figure.at_most => both.is_some_and(|(ours, says)| ours <= says),
            None => ours == figure.says,
            Some(factor) => {
                both.is_some_and(|(ours, says)| (says / factor..=says * factor).contains(&ours))
            }
        };
        match agrees {
            true => Verdict::Agrees,
            false if figure.ours.as_deref() == Some(ours) => Verdict::Explained,
            false => Verdict::Differs,
        }
    }

    fn words(self) -> &'static str {
        match self {
            Verdict::Agrees => "agrees",
            Verdict::Explained => "differs for a known reason",
            Verdict::Differs => "differs",
        }
    }
}

/// The output of commands. A command that several figures share runs once.
#[derive(Debug, Default)]
pub struct Outputs {
    by_command: HashMap<&'static str, String>,
}

impl Outputs {
    /// A figure with its value here. It fails if the command fails or prints no such value.
    pub fn line(&mut self, figure: &'static Figure) -> anyhow::Result<Line> {
        let command = figure.run.as_str();
        let over_command = figure.over_run.as_deref().unwrap_or(command);
        let output = self.output(command)?.to_owned();
        let over = figure.over.as_deref();
        let over =
            over.map(|pointer| Ok::<_, anyhow::Error>((self.output(over_command)?, pointer)));
        let ours = take(&output, &figure.take, over.transpose()?)
            .with_context(|| format!("the figure {} from `queens {command}`", figure.name))?;
        Ok(Line { figure, verdict: Verdict::of(figure, &ours), ours })
    }

    fn output(&mut self, command: &'static str) -> anyhow::Result<&str> {
        if !self.by_command.contains_key(command) {
            self.by_command.insert(command, run(command)?);
        }
        Ok(&self.by_command[command])
    }
}

/// Runs this program with these arguments. No option is taken from the environment, because a
/// figure must not depend on it.
pub(crate) fn run(words: &str) -> anyhow::Result<String> {
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

/// The value at `taken`, divided by the value at a pointer into another output if there is one.
fn take(output: &str, taken: &str, over: Option<(&str, &str)>) -> anyhow::Result<String> {
    match (taken, over) {
        ("text", None) => return Ok(output.trim().to_owned()),
        ("lines", None) => return Ok(output.lines().count().to_string()),
        _ => {}
    }
    if let Some(over) = over {
        let number = |(output, pointer)| -> anyhow::Result<f64> {
            Ok(text(&at(output, pointer)?)?.parse()?)
        };
        return Ok(format!("{:.2}", number((output, taken))? / number(over)?));
    }
    let mut pieces = taken.split(['{', '}']);
    let mut value = pieces.next().unwrap_or_default().to_owned();
    if value == taken {
        return text(&at(output, taken)?);
    }
    while let (Some(pointer), Some(after)) = (pieces.next(), pieces.next()) {
        value += &text(&at(output, pointer)?)?;
        value += after;
    }
    Ok(value)
}

/// The value at a JSON pointer into the list of lines.
fn at(output: &str, pointer: &str) -> anyhow::Result<Value> {
    let lines = output.lines().map(serde_json::from_str);
    let lines = Value::Array(lines.collect::<Result<_, _>>()?);
    lines.pointer(pointer).cloned().ok_or_else(|| anyhow!("nothing is at {pointer}"))
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
        let value = |taken, over: Option<_>| {
            take(output, taken, over.map(|over| (output, over))).expect("it is there")
        };
        assert_eq!(value("lines", None), "2");
        assert_eq!(value("/0/columns", None), "2 4 1 3");
        assert_eq!(value("/1/total", None), "92");
        assert_eq!(value("/0/nodes", Some("/1/nodes")), "0.75");
        // Some totals are strings, and another command may print the second value.
        assert_eq!(value("/1/total", Some("/1/nodes")), "23.00");
        let other = Some(("{\"tries\":2}", "/0/tries"));
        assert_eq!(take(output, "/0/nodes", other).expect("it is there"), "1.50");
        assert_eq!(value("(8^{/0/nodes})*{/1/total}", None), "(8^3)*92");
        assert_eq!(take(" a b \n", "text", None).expect("any text"), "a b");
        for (taken, over) in
            [("/2/nodes", None), ("/1", None), ("/1/total", Some("/0/columns")), ("{/2}", None)]
        {
            assert!(take(output, taken, over.map(|over| (output, over))).is_err(), "{taken}");
        }
    }

    #[test]
    fn a_figure_agrees_with_its_value_within_its_factor_or_below_its_bound() {
        let figure = |within: Option<f64>, at_most, ours: Option<&str>| Figure {
            name: "a/b".into(),
            source: "a book".into(),
            claim: "a number".into(),
            says: "4".into(),
            run: "count 8".into(),
            take: "text".into(),
            over: None,
            over_run: None,
            within,
            at_most,
            ours: ours.map(String::from),
            why: None,
            slow: false,
        };
        // Each figure has values that agree, that are explained, and that differ. The reason for 7
        // belongs to no other value.
        let cases = [
            (figure(None, false, None), "4", "", "4.0 7"),
            (figure(None, false, Some("7")), "4", "7", "8"),
            (figure(Some(1.5), false, None), "2.7 6", "", "2.6 6.1 NaN"),
            (figure(None, true, None), "1 4", "", "5 1e"),
        ];
        for (figure, agrees, explained, differs) in cases {
            let all = |values: &str, verdict| {
                let mut values = values.split(' ').filter(|value| !value.is_empty());
                assert!(values.all(|ours| Verdict::of(&figure, ours) == verdict), "{figure:?}");
            };
            all(agrees, Verdict::Agrees);
            all(explained, Verdict::Explained);
            all(differs, Verdict::Differs);
        }
    }
}
