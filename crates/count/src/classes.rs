//! Counts tasks of the method `halves` class by class, and one class of a task alone.

use board::halves::Class;
use board::{Method, Prefix, Problem, TaskKind, Tasks};

use crate::halves::{self, Halves, Pairs};
use crate::kernel::weighted;
use crate::task::is_task;
use crate::{Backend, CountError, KernelError, MemoryNeed, MissingBackend};

/// The counts of the classes of a task, weight included, by their [numbers](Class::number). They add up to what
/// [`Kernel::count`](crate::Kernel::count) returns.
pub type Subtotals = [u64; Class::COUNT];

/// Counts tasks class by class.
///
/// ```
/// use queens_count::board::halves::Class;
/// use queens_count::board::{Cut, Method, Problem, Tasks};
/// use queens_count::{Backend, ClassKernel, SubtotalKernel};
///
/// let cut = Cut::new(Problem::Total { n: 12 }, Method::Halves)?;
/// let mut tasks = Tasks::new();
/// cut.fill(0..cut.len(), &mut tasks)?;
/// let class = Class::from_number(13).expect("there are 27");
/// let mut by_class = SubtotalKernel::new(u64::MAX, Backend::detect(), 12)?;
/// let mut of_class = ClassKernel::new(u64::MAX, Backend::detect(), 12, class)?;
/// let mut sum = 0;
/// for (task, weight) in (0..tasks.len()).map(|i| tasks.get(i)) {
///     let subtotals = by_class.count(task, weight)?;
///     assert_eq!(of_class.count(task, weight)?, subtotals[13]);
///     sum += subtotals.iter().sum::<u64>();
/// }
/// assert_eq!(sum, 14_200);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct SubtotalKernel(Classes);

/// Counts one class of tasks.
pub struct ClassKernel(Classes);

/// A kernel with the task that it counts.
struct Classes {
    n: u32,
    halves: Halves,
    task: Tasks,
}

impl SubtotalKernel {
    /// A kernel for boards of size `n`. It takes at most `memory` bytes, or the least of [`class_memory_needed`] if
    /// that is more.
    ///
    /// # Errors
    ///
    /// [`KernelError`], if the method does not cut such a board, or the processor lacks the backend.
    pub fn new(memory: u64, backend: Backend, n: u32) -> Result<SubtotalKernel, KernelError> {
        Classes::new(memory, backend, n, Pairs::ByClass).map(SubtotalKernel)
    }

    /// The counts of all classes of a task.
    ///
    /// # Errors
    ///
    /// [`CountError::BadTask`], if this is no task of the board, and [`CountError::Overflow`].
    pub fn count(&mut self, task: Prefix, weight: u8) -> Result<Subtotals, CountError> {
        self.0.set(task)?;
        let mut subtotals = self.0.halves.by_class(self.0.task.as_slice())?;
        for subtotal in &mut subtotals {
            *subtotal = weighted(weight, *subtotal)?;
        }
        Ok(subtotals)
    }
}

impl ClassKernel {
    /// A kernel for one class of the tasks of boards of size `n`, within the same memory as a [`SubtotalKernel`].
    ///
    /// # Errors
    ///
    /// The errors of [`SubtotalKernel::new`].
    pub fn new(
        memory: u64,
        backend: Backend,
        n: u32,
        class: Class,
    ) -> Result<ClassKernel, KernelError> {
        Classes::new(memory, backend, n, Pairs::Of(class)).map(ClassKernel)
    }

    /// The count of the class in a task, weight included.
    ///
    /// # Errors
    ///
    /// The errors of [`SubtotalKernel::count`].
    pub fn count(&mut self, task: Prefix, weight: u8) -> Result<u64, CountError> {
        self.0.set(task)?;
        weighted(weight, self.0.halves.completions(self.0.task.as_slice())?)
    }
}

/// The memory that a [`SubtotalKernel`] or a [`ClassKernel`] for boards of size `n` takes.
#[must_use]
pub fn class_memory_needed(n: u32) -> MemoryNeed {
    let needs = [Pairs::ByClass, Pairs::Of(Class::default())].map(|pairs| halves::needs(n, pairs));
    MemoryNeed { least: needs[0].least.max(needs[1].least), most: needs[0].most.max(needs[1].most) }
}

impl Classes {
    fn new(memory: u64, backend: Backend, n: u32, pairs: Pairs) -> Result<Classes, KernelError> {
        let (problem, method) = (Problem::Total { n }, Method::Halves);
        problem.task_kind(method).ok_or(KernelError::Problem { problem, method })?;
        let halves = Halves::new(memory, backend, n, pairs).ok_or(MissingBackend { backend })?;
        Ok(Classes { n, halves, task: Tasks::new() })
    }

    fn set(&mut self, task: Prefix) -> Result<(), CountError> {
        let problem = Problem::Total { n: self.n };
        if !is_task(&problem, TaskKind::Split, task) {
            let (problem, method) = (problem.name(), Method::Halves);
            return Err(CountError::BadTask { index: 0, problem, n: self.n, method });
        }
        self.task.clear();
        self.task.push(task, 1);
        Ok(())
    }
}
