//! The method `halves`: it joins upper and lower half-boards, and does not visit solutions.
//!
//! A task says which columns the upper half's queens take ([`board::halves`]). The half-boards of
//! both halves that count for the task are listed. Then all pairs without a common diagonal are
//! counted. For N = 20 there are up to 40,000 half-boards on each side, and one pair in 8,000
//! fits.
//!
//! ```text
//!   task        the path of a task, in six steps: begin here
//!   by_size     what happens at which N
//!
//!   quarters    placements in a quarter of the rows, by their columns
//!   code        the diagonals by which half-boards are numbered, and how keys become records
//!   lists       pairs of quarters that do not attack each other: half-boards
//!   buckets     half-boards by number
//!   shared      lists that serve several tasks of an odd board up to 21
//!   join        the lower half-boards are looked up in tables of 1,024 upper ones
//!   units       the inner loops of all steps, for each instruction set
//!
//!   memory      what a thread takes
//!   draws       blocks of a join that stand for all of them
//! ```
//!
//! The reference of the method is [`split_search`](crate::split_search).
//!
//! `code::diagonals` shows how the halves' diagonals meet, and [`Shares`](board::halves::Shares)
//! how often a pair counts. The join instead of a search, the use of transposing in it, and the
//! figures by which it was chosen are this project's own. The nearest relative is Kluev's count by
//! quadrants.
//!
//! The table shows the cycles of each step for one solution, with AVX-512 on one core of Granite Rapids
//! at 4.15 GHz (after the changes of the set `halves-runs` in docs/benchmarks):
//!
//! | N | lists | buckets | blocks | join | ties | all |
//! |---|---|---|---|---|---|---|
//! | 18 | 2.06 | 0.81 | 0.54 | 1.09 | 0.32 | 4.83 |
//! | 20 | 0.76 | 0.35 | 0.31 | 1.04 | 0.07 | 2.53 |
//! | 22 | 0.34 | 0.18 | 0.27 | 0.75 | 0.01 | 1.54 |
//! | 24 | 0.11 | 0.15 | 0.29 | 0.58 | 0 | 1.32 |
//! | 26 | 0.03 | 0.05 | 0.07 | 0.60 | 0 | 0.82 |

mod buckets;
mod by_size;
mod code;
mod draws;
mod join;
mod lists;
mod memory;
mod quarters;
mod shared;
mod task;
mod units;

pub use self::by_size::CodeBits;
pub use self::code::key_views::{KeyViews, SampledKeys, key_views};
pub(crate) use self::draws::Draws;
use self::memory::Room;
pub(crate) use self::task::CountTasks;
use self::task::TaskCounter;
use self::units::portable::Portable;
use crate::Backend;
#[cfg(target_arch = "aarch64")]
use crate::neon::Neon;
#[cfg(target_arch = "x86_64")]
use crate::{avx2::Avx2, avx512::Avx512};

/// The method for boards of size `n`, with its tables and buffers. It takes at most `memory` bytes, but
/// at least what it [`needs`]. `None` if the processor lacks the backend, and for the reference, which
/// joins nothing.
///
/// It is made once per thread and used for every block of tasks of a plan. It is fastest in the
/// order of [`board::halves`]: neighbours share lists on an odd board up to 21, and on a larger odd
/// board tables are made anew when the centre row's queen changes.
pub(crate) fn counter(memory: u64, backend: Backend, n: u32) -> Option<Box<dyn CountTasks>> {
    let room = Room::within(memory, n);
    Some(match backend {
        Backend::Reference => return None,
        Backend::Portable => Box::new(TaskCounter::new(Portable, n, room)),
        #[cfg(target_arch = "aarch64")]
        Backend::Neon => Box::new(TaskCounter::new(Neon::new()?, n, room)),
        #[cfg(not(target_arch = "aarch64"))]
        Backend::Neon => return None,
        #[cfg(target_arch = "x86_64")]
        Backend::Avx2 => Box::new(TaskCounter::new(Avx2::new()?, n, room)),
        #[cfg(target_arch = "x86_64")]
        Backend::Avx512 => Box::new(TaskCounter::new(Avx512::<u32>::new()?, n, room)),
        #[cfg(not(target_arch = "x86_64"))]
        Backend::Avx2 | Backend::Avx512 => return None,
    })
}
