//! What a backend is behind its name, and the only place where one is chosen.

use board::TaskSlice;

use crate::Backend;
#[cfg(target_arch = "x86_64")]
use crate::avx2::Avx2;
#[cfg(target_arch = "x86_64")]
use crate::avx512::Avx512;
#[cfg(target_arch = "x86_64")]
use crate::levels::{FEWEST_ROWS, Levels, Unit};
use crate::portable::Portable;
use crate::reference::Reference;

/// A counting loop for one board size and number of placed rows, with its buffers.
pub(crate) enum Engine {
    Reference(Reference),
    Portable(Portable),
    #[cfg(target_arch = "x86_64")]
    Avx2(Levels<Avx2>),
    /// For boards that 16 bits hold.
    #[cfg(target_arch = "x86_64")]
    Avx512Narrow(Levels<Avx512<u16>>),
    #[cfg(target_arch = "x86_64")]
    Avx512Wide(Levels<Avx512<u32>>),
}

impl Engine {
    /// `None` if the processor lacks the backend.
    pub(crate) fn new(backend: Backend, n: u32, rows: u32) -> Option<Engine> {
        match backend {
            Backend::Reference => Some(Engine::Reference(Reference::new(n, rows))),
            Backend::Portable => Some(Engine::Portable(Portable::new(n, rows))),
            #[cfg(target_arch = "x86_64")]
            Backend::Avx2 => Avx2::new().map(|unit| vectors(unit, n, rows, Engine::Avx2)),
            #[cfg(target_arch = "x86_64")]
            Backend::Avx512 if n <= u16::BITS => {
                Avx512::new().map(|unit| vectors(unit, n, rows, Engine::Avx512Narrow))
            }
            #[cfg(target_arch = "x86_64")]
            Backend::Avx512 => Avx512::new().map(|unit| vectors(unit, n, rows, Engine::Avx512Wide)),
            #[cfg(not(target_arch = "x86_64"))]
            Backend::Avx2 | Backend::Avx512 => None,
        }
    }

    /// The number of completions of all `tasks`, unweighted.
    pub(crate) fn completions(&mut self, tasks: TaskSlice<'_>) -> u64 {
        match self {
            Engine::Reference(reference) => reference.completions(tasks),
            Engine::Portable(portable) => portable.completions(tasks),
            #[cfg(target_arch = "x86_64")]
            Engine::Avx2(levels) => levels.completions(tasks),
            #[cfg(target_arch = "x86_64")]
            Engine::Avx512Narrow(levels) => levels.completions(tasks),
            #[cfg(target_arch = "x86_64")]
            Engine::Avx512Wide(levels) => levels.completions(tasks),
        }
    }
}

/// A vector unit's loop; where next to nothing is left to search, the scalar one.
#[cfg(target_arch = "x86_64")]
fn vectors<U: Unit>(unit: U, n: u32, rows: u32, engine: fn(Levels<U>) -> Engine) -> Engine {
    if n - rows < FEWEST_ROWS {
        Engine::Portable(Portable::new(n, rows))
    } else {
        engine(Levels::new(unit, n, rows))
    }
}
