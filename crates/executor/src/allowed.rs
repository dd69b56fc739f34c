//! What this process may use of the machine: its memory and its processors.

use std::num::NonZero;

/// The bytes of memory that this process may use: what the machine has, or less if a control group or the
/// Slurm job of this process allows less.
pub fn allowed_memory() -> u64 {
    let has = count::machine_memory();
    slurm_memory(|name| std::env::var(name).ok()).map_or(has, |allotted| allotted.min(has))
}

/// The number of processors that this process may use: those of its affinity, or fewer if the quota of a
/// control group or the Slurm job of this process allows fewer.
pub fn allowed_processors() -> NonZero<usize> {
    let usable = std::thread::available_parallelism().unwrap_or(NonZero::<usize>::MIN);
    let allotted = slurm_processors(|name| std::env::var(name).ok());
    allotted.map_or(usable, |allotted| usable.min(allotted))
}

/// A number of a Slurm variable; `None` if it is not set, or 0, by which Slurm means everything.
fn number<N: std::str::FromStr + PartialOrd + From<u8>>(text: Option<String>) -> Option<N> {
    text?.trim().parse().ok().filter(|number| *number > N::from(0))
}

/// Bytes of memory that the job has on this node. Not every cluster enforces them by control groups.
fn slurm_memory(variable: impl Fn(&str) -> Option<String>) -> Option<u64> {
    let mebibytes = number::<u64>(variable("SLURM_MEM_PER_NODE")).or_else(|| {
        let processors = number(variable("SLURM_CPUS_ON_NODE")).unwrap_or(1);
        number::<u64>(variable("SLURM_MEM_PER_CPU"))?.checked_mul(processors)
    });
    mebibytes?.checked_mul(1 << 20)
}

/// Processors of this task, or of the job on this node if its tasks were given no number of their own.
fn slurm_processors(variable: impl Fn(&str) -> Option<String>) -> Option<NonZero<usize>> {
    let names = ["SLURM_CPUS_PER_TASK", "SLURM_CPUS_ON_NODE"];
    let processors: u16 = names.into_iter().find_map(|name| number(variable(name)))?;
    NonZero::new(processors.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_of_slurm_has_what_slurm_gives_its_task_or_its_node() {
        const MIB: u64 = 1 << 20;
        let on_four = ("SLURM_CPUS_ON_NODE", "4");
        for (variables, mebibytes, processors) in [
            (&[("SLURM_MEM_PER_NODE", "500"), on_four][..], Some(500), Some(4)),
            (&[("SLURM_MEM_PER_CPU", "200"), on_four], Some(800), Some(4)),
            (&[("SLURM_MEM_PER_CPU", "200")], Some(200), None),
            (&[("SLURM_MEM_PER_NODE", "0"), on_four], None, Some(4)),
            (&[("SLURM_CPUS_PER_TASK", "2"), on_four], None, Some(2)),
            (&[("SLURM_CPUS_ON_NODE", "some")], None, None),
            (&[], None, None),
        ] {
            let variable = |wanted: &str| {
                let found = variables.iter().find(|(name, _)| *name == wanted);
                found.map(|(_, value)| value.to_string())
            };
            let memory = mebibytes.map(|mebibytes: u64| mebibytes * MIB);
            assert_eq!(slurm_memory(variable), memory, "{variables:?}");
            assert_eq!(slurm_processors(variable).map(NonZero::get), processors, "{variables:?}");
        }
    }
}
