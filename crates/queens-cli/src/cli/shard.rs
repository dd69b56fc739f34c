//! `--shard`: the part of a plan that this process counts, given by number or read from a cluster's scheduler.

use std::path::{Path, PathBuf};
use std::str::FromStr;

use anyhow::Context;
use farm::{NoSlice, Slice};

use crate::failure::Failure;
use crate::os::split;

/// The placeholder for the part in the name of a file.
const PLACE: &str = "{shard}";

/// A part of a plan on the command line: `3/64`, `auto` or `auto/64`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shard {
    /// The part itself.
    Part(Slice),
    /// The part that belongs to this task of a scheduler's array. The number of parts is that of the tasks
    /// unless it is given.
    Auto { parts: Option<u32> },
}

/// The environment variables in which a scheduler reports the task of an array.
struct Scheduler {
    name: &'static str,
    /// The task's number; the first of these that is set.
    index: &'static [&'static str],
    /// The value that says that there is no array, besides an empty one.
    none: &'static str,
    /// The number of the array's first task.
    first: First,
    /// The number of its last task, if the scheduler reports it.
    last: Option<&'static str>,
    /// The difference between numbers, where it need not be 1.
    step: Option<&'static str>,
    /// The number of tasks, if the scheduler reports it.
    count: Option<&'static str>,
}

enum First {
    Always(u32),
    Variable(&'static str),
}

const SCHEDULERS: [Scheduler; 7] = [
    Scheduler {
        name: "Slurm",
        index: &["SLURM_ARRAY_TASK_ID"],
        none: "",
        first: First::Variable("SLURM_ARRAY_TASK_MIN"),
        last: Some("SLURM_ARRAY_TASK_MAX"),
        step: Some("SLURM_ARRAY_TASK_STEP"),
        count: Some("SLURM_ARRAY_TASK_COUNT"),
    },
    Scheduler {
        name: "PBS",
        index: &["PBS_ARRAY_INDEX", "PBS_ARRAYID"],
        none: "",
        first: First::Always(1),
        last: None,
        step: None,
        count: None,
    },
    Scheduler {
        name: "LSF",
        index: &["LSB_JOBINDEX"],
        none: "0",
        first: First::Always(1),
        last: Some("LSB_JOBINDEX_END"),
        step: Some("LSB_JOBINDEX_STEP"),
        count: None,
    },
    Scheduler {
        name: "Grid Engine",
        index: &["SGE_TASK_ID"],
        none: "undefined",
        first: First::Variable("SGE_TASK_FIRST"),
        last: Some("SGE_TASK_LAST"),
        step: Some("SGE_TASK_STEPSIZE"),
        count: None,
    },
    Scheduler {
        name: "Kubernetes",
        index: &["JOB_COMPLETION_INDEX"],
        none: "",
        first: First::Always(0),
        last: None,
        step: None,
        count: None,
    },
    // HyperQueue's arrays are numbered as they are submitted; the documented ones begin at 1.
    Scheduler {
        name: "HyperQueue",
        index: &["HQ_TASK_ID"],
        none: "",
        first: First::Always(1),
        last: None,
        step: None,
        count: None,
    },
    // HTCondor sets no variable by itself: the submit file sets this one from $(Process).
    Scheduler {
        name: "HTCondor",
        index: &["CONDOR_PROCESS"],
        none: "",
        first: First::Always(0),
        last: None,
        step: None,
        count: None,
    },
];

impl FromStr for Shard {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> anyhow::Result<Shard> {
        if text == "auto" {
            return Ok(Shard::Auto { parts: None });
        }
        let shard = match text.strip_prefix("auto/") {
            None => text.parse().ok().map(Shard::Part),
            Some(parts) => {
                let parts = parts.parse().ok().filter(|&parts| Slice::new(1, parts).is_ok());
                parts.map(|parts| Shard::Auto { parts: Some(parts) })
            }
        };
        shard.with_context(|| {
            format!(
                "{NoSlice}; `auto` and `auto/PARTS` take INDEX from the array task that a scheduler has started"
            )
        })
    }
}

impl Shard {
    /// The part, where `variable` reads the environment.
    ///
    /// # Errors
    ///
    /// [`Failure::Usage`], if the part does not follow from the environment.
    pub(super) fn slice(self, variable: impl Fn(&str) -> Option<String>) -> Result<Slice, Failure> {
        match self {
            Shard::Part(slice) => Ok(slice),
            Shard::Auto { parts } => {
                let (scheduler, index) = scheduler(&variable)?;
                match parts {
                    Some(parts) => scheduler.one_of(parts, index, &variable),
                    None => scheduler.one_of_all(index, &variable),
                }
            }
        }
    }
}

/// The scheduler that has started this process, and the number of this task.
fn scheduler(
    variable: &impl Fn(&str) -> Option<String>,
) -> Result<(&'static Scheduler, Number), Failure> {
    let found = SCHEDULERS.iter().filter_map(|scheduler| {
        let is_set = |name: &&&str| {
            variable(name).is_some_and(|value| !value.is_empty() && value != scheduler.none)
        };
        scheduler.index.iter().find(is_set).map(|name| (scheduler, *name))
    });
    let found: Vec<(&Scheduler, &str)> = found.collect();
    match found.as_slice() {
        &[(scheduler, name)] => Ok((scheduler, Number::read(name, variable)?)),
        [] => {
            let names = SCHEDULERS.iter().flat_map(|scheduler| scheduler.index);
            let names: Vec<&str> = names.copied().collect();
            Err(Failure::Usage(format!(
                "--shard auto needs a task of an array, and none of {} is set: give --shard INDEX/PARTS",
                names.join(", ")
            )))
        }
        [(one, here), (another, there), ..] => Err(Failure::Usage(format!(
            "--shard auto finds tasks of two arrays, {} ({here}) and {} ({there}): give --shard INDEX/PARTS",
            one.name, another.name
        ))),
    }
}

/// A number and the variable that it comes from.
#[derive(Clone, Copy)]
struct Number {
    name: &'static str,
    value: u32,
}

impl Number {
    fn read(
        name: &'static str,
        variable: impl Fn(&str) -> Option<String>,
    ) -> Result<Number, Failure> {
        let text = variable(name).unwrap_or_default();
        let value = text.trim().parse().map_err(|_| {
            Failure::Usage(format!(
                "--shard auto cannot read the number in {name}={text}: give --shard INDEX/PARTS"
            ))
        })?;
        Ok(Number { name, value })
    }
}

impl Scheduler {
    /// The number of the array's first task.
    fn first(&self, variable: impl Fn(&str) -> Option<String>) -> Result<u32, Failure> {
        match self.first {
            First::Always(first) => Ok(first),
            First::Variable(name) => Number::read(name, variable).map(|first| first.value),
        }
    }

    /// The part of this task, if there are `parts` of them. The array may be a piece of the one that has all
    /// parts, so its tasks are numbered from 1, or from 0 where the array begins at 0.
    fn one_of(
        &self,
        parts: u32,
        index: Number,
        variable: impl Fn(&str) -> Option<String>,
    ) -> Result<Slice, Failure> {
        let first = self.first(variable)?.min(1);
        let slice = index.value.checked_sub(first).and_then(|before| {
            let number = before.checked_add(1)?;
            Slice::new(number, parts).ok()
        });
        slice.ok_or_else(|| {
            let Number { name, value } = index;
            Failure::Usage(format!(
                "{name}={value} is none of {parts} parts: number the tasks of the array from {first} to {}",
                parts - 1 + first
            ))
        })
    }

    /// The part of this task, if the array has a task for each part.
    fn one_of_all(
        &self,
        index: Number,
        variable: impl Fn(&str) -> Option<String>,
    ) -> Result<Slice, Failure> {
        let give = "give the number of all parts, --shard auto/PARTS";
        let name = self.name;
        let Some(last) = self.last else {
            return Err(Failure::Usage(format!(
                "{name} does not report how many tasks the array has: {give}"
            )));
        };
        let first = self.first(&variable)?;
        let last = Number::read(last, &variable)?.value;
        let step = self.step.filter(|step| variable(step).is_some());
        let step = step.map_or(Ok(1), |step| Number::read(step, &variable).map(|it| it.value))?;
        let count = self.count.filter(|count| variable(count).is_some());
        let count = count.map(|count| Number::read(count, &variable)).transpose()?;
        let tasks_up_to = |task: u32| task.checked_sub(first)?.checked_div(step)?.checked_add(1);
        let number = tasks_up_to(index.value);
        let number = number.filter(|number| first + (number - 1) * step == index.value);
        let is_whole = |&all: &u32| first <= 1 && count.is_none_or(|count| count.value == all);
        let all = tasks_up_to(last).filter(is_whole);
        let slice = number.zip(all).and_then(|(number, all)| Slice::new(number, all).ok());
        slice.ok_or_else(|| {
            Failure::Usage(format!(
                "the array of {name} that {}={} belongs to is not numbered from 0 or 1 without gaps, so that it \
                 may be a piece of a larger one: {give}",
                index.name, index.value
            ))
        })
    }
}

/// The path with the part in place of `{shard}`, as `3-of-64`.
///
/// # Errors
///
/// [`Failure::Usage`], if the path wants a part and there is none.
pub(super) fn with_shard(path: &Path, slice: Option<Slice>) -> Result<PathBuf, Failure> {
    let mut pieces = split(path, PLACE).into_iter();
    let mut named = pieces.next().unwrap_or_default();
    for piece in pieces {
        let slice = slice.ok_or_else(|| {
            Failure::Usage(format!(
                "{} has a place for the part, but no part was given: give --shard",
                path.display()
            ))
        })?;
        named.push(format!("{}-of-{}", slice.index(), slice.of()));
        named.push(piece);
    }
    Ok(named.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    type Variables<'a> = &'a [(&'a str, &'a str)];

    fn auto(shard: &str, variables: Variables<'_>) -> Result<String, String> {
        let variable = |wanted: &str| {
            let found = variables.iter().find(|(name, _)| *name == wanted);
            found.map(|(_, value)| value.to_string())
        };
        let shard: Shard = shard.parse().expect("it is one");
        shard.slice(variable).map(|slice| slice.to_string()).map_err(|error| error.to_string())
    }

    fn slurm(id: &'static str, array: [&'static str; 4]) -> [(&'static str, &'static str); 5] {
        let [min, max, step, count] = array;
        [
            ("SLURM_ARRAY_TASK_ID", id),
            ("SLURM_ARRAY_TASK_MIN", min),
            ("SLURM_ARRAY_TASK_MAX", max),
            ("SLURM_ARRAY_TASK_STEP", step),
            ("SLURM_ARRAY_TASK_COUNT", count),
        ]
    }

    #[test]
    fn each_scheduler_reports_the_part() {
        let cases: [(&str, &str, Variables<'_>); 10] = [
            ("auto", "3/64", &slurm("3", ["1", "64", "1", "64"])),
            ("auto", "4/64", &slurm("3", ["0", "63", "1", "64"])),
            ("auto", "2/6", &slurm("5", ["1", "22", "4", "6"])),
            ("auto/64", "3/64", &[("PBS_ARRAY_INDEX", "3")]),
            ("auto/64", "3/64", &[("PBS_ARRAYID", "3")]),
            ("auto", "3/64", &[("LSB_JOBINDEX", "3"), ("LSB_JOBINDEX_END", "64")]),
            (
                "auto",
                "5/8",
                &[
                    ("SGE_TASK_ID", "9"),
                    ("SGE_TASK_FIRST", "1"),
                    ("SGE_TASK_LAST", "16"),
                    ("SGE_TASK_STEPSIZE", "2"),
                ],
            ),
            ("auto/64", "4/64", &[("JOB_COMPLETION_INDEX", "3")]),
            ("auto/64", "64/64", &[("CONDOR_PROCESS", "63")]),
            ("auto/64", "3/64", &[("HQ_TASK_ID", "3")]),
        ];
        for (shard, part, variables) in cases {
            assert_eq!(auto(shard, variables).as_deref(), Ok(part), "{variables:?}");
        }
    }

    #[test]
    fn a_task_that_runs_again_in_an_array_of_its_own_says_how_many_parts_there_are() {
        let alone = slurm("7", ["7", "7", "1", "1"]);
        let with_gaps = slurm("7", ["1", "9", "1", "3"]);
        for array in [alone, with_gaps] {
            let refused = auto("auto", &array).expect_err("it is a piece");
            assert!(refused.contains("--shard auto/PARTS"), "{refused}");
            assert_eq!(auto("auto/64", &array).as_deref(), Ok("7/64"));
        }
        let first = slurm("7", ["0", "7", "1", "8"]);
        assert_eq!(auto("auto/64", &first).as_deref(), Ok("8/64"));
    }

    #[test]
    fn what_is_not_known_is_not_guessed() {
        let refusals: [(&str, Variables<'_>, &str); 9] = [
            ("auto", &[], "SLURM_ARRAY_TASK_ID, PBS_ARRAY_INDEX"),
            ("auto", &[("LSB_JOBINDEX", "0"), ("SGE_TASK_ID", "undefined")], "is set"),
            ("auto", &[("JOB_COMPLETION_INDEX", "3")], "--shard auto/PARTS"),
            ("auto", &[("PBS_ARRAY_INDEX", "3")], "PBS does not report"),
            ("auto/64", &[("PBS_ARRAY_INDEX", "3"), ("JOB_COMPLETION_INDEX", "3")], "two arrays"),
            ("auto/64", &[("PBS_ARRAY_INDEX", "0")], "from 1 to 64"),
            ("auto/64", &[("PBS_ARRAY_INDEX", "65")], "from 1 to 64"),
            ("auto/64", &[("JOB_COMPLETION_INDEX", "64")], "from 0 to 63"),
            ("auto/64", &[("PBS_ARRAY_INDEX", "three")], "PBS_ARRAY_INDEX=three"),
        ];
        for (shard, variables, reason) in refusals {
            let refused = auto(shard, variables).expect_err("it is not known");
            assert!(refused.contains(reason), "{refused}");
        }
        for wrong in ["auto/", "auto/0", "automatic", "auto/x", "3", "auto/1048577"] {
            assert!(wrong.parse::<Shard>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn the_part_stands_in_the_names_of_files() {
        let slice = Slice::new(3, 64).ok();
        let named = |path: &str, slice| with_shard(Path::new(path), slice);
        let path = named("parts/{shard}.db", slice).expect("there is a part");
        assert_eq!(path, Path::new("parts/3-of-64.db"));
        assert_eq!(named("q.db", slice).expect("it needs none"), Path::new("q.db"));
        let path = named("{shard}/{shard}.db", slice).expect("there is a part");
        assert_eq!(path, Path::new("3-of-64/3-of-64.db"));
        #[cfg(unix)]
        {
            use std::ffi::OsStr;
            use std::os::unix::ffi::OsStrExt;
            let latin = |name: &'static [u8]| Path::new(OsStr::from_bytes(name));
            let path = with_shard(latin(b"Z\xfcrich-{shard}.db"), slice).expect("there is a part");
            assert_eq!(path, latin(b"Z\xfcrich-3-of-64.db"));
            assert!(with_shard(latin(b"\xff{shard}"), None).is_err());
        }
        let refused = named("{shard}.db", None).expect_err("there is none");
        assert!(refused.to_string().contains("--shard"), "{refused}");
    }
}
