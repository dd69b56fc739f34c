//! Runs the commands of the documentation, each page from top to bottom, as a reader would.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use crate::support::Farm;
use crate::support::process::{Outcome, Process, run, without_settings};

/// A page and how its commands are run.
struct Page {
    name: &'static str,
    /// Replacements for parts of commands, so that they take less time or do not change this
    /// machine.
    instead: &'static [(&'static str, &'static str)],
    /// The beginnings of commands that are not run here, each with the test that runs it.
    elsewhere: &'static [(&'static str, &'static str)],
}

/// Pages whose commands are all run by other tests.
const TESTED_ELSEWHERE: [(&str, &str); 3] = [
    ("README.md", ".ci/run begins with the first two; docs/FARM.md has those of a farm"),
    (
        "docs/MEASURING.md",
        "its commands measure for minutes; the tests of the tools run them briefly",
    ),
    ("docs/CLUSTER.md", "tools/platforms/tests/slurm.rs follows the page on a cluster"),
];

const PAGES: [Page; 11] = [
    Page { name: "docs/API.md", instead: &[], elsewhere: &[] },
    Page {
        name: "docs/COLOURS.md",
        instead: &[("placements.py 20 28", "placements.py 8 10")],
        elsewhere: &[],
    },
    Page {
        name: "docs/COUNTING.md",
        instead: &[
            ("count 18", "count 12"),
            ("count 20", "count 12"),
            ("count 16", "count 10"),
            ("count 17", "count 13"),
            ("count 14", "count 10"),
            ("a4,e10,h1", "a4,e10"),
            ("count 24 --given a1,f9,l17,p6", "count 12 --given a1,f9"),
            ("count 22", "count 11"),
            ("plan 24", "plan 12"),
            ("plan 26", "plan 12"),
            ("--n 24 --threads 64", "--n 10 --threads 2"),
        ],
        elsewhere: &[
            ("queens count 100 --board FILE", "cli/placements.rs"),
            (
                "queens count 22 --shard auto/64",
                "cli/shards.rs, in the environments of batch systems",
            ),
        ],
    },
    Page {
        name: "docs/CHECKING.md",
        instead: &[
            ("submit 20", "submit 11 --method colours"),
            // With one seed in 3,000, a sound bundle is too far away from its estimate.
            ("verify q20.bundle  ", "verify q20.bundle --seed 1 "),
            ("--seconds 600", "--seconds 5 --seed 1"),
            ("2000", "300 --seed 1"),
            ("verify q20.bundle --backend", "verify q20.bundle --seed 1 --backend"),
        ],
        elsewhere: &[
            ("minisign", "it asks for the password of a key"),
            ("ssh-keygen", "it needs the key of whoever publishes"),
        ],
    },
    Page {
        name: "docs/FARM.md",
        instead: &[
            ("submit 17", "submit 10"),
            ("--wait-for-workers 4", "--wait-for-workers 1"),
            // The environment has the farm's address, which differs from the one in the join file.
            ("queens worker --join-file", "unset QUEENS_COORDINATOR; queens worker --join-file"),
        ],
        elsewhere: &[
            ("scp ", "it needs a second machine"),
            ("queens coordinator --listen 0.0.0.0", "cli/tls.rs"),
            ("queens worker --join-file join", "cli/tls.rs"),
            ("queens submit 17 --wait --join-file join", "cli/tls.rs"),
            ("queens token", "cli/access.rs"),
            ("queens workers --join-file", "cli/access.rs"),
            ("queens workers drain", "cli/owners.rs"),
        ],
    },
    Page { name: "docs/FROM-MCSHARP.md", instead: &[("submit 14", "submit 10")], elsewhere: &[] },
    Page {
        name: "docs/GPU.md",
        instead: &[("plan 24", "plan 12")],
        elsewhere: &[
            ("queens bench --backend gpu", "tools/gpu/measure.sh, on a card"),
            ("queens count 22 --backend gpu", "tools/gpu/measure.sh, on a card"),
            ("queens worker --backend gpu", "it needs a card, and goes on for ever"),
            ("tools/gpu/measure.sh", "it needs a card"),
        ],
    },
    Page {
        name: "docs/LITERATURE.md",
        instead: &[
            ("compare 8..14", "compare 5..6"),
            ("compare 12", "compare 7"),
            ("compare 4..16", "compare 4..7"),
            ("--times", "--times --quick"),
        ],
        elsewhere: &[("queens reproduce   ", "cli/literature.rs; all figures take minutes")],
    },
    Page {
        name: "docs/OPERATIONS.md",
        instead: &[],
        elsewhere: &[
            ("queens coordinator --ledger /shared", "cli/following.rs; it goes on for ever"),
            ("litestream", "cli/backups.rs"),
        ],
    },
    Page {
        name: "docs/PLACEMENTS.md",
        instead: &[
            ("solve 100000000", "solve 10000"),
            ("solve 100000 --random", "solve 1000 --random"),
            ("50000", "500"),
        ],
        elsewhere: &[],
    },
    Page {
        name: "docs/RECORDS.md",
        instead: &[("q20.bundle.gz", "q18.bundle.gz --sample 20 --seed 1")],
        elsewhere: &[(
            "queens verify docs/records/q20.bundle.gz --all",
            "cli/trust.rs, on a small board",
        )],
    },
];

/// The beginning of a script whose lines run at the same time. All of them end with the script. A
/// reader waits until the coordinator serves or has written its join string.
const BESIDE_EACH_OTHER: &str = "
    trap 'code=$?; kill $(jobs -p); wait; exit $code' EXIT
    serves() { until queens jobs --health >health 2>&1 || [ -e farm.join ]; do sleep 0.1; done; }
";

/// The folder in which the commands of a page are run, and a farm that they may use.
struct Reader {
    folder: TempDir,
    farm: Farm,
    running: Vec<Process>,
}

impl Reader {
    fn new() -> Reader {
        let folder = tempfile::tempdir().expect("a temporary directory");
        let within = |name: &str| folder.path().join(name);
        fs::create_dir(within("bin")).expect("folders can be made");
        symlink(env!("CARGO_BIN_EXE_queens"), within("bin/queens")).expect("links can be made");
        for name in ["docs", "tools", "verify"] {
            symlink(root().join(name), within(name)).expect("links can be made");
        }
        let board = ["........\n".repeat(4), "....Q...\n".into(), "........\n".repeat(3)];
        fs::write(within("FILE"), board.concat()).expect("files can be written");
        fs::write(within("answers"), "2 4 1 3\n3 1 4 2\n").expect("files can be written");
        let farm = Farm::new("", "").with_ledger(within("farm.db"));
        Reader { folder, farm, running: Vec::new() }
    }

    /// Starts the farm with two machines that have different kernels. If the page begins with
    /// finished jobs, nine small jobs are counted first.
    fn begin(&mut self, page: &str) {
        match page {
            "docs/CHECKING.md" => {
                self.running.push(self.farm.start_coordinator());
                self.running.push(self.farm.start_worker());
                self.running.push(self.farm.start_worker_with("--backend reference"));
            }
            "docs/API.md" => {
                self.running.push(self.farm.start_coordinator());
                self.running.push(self.farm.start_worker());
            }
            "docs/OPERATIONS.md" => self.running.push(self.farm.start_coordinator()),
            "docs/FARM.md" => {
                self.running.push(self.farm.start_coordinator());
                self.running.push(self.farm.start_worker());
                for _ in 1..=9 {
                    self.farm.client(&["submit", "8", "--wait"]).success();
                }
            }
            _ => {}
        }
    }

    /// Runs a script.
    fn run(&self, script: &str) -> Outcome {
        let mut command = without_settings(Command::new("bash"), &["-c", script]);
        let path = std::env::var("PATH").expect("programs are found by it");
        command
            .current_dir(self.folder.path())
            .env("PATH", format!("{}:{path}", self.folder.path().join("bin").display()))
            .env("QUEENS_COORDINATOR", self.farm.url())
            .env("QUEENS_LISTEN", self.farm.address());
        run(&mut command)
    }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("it is there")
}

/// The lines of a page's blocks of commands, block by block.
fn blocks(page: &str) -> Vec<Vec<String>> {
    let text = fs::read_to_string(root().join(page)).expect("it is text");
    let blocks = text.split("```sh\n").skip(1).filter_map(|block| block.split("```").next());
    let has_command = |line: &&str| !line.trim().is_empty() && !line.trim_start().starts_with('#');
    blocks.map(|block| block.lines().filter(has_command).map(String::from).collect()).collect()
}

/// The comment of a command on the page.
fn comment(line: &str) -> &str {
    line.split_once(" # ").map_or("", |(_, comment)| comment.trim())
}

/// The output of a command according to its comment: a number or a placement at the beginning, or a
/// number at the end.
fn promised(comment: &str) -> Option<&str> {
    let is_number = |word: &str| !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit());
    let is_square = |word: &str| {
        word.len() == 2 && word.as_bytes()[0].is_ascii_lowercase() && is_number(&word[1..])
    };
    let clause = comment.split([',', ';', '…']).next().unwrap_or_default().trim();
    let first = clause.split(' ').next().unwrap_or_default();
    let last = comment.rsplit(' ').next().unwrap_or_default();
    match () {
        () if is_square(first) => Some(clause),
        () if is_number(first) => Some(first),
        () if is_number(last) && comment.contains(": ") => Some(last),
        () => None,
    }
}

/// The exit code of a command according to its comment, or 0.
fn exit_code(comment: &str) -> i32 {
    let code = comment.split_once("(exit code ").and_then(|(_, rest)| rest.split(')').next());
    code.map_or(0, |code| code.parse().expect("a code is a number"))
}

/// Follows a page, and asserts that each of its commands ends as the page says.
fn follow(name: &str) {
    let page = PAGES.iter().find(|page| page.name == name).expect("it is listed");
    let mut reader = Reader::new();
    reader.begin(page.name);
    for block in blocks(page.name) {
        let is_here =
            |line: &String| !page.elsewhere.iter().any(|(start, _)| line.starts_with(start));
        let smaller = |line: String| {
            let replaced = |line: String, (long, short): &(&str, &str)| line.replace(long, short);
            let smaller = page.instead.iter().fold(line.clone(), replaced);
            (line == smaller, smaller)
        };
        let lines: Vec<(bool, String)> = block.into_iter().filter(is_here).map(smaller).collect();
        let is_server =
            |line: &str| line.split(" #").next().is_some_and(|it| it.trim_end().ends_with('&'));
        let has_servers = lines.iter().any(|(_, line)| is_server(line));
        if has_servers {
            // These servers use the address of the farm.
            reader.running.drain(..).for_each(Process::stop);
            let script: Vec<&str> = lines.iter().map(|(_, line)| line.as_str()).collect();
            reader.run(&[BESIDE_EACH_OTHER, &script.join("\nserves\n")].concat()).success();
            reader.begin(page.name);
            continue;
        }
        for (as_written, line) in lines {
            let outcome = reader.run(&line);
            let said = format!("{}: {line}\n{}{}", page.name, outcome.stdout, outcome.stderr);
            let code = exit_code(comment(&line));
            assert_eq!(outcome.code, Some(code), "{said}");
            if let Some(promised) = promised(comment(&line)).filter(|_| as_written && code == 0) {
                let printed = [outcome.stdout, outcome.stderr].concat();
                assert!(printed.contains(promised), "{said}");
            }
        }
    }
}

/// Who pastes the lines of a farm gives the coordinator no time to start.
#[test]
fn the_farm_of_the_readme_works_if_its_lines_are_pasted() {
    const TURNS: usize = 20;
    let lines = blocks("README.md").into_iter().find(|lines| lines[0].contains("coordinator"));
    let lines = lines.expect("it starts a farm").join("\n").replace("submit 17", "submit 12");
    let paste = format!("trap 'kill $(jobs -p); wait' EXIT\n{lines}\n");
    for turn in 0..TURNS {
        let reader = Reader::new();
        let outcome = reader.run(&paste);
        assert!(outcome.stdout.ends_with("14200\n"), "turn {turn}: {outcome:?}");
    }
}

#[test]
fn results_are_checked_as_the_page_says() {
    follow("docs/CHECKING.md");
}

#[test]
fn a_farm_is_run_as_the_page_says() {
    follow("docs/FARM.md");
}

/// The variable names a Python that has the package `requests`.
#[test]
#[ignore = "it needs a Python with requests: .ci/run"]
fn a_job_is_submitted_and_followed_from_python_as_the_page_says() {
    let python = std::env::var("QUEENS_TEST_PYTHON").expect("QUEENS_TEST_PYTHON names a Python");
    let page = fs::read_to_string(root().join("docs/API.md")).expect("it is text");
    let script = page.split("```python\n").nth(1).and_then(|rest| rest.split("```").next());
    let script = script.expect("it has a block of Python");
    let mut reader = Reader::new();
    reader.begin("docs/API.md");
    fs::write(reader.folder.path().join("page.py"), script).expect("files can be written");
    assert_eq!(reader.run(&format!("{python} page.py")).success(), "14200\n");
}

#[test]
fn commands_of_other_pages_end_as_the_pages_say() {
    let pages = PAGES.map(|page| page.name).into_iter();
    pages.filter(|name| !["docs/CHECKING.md", "docs/FARM.md"].contains(name)).for_each(follow);
}

#[test]
fn every_page_with_commands_is_followed() {
    let docs = fs::read_dir(root().join("docs")).expect("there are pages");
    let pages = docs.map(|page| format!("docs/{}", page.expect("a page").file_name().display()));
    let pages = pages.filter(|page| page.ends_with(".md")).chain(["README.md".into()]);
    let with_commands: BTreeSet<String> = pages.filter(|page| !blocks(page).is_empty()).collect();
    let elsewhere = TESTED_ELSEWHERE.iter().map(|(page, _)| (*page).to_string());
    let followed = PAGES.iter().map(|page| page.name.to_string()).chain(elsewhere).collect();
    assert_eq!(with_commands, followed);
}

/// The pages that lead to the code name files by their ends, as in `cli/mod.rs`.
#[test]
fn every_source_file_that_a_page_names_is_there() {
    let mut sources = Vec::new();
    let mut folders = ["crates", "python/src", "tools"].map(|name| root().join(name)).to_vec();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("it is a folder") {
            let path = entry.expect("it is listed").path();
            if path.is_dir() { &mut folders } else { &mut sources }.push(path);
        }
    }
    for page in ["ARCHITECTURE.md", "CONTRIBUTING.md"] {
        let text = fs::read_to_string(root().join(page)).expect("it is text");
        let code = text.split('`').skip(1).step_by(2);
        for name in code.filter(|code| {
            [".rs", ".c"].iter().any(|end| code.ends_with(end)) && !code.contains([' ', '*', '<'])
        }) {
            assert!(sources.iter().any(|path| path.ends_with(name)), "{page} names {name}");
        }
    }
}
