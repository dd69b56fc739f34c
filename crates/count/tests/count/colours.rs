//! Compares `colours` with searches of whole boards, and its totals with known counts.

use std::collections::BTreeMap;
use std::num::NonZeroU32;

use board::colours::{Split, even_lines, odd_lines, sets, share};
use board::{Method, PlanIndex, Prefix, Problem, Task, bits, full_mask};
use queens_count::{Backend, Kernel};
use rand::rngs::StdRng;
use rand::seq::SliceRandom as _;
use rand::{RngExt as _, SeedableRng as _};

const EVEN: u32 = 0x5555_5555;

fn plan_index(n: u32) -> PlanIndex {
    PlanIndex::new(Problem::Total { n }, Method::Colours).expect("it is cut so")
}

fn kernel(backend: Backend, n: u32) -> Kernel {
    Kernel::new(backend, n, Method::Colours).expect("there is such a kernel")
}

/// The queens of some rows, placed one row after the other.
struct Search {
    n: u32,
    /// The columns that the queen of a row may take. A row with `None` has no queen.
    columns: Vec<Option<u32>>,
}

impl Search {
    /// Calls `found` for each placement below the rows that are done, with the columns of queens in
    /// even rows.
    fn run(&self, row: usize, above: Prefix, in_even_rows: u32, found: &mut impl FnMut(u32)) {
        let n = self.n;
        match self.columns.get(row) {
            None => found(in_even_rows),
            Some(None) => {
                let Prefix { left, down, right } = above;
                let below = Prefix { left: left << 1 & full_mask(n), down, right: right >> 1 };
                self.run(row + 1, below, in_even_rows, found);
            }
            Some(Some(columns)) => {
                for bit in bits(above.free(n) & columns) {
                    let in_even_rows = in_even_rows | if row.is_multiple_of(2) { bit } else { 0 };
                    self.run(row + 1, above.place(n, bit), in_even_rows, found);
                }
            }
        }
    }

    /// The number of placements.
    fn count(&self) -> u64 {
        let mut count = 0;
        self.run(0, Prefix::EMPTY, 0, &mut |_| count += 1);
        count
    }
}

/// The sum of the shares of all boards whose queens stand in even columns exactly in the rows of
/// `record.down`.
fn by_search(n: u32, record: Prefix) -> u64 {
    let unpacked = |mask| {
        Split::unpack(n, Prefix { down: mask, ..Prefix::EMPTY }).expect("such a mask is a split")
    };
    let class = unpacked(record.down).class(n);
    let columns = (0..n).map(|row| Some(if record.down >> row & 1 == 1 { EVEN } else { !EVEN }));
    let mut sum = 0;
    Search { n, columns: columns.collect() }.run(0, Prefix::EMPTY, 0, &mut |in_even_rows| {
        sum += u64::from(share(n, class, unpacked(in_even_rows)));
    });
    sum
}

#[test]
fn a_task_counts_the_shares_of_the_boards_that_a_plain_search_finds() {
    let mut random = StdRng::seed_from_u64(0xb0a4d);
    let all = (4..=10).map(|n| (n, None));
    let drawn = [(12, 40), (13, 40), (14, 20), (15, 20), (16, 5), (17, 5), (18, 1)];
    for (n, count) in all.chain(drawn.map(|(n, count)| (n, Some(count)))) {
        let index = plan_index(n);
        let ordinals: Vec<u64> = match count {
            None => (0..index.len()).collect(),
            Some(count) => (0..count).map(|_| random.random_range(0..index.len())).collect(),
        };
        let tasks = ordinals.into_iter().flat_map(|at| index.tasks(at..at + 1).expect("it is one"));
        let tasks: Vec<Task> = tasks.map(|task| Task { weight: 1, ..task }).collect();
        let expected: Vec<u64> = tasks.iter().map(|task| by_search(n, task.record)).collect();
        assert!(n < 7 || expected.iter().sum::<u64>() > 0, "N = {n}: nothing is compared");
        for backend in Backend::available() {
            let mut counts = Vec::new();
            let counted = kernel(backend, n).count_each(&tasks, |count| counts.push(count));
            assert_eq!(counted, Ok(()));
            assert_eq!(counts, expected, "N = {n}, {backend}");
        }
    }
}

/// Two random sets of lines, the rows and the columns of black queens, which have equally many even
/// lines.
fn black_lines(n: u32, random: &mut StdRng) -> [u32; 2] {
    let [mut even, mut odd] = [0, 1].map(|first| (first..n).step_by(2).collect::<Vec<u32>>());
    // About N/4 of the even lines hold a black queen, as in most tasks.
    let k = (n.div_ceil(4) + random.random_range(0..=1)).min(even_lines(n)) as usize;
    let in_odd_lines = k - (even.len() - odd.len());
    [(); 2].map(|()| {
        even.shuffle(random);
        odd.shuffle(random);
        even[..k].iter().chain(&odd[..in_odd_lines]).map(|line| 1 << line).sum()
    })
}

fn cells_are_products(boards: &[(u32, usize)]) {
    let mut random = StdRng::seed_from_u64(0xce11);
    for &(n, cells) in boards {
        let (mut with_boards, mut most) = (0, 0);
        for _ in 0..cells {
            let [rows, columns] = black_lines(n, &mut random);
            // Black queens stand in even columns in even rows, white ones in odd columns.
            let allowed = |row: u32| {
                let is_black = rows >> row & 1 == 1;
                let colour = if is_black { columns } else { !columns };
                let parity = if is_black == (row.is_multiple_of(2)) { EVEN } else { !EVEN };
                colour & parity
            };
            let search = |has_queen: fn(u32) -> bool| {
                let columns = (0..n).map(|row| has_queen(rows >> row & 1).then(|| allowed(row)));
                Search { n, columns: columns.collect() }.count()
            };
            let (black, white) =
                (search(|is_black| is_black == 1), search(|is_black| is_black == 0));
            let boards = search(|_| true);
            assert_eq!(boards, black * white, "N = {n}: rows {rows:b}, columns {columns:b}");
            with_boards += usize::from(boards > 0);
            most = most.max(boards);
        }
        assert!(with_boards > cells / 20 && most > 1, "N = {n}: {with_boards}, at most {most}");
    }
}

#[test]
fn random_cells_have_as_many_boards_as_placements_of_both_colours_multiplied() {
    cells_are_products(&[(16, 1000), (17, 1000), (18, 500), (19, 200), (20, 100), (21, 50)]);
}

#[test]
#[ignore = "takes half a minute: CI runs it"]
fn random_cells_of_large_boards_are_products_of_both_colours() {
    cells_are_products(&[(22, 500), (23, 300), (24, 200)]);
}

#[test]
fn all_splits_of_a_class_count_alike() {
    for n in 4..=13 {
        let splits = (0..=full_mask(n)).filter(|mask| mask.count_ones() == even_lines(n));
        let mut kernel = kernel(Backend::detect(), n);
        let mut counts = BTreeMap::new();
        for down in splits {
            let record = Prefix { down, ..Prefix::EMPTY };
            let count = kernel.count(&[Task { record, weight: 1 }]).expect("it is a split");
            let class = Split::unpack(n, record).expect("it is a split").class(n);
            assert_eq!(*counts.entry(class).or_insert(count), count, "N = {n}: {down:b}");
        }
        assert_eq!(counts.len() as u64, plan_index(n).len(), "N = {n}");
    }
}

/// The backends whose counts farms use.
fn fast() -> impl Iterator<Item = Backend> {
    Backend::available().filter(|backend| *backend != Backend::Reference)
}

fn total(backend: Backend, n: u32) -> u128 {
    let index = plan_index(n);
    let tasks = 0..index.len();
    kernel(backend, n).count_range(&index, tasks).expect("the total is below 2^64").into()
}

#[test]
fn boards_of_15_have_the_known_count_by_every_backend() {
    for backend in fast() {
        assert_eq!(total(backend, 15), testkit::vectors::total(15), "{backend}");
    }
}

#[test]
fn boards_of_16_and_17_have_the_known_counts() {
    for n in [16, 17] {
        assert_eq!(total(Backend::detect(), n), testkit::vectors::total(n), "N = {n}");
    }
}

#[test]
#[ignore = "takes a minute: CI runs it"]
fn boards_of_16_to_18_have_the_known_counts_by_every_backend() {
    for backend in fast() {
        for n in 16..=18 {
            assert_eq!(total(backend, n), testkit::vectors::total(n), "N = {n}, {backend}");
        }
    }
}

/// Compares backends on single sets of odd columns of random tasks. Sets without a board are passed
/// over.
fn single_sets_agree(n: u32, drawn: usize, backends: impl Iterator<Item = Backend>) {
    let mut random = StdRng::seed_from_u64(n.into());
    let index = plan_index(n);
    let mut first_kernel = kernel(Backend::detect(), n);
    let mut compared = Vec::new();
    while compared.len() < drawn {
        let at = random.random_range(0..index.len());
        let task = index.tasks(at..at + 1).expect("the plan has the task");
        let split = Split::unpack(n, task[0].record).expect("each task is a split");
        let sets = sets(odd_lines(n), split.odd.count_ones()).len() as u32;
        let (every, set) =
            (NonZeroU32::new(sets).expect("there is one"), random.random_range(0..sets));
        let count = first_kernel.sample(&task, every, set).expect("it is a task");
        if count > 0 {
            compared.push((task, every, set, count));
        }
    }
    for backend in backends {
        let mut kernel = kernel(backend, n);
        for (task, every, set, count) in &compared {
            let sampled = kernel.sample(task, *every, *set).expect("it is a task");
            assert_eq!(sampled, *count, "N = {n}, {backend}, {task:?}, set {set} of {every}");
        }
    }
}

#[test]
#[ignore = "takes a minute: CI runs it"]
fn single_sets_of_large_boards_have_the_same_count_by_every_backend() {
    single_sets_agree(24, 10, Backend::available());
    single_sets_agree(28, 3, Backend::available());
    for n in 29..=32 {
        single_sets_agree(n, 3, fast());
    }
}

#[test]
#[ignore = "takes minutes: a nightly run has it"]
fn nightly_single_sets_of_the_largest_boards_have_the_count_of_the_reference() {
    for n in [30, 32] {
        single_sets_agree(n, 2, [Backend::Reference].into_iter());
    }
}

#[test]
#[ignore = "takes minutes: a nightly run has it"]
fn nightly_boards_of_19_to_22_have_the_known_counts() {
    for n in 19..=21 {
        for backend in fast().filter(|backend| *backend != Backend::Portable) {
            assert_eq!(total(backend, n), testkit::vectors::total(n), "N = {n}, {backend}");
        }
    }
    assert_eq!(total(Backend::detect(), 22), testkit::vectors::total(22));
}
