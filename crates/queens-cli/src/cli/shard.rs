//! `--shard`: the shard of a plan that this process counts, given by its number or taken from the
//! scheduler of a cluster.

use std::path::{Path, PathBuf};
use std::str::FromStr;

use anyhow::Context;
use farm::{NoShard, Shard};

use crate::failure::{Failure, usage};
use crate::os::split;

/// The placeholder for the shard in the name of a file.
const PLACE: &str = "{shard}";

/// A shard of a plan on the command line: `3/64` or `auto/64`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ShardOption {
    /// The shard with this number.
    One(Shard),
    /// The shard that belongs to the task of a scheduler's array in which this process runs.
    Auto { shards: u32 },
}

/// How a scheduler says which task of an array a process runs in: the variable with the number of
/// the task, the value besides an empty one that means that there is no array, and the number of
/// the first task.
///
/// Slurm's arrays may also begin at 0, as a further variable says. Tasks of Flux have the numbers
/// that were submitted, and those of our documentation begin at 1. HTCondor sets no variable by
/// itself: the submit file sets this one from $(Process).
const SCHEDULERS: [(&str, &str, u32); 13] = [
    (SLURM, "", 1),
    ("PBS_ARRAY_INDEX", "", 1),
    ("PBS_ARRAYID", "", 1),
    ("LSB_JOBINDEX", "0", 1),
    ("SGE_TASK_ID", "undefined", 1),
    ("OAR_ARRAY_INDEX", "", 1),
    ("FLUX_JOB_CC", "", 1),
    ("CONDOR_PROCESS", "", 0),
    ("JOB_COMPLETION_INDEX", "", 0),
    ("NOMAD_ALLOC_INDEX", "", 0),
    ("AWS_BATCH_JOB_ARRAY_INDEX", "", 0),
    ("BATCH_TASK_INDEX", "", 0),
    ("CLOUD_RUN_TASK_INDEX", "", 0),
];
/// The same for what divides the work within a job of one of these: HyperQueue, whose command line
/// numbers tasks as they are submitted and in our documentation from 1, and GNU parallel. Their
/// tasks have precedence.
const WITHIN: [(&str, &str, u32); 2] = [("HQ_TASK_ID", "", 1), ("PARALLEL_SEQ", "", 1)];
const SLURM: &str = "SLURM_ARRAY_TASK_ID";

impl FromStr for ShardOption {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> anyhow::Result<ShardOption> {
        let shard = match text.strip_prefix("auto/") {
            None => text.parse().ok().map(ShardOption::One),
            Some(shards) => {
                let shards = shards.parse().ok().filter(|&shards| Shard::new(1, shards).is_ok());
                shards.map(|shards| ShardOption::Auto { shards })
            }
        };
        shard.with_context(|| {
            format!(
                "{NoShard}; `auto/SHARDS` takes INDEX from the array task that a scheduler has started"
            )
        })
    }
}

impl ShardOption {
    /// The shard that is to be counted. `variable` reads the environment. The array of this task
    /// may have fewer tasks than there are shards, as when some are submitted again.
    pub(super) fn shard(self, variable: impl Fn(&str) -> Option<String>) -> Result<Shard, Failure> {
        let shards = match self {
            ShardOption::One(shard) => return Ok(shard),
            ShardOption::Auto { shards } => shards,
        };
        let set_of = |schedulers: &[(&'static str, &str, u32)]| -> Vec<(&str, String, u32)> {
            let set = schedulers.iter().filter_map(|&(name, none, first)| {
                let value = variable(name).filter(|value| !value.is_empty() && value != none)?;
                Some((name, value, first))
            });
            set.collect()
        };
        let found = Some(set_of(&WITHIN)).filter(|set| !set.is_empty());
        let found = found.unwrap_or_else(|| set_of(&SCHEDULERS));
        let reason = match found.as_slice() {
            [(name, value, first)] => {
                let is_from_0 = *name == SLURM
                    && variable("SLURM_ARRAY_TASK_MIN").is_some_and(|first| first == "0");
                let first = if is_from_0 { 0 } else { *first };
                let before = value.trim().parse().ok().and_then(|it: u32| it.checked_sub(first));
                let shard =
                    before.and_then(|before| Shard::new(before.checked_add(1)?, shards).ok());
                match shard {
                    Some(shard) => return Ok(shard),
                    None => format!(
                        "{name}={value} is none of {shards} shards: number the tasks of the array from {first} to {}",
                        shards - 1 + first
                    ),
                }
            }
            [] => format!(
                "--shard auto/{shards} needs a task of an array, and none of {} is set: give --shard INDEX/SHARDS",
                SCHEDULERS
                    .iter()
                    .chain(&WITHIN)
                    .map(|(name, ..)| *name)
                    .collect::<Vec<_>>()
                    .join(", ")
            ),
            [(one, ..), (another, ..), ..] => format!(
                "--shard auto/{shards} finds tasks of two arrays, {one} and {another}: give --shard INDEX/SHARDS"
            ),
        };
        usage(reason)
    }
}

/// The path with the shard in place of `{shard}`, as `3-of-64`. It fails if the path has the
/// placeholder and there is no shard.
pub(super) fn with_shard(path: &Path, shard: Option<Shard>) -> Result<PathBuf, Failure> {
    let mut pieces = split(path, PLACE).into_iter();
    let mut named = pieces.next().unwrap_or_default();
    for piece in pieces {
        let shard = shard.ok_or_else(|| {
            Failure::Usage(format!(
                "{} has a place for the shard, but no shard was given: give --shard",
                path.display()
            ))
        })?;
        named.push(format!("{}-of-{}", shard.index(), shard.of()));
        named.push(piece);
    }
    Ok(named.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    type Variables<'a> = &'a [(&'a str, &'a str)];

    fn auto(variables: Variables<'_>) -> Result<String, String> {
        let variable = |wanted: &str| {
            let found = variables.iter().find(|(name, _)| *name == wanted);
            found.map(|(_, value)| value.to_string())
        };
        let shard: ShardOption = "auto/64".parse().expect("it is one");
        shard.shard(variable).map(|shard| shard.to_string()).map_err(|error| error.to_string())
    }

    #[test]
    fn each_scheduler_reports_the_part() {
        let slurm = |id, first| [("SLURM_ARRAY_TASK_ID", id), ("SLURM_ARRAY_TASK_MIN", first)];
        let cases: [(&str, Variables<'_>); 18] = [
            ("3/64", &slurm("3", "1")),
            ("4/64", &slurm("3", "0")),
            // It runs again in an array of its own.
            ("7/64", &slurm("7", "7")),
            ("3/64", &[("PBS_ARRAY_INDEX", "3")]),
            ("3/64", &[("PBS_ARRAYID", "3")]),
            ("3/64", &[("LSB_JOBINDEX", "3"), ("SGE_TASK_ID", "undefined")]),
            ("9/64", &[("SGE_TASK_ID", "9"), ("LSB_JOBINDEX", "0")]),
            ("4/64", &[("JOB_COMPLETION_INDEX", "3")]),
            ("64/64", &[("CONDOR_PROCESS", "63")]),
            ("3/64", &[("HQ_TASK_ID", "3")]),
            ("3/64", &[("OAR_ARRAY_INDEX", "3")]),
            ("3/64", &[("FLUX_JOB_CC", "3")]),
            ("1/64", &[("NOMAD_ALLOC_INDEX", "0")]),
            ("4/64", &[("AWS_BATCH_JOB_ARRAY_INDEX", "3")]),
            ("4/64", &[("BATCH_TASK_INDEX", "3")]),
            ("4/64", &[("CLOUD_RUN_TASK_INDEX", "3")]),
            // What runs within a job of an array has precedence.
            ("3/64", &[("HQ_TASK_ID", "3"), ("SLURM_ARRAY_TASK_ID", "7")]),
            ("3/64", &[("AWS_BATCH_JOB_ARRAY_INDEX", "7"), ("PARALLEL_SEQ", "3")]),
        ];
        for (part, variables) in cases {
            assert_eq!(auto(variables).as_deref(), Ok(part), "{variables:?}");
        }
    }

    #[test]
    fn what_is_not_known_is_not_guessed() {
        let refusals: [(Variables<'_>, &str); 8] = [
            (&[], "SLURM_ARRAY_TASK_ID, PBS_ARRAY_INDEX"),
            (&[("LSB_JOBINDEX", "0"), ("SGE_TASK_ID", "undefined")], "is set"),
            (&[("PBS_ARRAY_INDEX", "3"), ("JOB_COMPLETION_INDEX", "3")], "two arrays"),
            (&[("PBS_ARRAY_INDEX", "0")], "from 1 to 64"),
            (&[("JOB_COMPLETION_INDEX", "64")], "from 0 to 63"),
            (&[("PBS_ARRAY_INDEX", "three")], "PBS_ARRAY_INDEX=three"),
            (&[("AWS_BATCH_JOB_ARRAY_INDEX", "64")], "from 0 to 63"),
            (&[("HQ_TASK_ID", "0")], "from 1 to 64"),
        ];
        for (variables, reason) in refusals {
            let refused = auto(variables).expect_err("it is not known");
            assert!(refused.contains(reason), "{refused}");
        }
        for wrong in ["auto", "auto/", "auto/0", "auto/x", "3", "auto/1048577"] {
            assert!(wrong.parse::<ShardOption>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn the_part_stands_in_the_names_of_files() {
        let shard = Shard::new(3, 64).ok();
        let named = |path: &str, shard| with_shard(Path::new(path), shard);
        let path = named("parts/{shard}.db", shard).expect("there is a shard");
        assert_eq!(path, Path::new("parts/3-of-64.db"));
        assert_eq!(named("q.db", shard).expect("it needs none"), Path::new("q.db"));
        let path = named("{shard}/{shard}.db", shard).expect("there is a shard");
        assert_eq!(path, Path::new("3-of-64/3-of-64.db"));
        #[cfg(unix)]
        {
            use std::ffi::OsStr;
            use std::os::unix::ffi::OsStrExt;
            let latin = |name: &'static [u8]| Path::new(OsStr::from_bytes(name));
            let path = with_shard(latin(b"Z\xfcrich-{shard}.db"), shard).expect("there is a shard");
            assert_eq!(path, latin(b"Z\xfcrich-3-of-64.db"));
            assert!(with_shard(latin(b"\xff{shard}"), None).is_err());
        }
        let refused = named("{shard}.db", None).expect_err("there is none");
        assert!(refused.to_string().contains("--shard"), "{refused}");
    }
}
