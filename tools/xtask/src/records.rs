//! `cargo xtask records`: docs/RECORDS.md, from the bundles and plans in docs/records.
//!
//! ```text
//!   docs/records/q20.bundle.gz    a bundle; `queens verify` says what is in it, and counts some of it again
//!   docs/records/plan-28.json      what `queens plan 28 --json` has printed
//! ```
//!
//! Nothing on the page is typed by hand: `--check`, which CI runs, fails if it differs from what the files say.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use serde::Deserialize;

use crate::{Step, cargo};

const FOLDER: &str = "docs/records";
const PAGE: &str = "docs/RECORDS.md";
/// What stands on the page around its tables.
const TEXT: &str = include_str!("records.md");
/// Bytes that a range and its second count take in a compressed bundle: twice the figure of `cargo xtask bench bundle`
/// in docs/benchmarks/README.md.
const BYTES_OF_A_RANGE: f64 = 2.0 * 38.4;
const SECONDS_A_DAY: f64 = 86_400.0;

/// Writes the page, or with `check` only compares it.
pub(crate) fn run(check: bool) -> Result<(), u8> {
    let page = page().map_err(|reason| {
        eprintln!("cargo xtask records: {reason}");
        1
    })?;
    let written = fs::read_to_string(PAGE).unwrap_or_default();
    if written == page {
        return Ok(());
    }
    if check {
        eprintln!("{PAGE} is not what {FOLDER} says; `cargo xtask records` writes it");
        return Err(1);
    }
    fs::write(PAGE, page).map_err(|error| {
        eprintln!("cannot write {PAGE}: {error}");
        1
    })
}

fn page() -> Result<String, String> {
    let (mut counts, mut plans) = (Vec::new(), Vec::new());
    let files = fs::read_dir(FOLDER).map_err(|error| format!("{FOLDER}: {error}"))?;
    for file in files {
        let path = file.map_err(|error| error.to_string())?.path();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if name.ends_with(".bundle.gz") {
            counts.push((verified(&path)?, path));
        } else if name.starts_with("plan-") {
            let text = fs::read(&path).map_err(|error| format!("{}: {error}", path.display()))?;
            plans.push(read::<Planned>(&text, &path)?);
        } else {
            return Err(format!("{} is neither a bundle nor a plan", path.display()));
        }
    }
    counts.sort_by_key(|(count, _)| count.n);
    plans.sort_by_key(|plan| plan.n);
    let rows = |rows: Vec<String>| rows.join("\n");
    let page = TEXT
        .replace("{counts}", &rows(counts.iter().map(|(count, _)| count.row()).collect()))
        .replace("{names}", &rows(counts.iter().map(|(count, path)| count.name(path)).collect()))
        .replace("{counted on}", &machines(counts.iter().flat_map(|(count, _)| &count.builds)))
        .replace("{plans}", &rows(plans.iter().map(Planned::row).collect()))
        .replace("{planned on}", &machines(plans.iter().map(|plan| &plan.build)));
    Ok(page)
}

/// What `queens verify --json` says of a bundle, as far as the page has it.
#[derive(Deserialize)]
struct Verified {
    n: u32,
    /// A decimal string; none if the job is not done or the problem has another sum.
    total: Option<String>,
    method: String,
    machines: u64,
    confirmed_by_machine: Amount,
    thread_seconds: f64,
    thread_seconds_of_second_counts: f64,
    builds: Vec<String>,
    bundle: String,
}

#[derive(Deserialize)]
struct Amount {
    /// A decimal string.
    count: String,
}

impl Verified {
    fn total(&self) -> &str {
        self.total.as_deref().unwrap_or("none")
    }

    fn row(&self) -> String {
        let share = match self.confirmed_by_machine.count == self.total() {
            true => "all".into(),
            false => {
                let number = |text: &str| text.parse::<f64>().unwrap_or(f64::NAN);
                let share = number(&self.confirmed_by_machine.count) / number(self.total());
                format!("{:.1}%", 100.0 * share)
            }
        };
        format!(
            "| {} | {} | {} | {} | {} | {} | {share} |",
            self.n,
            grouped(self.total()),
            self.method,
            self.machines,
            time(self.thread_seconds),
            time(self.thread_seconds_of_second_counts),
        )
    }

    fn name(&self, path: &Path) -> String {
        let name = path.strip_prefix("docs").unwrap_or(path).display();
        let Verified { n, bundle, .. } = self;
        format!("| {n} | [{name}]({name}) | `{bundle}` |")
    }
}

/// What `queens plan --json` says, as far as the page has it. Errors are for 95% confidence.
#[derive(Deserialize)]
struct Planned {
    n: u32,
    tasks: u64,
    thread_memory_bytes: u64,
    /// Decimal strings.
    estimate: String,
    estimate_error: String,
    core_seconds: f64,
    core_seconds_error: f64,
    longest_task_seconds: f64,
    tasks_counted: u64,
    backend: String,
    build: String,
}

impl Planned {
    fn row(&self) -> String {
        let number = |text: &str| text.parse::<f64>().unwrap_or(f64::NAN);
        let (total, error) = (number(&self.estimate), number(&self.estimate_error));
        let Planned { n, tasks, core_seconds, core_seconds_error, .. } = *self;
        let days = core_seconds / SECONDS_A_DAY;
        let days = if days < 100.0 { format!("{days:.3}") } else { grouped(&format!("{days:.0}")) };
        format!(
            "| {n} | {total:.3e} ± {:.1}% | {} | {days} ± {:.0}% | {:.1} s | {:.1} GiB | {:.2} GB | {} | {} |",
            100.0 * error / total,
            grouped(&tasks.to_string()),
            100.0 * core_seconds_error / core_seconds,
            self.longest_task_seconds,
            self.thread_memory_bytes as f64 / f64::from(1 << 30),
            tasks as f64 * BYTES_OF_A_RANGE / 1e9,
            self.tasks_counted,
            self.backend,
        )
    }
}

/// Checks a bundle; what is drawn is always the same.
fn verified(bundle: &PathBuf) -> Result<Verified, String> {
    // Without --package, what `cargo build --release` has built is used again.
    let words = ["--quiet", "--release", "--", "verify"];
    let effort = ["--json", "--seed", "1", "--sample", "20", "--seconds", "5"];
    let Step(mut verify) = cargo("run").args(words).args(effort).args([bundle]);
    let output = verify.stderr(Stdio::inherit()).output();
    let output = output.map_err(|error| format!("cannot start cargo: {error}"))?;
    if !output.status.success() {
        return Err(format!("{} does not hold", bundle.display()));
    }
    read(&output.stdout, bundle)
}

fn read<'a, T: Deserialize<'a>>(json: &'a [u8], path: &Path) -> Result<T, String> {
    serde_json::from_slice(json).map_err(|error| format!("{}: {error}", path.display()))
}

/// The processors in these builds, each once. A build is version, commit, compiler, target, processor and more, between
/// slashes.
fn machines<'a>(builds: impl Iterator<Item = &'a String>) -> String {
    let processor = |build: &'a String| {
        let mut parts = build.split('/');
        let version = parts.next().unwrap_or_default();
        let commit = parts.next().unwrap_or_default();
        let processor = parts.nth(2).unwrap_or(build);
        format!("{} (version {version}, commit {commit})", processor.replace('-', " "))
    };
    builds.map(processor).collect::<BTreeSet<_>>().into_iter().collect::<Vec<_>>().join("; ")
}

/// A decimal number with commas between groups of three digits.
fn grouped(digits: &str) -> String {
    if !digits.bytes().all(|digit| digit.is_ascii_digit()) {
        return digits.into();
    }
    let groups = digits.as_bytes().rchunks(3).rev();
    let groups: Vec<_> = groups.map(|group| String::from_utf8_lossy(group)).collect();
    groups.join(",")
}

/// Seconds in the unit that suits them.
fn time(seconds: f64) -> String {
    match seconds {
        ..100.0 => format!("{seconds:.1} s"),
        ..6_000.0 => format!("{:.1} min", seconds / 60.0),
        _ => format!("{:.1} h", seconds / 3_600.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_for_people() {
        let groups = ["7", "352", "14200", "14772512", "none"].map(grouped);
        assert_eq!(groups, ["7", "352", "14,200", "14,772,512", "none"]);
        assert_eq!(
            [0.04, 99.0, 600.0, 7_200.0].map(time),
            ["0.0 s", "99.0 s", "10.0 min", "2.0 h"]
        );
    }

    #[test]
    fn machines_are_told_once_with_the_program() {
        let build = |commit| format!("0.1.0/{commit}/rustc-1.95.0/t/AMD-EPYC/0xa1/ecc");
        let builds = [build("b"), build("a"), build("b")];
        let text = machines(builds.iter());
        assert_eq!(text, "AMD EPYC (version 0.1.0, commit a); AMD EPYC (version 0.1.0, commit b)");
    }
}
