//! The counting loops behind the backends' names. This is the only file that chooses a loop by its
//! name.

use board::Prefix;

use crate::Backend;
#[cfg(target_arch = "x86_64")]
use crate::avx2::Avx2;
#[cfg(target_arch = "x86_64")]
use crate::avx512::Avx512;
#[cfg(target_arch = "x86_64")]
use crate::levels::Levels;
use crate::portable::Portable;
use crate::reference::Reference;
use crate::remaining::Remaining;
use crate::stop::Stop;

/// A counting loop, with its buffers.
pub(crate) trait Engine: Send + Sync {
    /// The number of completions of all `states`, which are those of the first row of `remaining`.
    /// If it is asked to stop, it returns soon, and the number means nothing.
    ///
    /// # Panics
    ///
    /// Panics if more rows are left than the loop was made for.
    fn completions(&mut self, remaining: Remaining<'_>, states: &[Prefix], stop: &Stop) -> u64;
}

/// A loop for boards with at most this many columns and rows left. `None` if the processor lacks
/// the backend.
#[cfg_attr(
    not(target_arch = "x86_64"),
    expect(unused_variables, reason = "only AVX-512 has lanes for boards of few columns")
)]
pub(crate) fn engine(backend: Backend, columns: u32, most_rows: u32) -> Option<Box<dyn Engine>> {
    let most_rows = most_rows as usize;
    let engine: Box<dyn Engine> = match backend {
        Backend::Reference => Box::new(Reference),
        Backend::Portable => Box::new(Portable::new(most_rows)),
        // The compiler uses the instructions of NEON for the portable loop.
        Backend::Neon if cfg!(target_arch = "aarch64") => Box::new(Portable::new(most_rows)),
        Backend::Neon => return None,
        #[cfg(target_arch = "x86_64")]
        Backend::Avx2 => Box::new(Levels::new(Avx2::new()?, most_rows)),
        #[cfg(target_arch = "x86_64")]
        Backend::Avx512 if columns <= u16::BITS => {
            Box::new(Levels::new(Avx512::<u16>::new()?, most_rows))
        }
        #[cfg(target_arch = "x86_64")]
        Backend::Avx512 => Box::new(Levels::new(Avx512::<u32>::new()?, most_rows)),
        #[cfg(not(target_arch = "x86_64"))]
        Backend::Avx2 | Backend::Avx512 => return None,
    };
    Some(engine)
}

#[cfg(test)]
mod tests {
    use board::full_mask;
    use proptest::collection::vec;
    use proptest::prelude::*;
    use proptest::sample::subsequence;

    use super::*;
    use crate::remaining::OpenRow;

    /// Random columns, rows and states. Few of them belong to a board, but each has a count. The
    /// first number counts all columns, also those that only diagonals pass.
    fn grounds() -> impl Strategy<Value = (u32, u32, Vec<OpenRow>, Vec<Prefix>)> {
        // A quarter of the bits of a mask are set. With more, nothing would be left to count.
        let mask = || (any::<u32>(), any::<u32>()).prop_map(|(a, b)| a & b);
        let shape = (1..=32_usize, 0..=7_usize, 0..=1_u32, any::<bool>());
        shape.prop_flat_map(move |(size, rows, margin, is_open)| {
            let size = size.min(32 - 2 * margin as usize);
            let rows = rows.min(size);
            let columns = full_mask(size as u32) << margin;
            let row = (mask(), 1..=5_u32).prop_map(move |(closed, step)| match is_open {
                true => OpenRow::PLAIN,
                false => OpenRow { closed: closed & columns, step },
            });
            let taken = subsequence((0..size).collect::<Vec<_>>(), size - rows)
                .prop_map(move |taken| taken.iter().fold(0, |mask, c| mask | 1 << c) << margin);
            // Diagonals pass through margins on either side.
            let seen = full_mask(size as u32 + 2 * margin);
            let state = (mask(), taken, mask()).prop_map(move |(left, down, right)| Prefix {
                left: left & seen,
                down,
                right: right & seen,
            });
            let states = vec(state, 0..100);
            (Just(size as u32 + 2 * margin), Just(columns), vec(row, rows), states)
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

        #[test]
        fn backends_agree_on_rows_and_squares_that_are_closed_at_random(
            (size, columns, rows, states) in grounds(),
        ) {
            let remaining = Remaining { columns, rows: &rows };
            let count = |backend| {
                let mut engine = engine(backend, size, rows.len() as u32)?;
                Some(engine.completions(remaining, &states, &Stop::default()))
            };
            let expected = count(Backend::Reference);
            for backend in Backend::available() {
                prop_assert_eq!(count(backend), expected, "{}", backend);
            }
        }
    }
}
