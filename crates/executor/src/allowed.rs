//! How many processors of the machine this process may use.

use std::num::NonZero;

/// The number of processors that this process may use: those of its affinity, or fewer if the quota
/// of a control group or the Slurm job of this process allows fewer.
pub fn allowed_processors() -> NonZero<usize> {
    let usable = std::thread::available_parallelism().unwrap_or(NonZero::<usize>::MIN);
    let allotted = slurm_processors(|name| std::env::var(name).ok());
    allotted.map_or(usable, |allotted| usable.min(allotted))
}

/// The processors of this Slurm task, or those of the Slurm job on this node if its tasks were
/// given no number of their own.
fn slurm_processors(variable: impl Fn(&str) -> Option<String>) -> Option<NonZero<usize>> {
    let names = ["SLURM_CPUS_PER_TASK", "SLURM_CPUS_ON_NODE"];
    // Slurm writes 0 for all processors.
    let number = |name| variable(name)?.trim().parse::<u16>().ok().filter(|number| *number > 0);
    NonZero::new(names.into_iter().find_map(number)?.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_of_slurm_has_the_processors_of_its_task_or_its_node() {
        let on_four = ("SLURM_CPUS_ON_NODE", "4");
        for (variables, processors) in [
            (&[on_four][..], Some(4)),
            (&[("SLURM_CPUS_PER_TASK", "2"), on_four], Some(2)),
            (&[("SLURM_CPUS_PER_TASK", "0"), on_four], Some(4)),
            (&[("SLURM_CPUS_ON_NODE", "some")], None),
            (&[], None),
        ] {
            let variable = |wanted: &str| {
                let found = variables.iter().find(|(name, _)| *name == wanted);
                found.map(|(_, value)| value.to_string())
            };
            assert_eq!(slurm_processors(variable).map(NonZero::get), processors, "{variables:?}");
        }
    }
}
