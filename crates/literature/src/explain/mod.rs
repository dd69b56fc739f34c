//! Explains each way of counting on one small board, with pictures.
//!
//! Every number of a small board is counted when the text is written, and every sum is compared
//! with the total.

mod colours;
mod family;
mod ladder;

use anyhow::{Context, ensure};
use board::squares::Square;
use board::{Method, PlanIndex, Prefix, Problem, Task};
use count::{Backend, Kernel};
use solve::draw::{Diagram, text};
use solve::{first_rows, solutions};

use crate::classical::masks;

/// Tasks that two outer rings of N = 27 leave, by the Q27 project's own generator.
const RINGS_OF_27: u64 = 2_024_110_796;

/// The whole text about an even board of size `n`, from 6 to 10. It fails if two ways of counting
/// differ.
pub fn page(n: u32) -> anyhow::Result<String> {
    let searched = masks::count(n);
    let total = searched.total;
    let mut page = format!(
        "# How {n} queens are counted\n\n\
         `queens explain {n}` wrote this text and counted every number of a small board in it.\n\n\
         There are {total} ways to place {n} queens on a board of {n} x {n} so that none attacks another. The first \
         sections count them, each in another way. The last ones are about other problems of the family.\n\n",
    );
    page += &ladder::section(n, &searched)?;
    page += &masks_section(n, searched.nodes)?;
    page += &rows_section(n, total)?;
    page += &ladder::checks_section(n, total)?;
    page += "## Two colours and their product: the method colours\n\n";
    page += &colours::section(n)?;
    page += &family::sections(n, total)?;
    Ok(page)
}

/// The text about the method colours alone, on a board of size 6. It fails if two ways of counting
/// differ.
pub fn colours_page() -> anyhow::Result<String> {
    let n = colours::N;
    Ok(format!(
        "# How {n} queens are counted by colours\n\n\
         `queens explain colours` wrote this text and counted every number of this board.\n\n{}",
        colours::section(n)?
    ))
}

fn masks_section(n: u32, nodes: u64) -> anyhow::Result<String> {
    let first = solutions(n).next().with_context(|| format!("{n} queens have no placement"))?;
    let queens: Vec<Square> = first.squares().take(2).collect();
    let bits = queens.iter().map(|queen| 1 << queen.column);
    let prefix = bits.fold(Prefix::EMPTY, |prefix, bit| prefix.place(n, bit));
    let Prefix { left, down, right } = prefix;
    let row = |mask: u32| {
        let square = |column| if mask >> column & 1 == 1 { "1" } else { "." };
        (0..n).map(square).collect::<Vec<_>>().join(" ")
    };
    Ok(format!(
        "## Masks\n\n\
         The search fills one row after the other, from row 1 at the bottom. After two queens, `x` marks the \
         squares that they attack:\n\n{}\n\
         Row 3 depends on the rows below it by three words with one bit for each column, here from column a \
         on:\n\n\
         ```text\n\
         right  {}   attacked along diagonals that rise to the left\n\
         down   {}   columns that have a queen\n\
         left   {}   attacked along diagonals that rise to the right\n\
         free   {}   none of the three: where row 3 can have its queen\n\
         ```\n\n\
         For the next row, the new queen is added to all three words. Then the first word moves one column to \
         the left, and the third one to the right. They are named by the shift of a processor's word, whose \
         lowest bit is column a. The whole search places {nodes} queens.\n\n",
        picture(n, queens, true),
        row(right),
        row(down),
        row(left),
        row(prefix.free(n)),
    ) + &steps(n, &first.squares().collect::<Vec<_>>()))
}

/// The three words before each row of a placement, from the first row on.
fn steps(n: u32, queens: &[Square]) -> String {
    let word = |mask: u32| -> String {
        (0..n).map(|column| if mask >> column & 1 == 1 { '1' } else { '.' }).collect()
    };
    let width = n.max(5) as usize;
    let mut text = format!(
        "These are the words before each row of the whole placement:\n\n\
         ```text\n\
         row  {:<width$}  {:<width$}  {:<width$}  {:<width$}  queen\n",
        "right", "down", "left", "free"
    );
    let mut prefix = Prefix::EMPTY;
    for queen in queens {
        let [right, down, left, free] =
            [prefix.right, prefix.down, prefix.left, prefix.free(n)].map(word);
        let row = queen.row + 1;
        text += &format!(
            "{row:>3}  {right:<width$}  {down:<width$}  {left:<width$}  {free:<width$}  {queen}\n"
        );
        prefix = prefix.place(n, 1 << queen.column);
    }
    text + "```\n\n"
}

fn rows_section(n: u32, total: u64) -> anyhow::Result<String> {
    let method = Method::Rows { rows: 2 };
    let tasks = CountedTasks::all(n, method)?;
    let prefixes = first_rows(n, 2).count();
    ensure!(tasks.sum() == total, "rows count {}, and there are {total}", tasks.sum());
    let by_weight = tasks.by_weight();
    let words: Vec<String> = by_weight
        .iter()
        .map(|(weight, tasks, sum)| {
            format!("{tasks} of weight {weight}, which stand for {sum} placements")
        })
        .collect();
    Ok(format!(
        "## Prefixes: the method rows\n\n\
         The MC# project cut its counts so (2009), and `queens count` does up to N = 14, where it is the fastest. \
         The first two rows can be filled in {prefixes} ways. Each is a prefix: a task that any machine can \
         finish, because the other rows depend only on the three words. A prefix and its mirror image have equally \
         many completions, so one of the two is counted, with weight 2. That leaves {} tasks: {}.\n\n\
         The project that counted Q(27) placed the queens of the two outer rows and columns on each side first, and took \
         one of up to eight images: that leaves {} tasks at N = 27 ([Q27](https://github.com/preusser/q27)).\n\n",
        tasks.tasks.len(),
        words.join("; "),
        RINGS_OF_27,
    ))
}

/// The tasks of a plan and the count of each, its weight included.
struct CountedTasks {
    tasks: Vec<Task>,
    counts: Vec<u64>,
}

impl CountedTasks {
    fn all(n: u32, method: Method) -> anyhow::Result<CountedTasks> {
        let index = PlanIndex::new(Problem::Total { n }, method)?;
        let tasks = index.tasks(0..index.len())?;
        let mut kernel = Kernel::new(Backend::Reference, n, method)?;
        let count = |task| kernel.count_range(&index, task..task + 1);
        let counts = (0..index.len()).map(count).collect::<Result<_, _>>()?;
        Ok(CountedTasks { tasks, counts })
    }

    fn sum(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// For each weight, the largest first: the number of its tasks and the sum of their counts.
    fn by_weight(&self) -> Vec<(u8, usize, u64)> {
        let weights = || self.tasks.iter().map(|task| task.weight).zip(&self.counts);
        [8, 4, 2, 1]
            .into_iter()
            .map(|weight| {
                let having = || weights().filter(move |&(its, _)| its == weight);
                (weight, having().count(), having().map(|(_, count)| count).sum())
            })
            .filter(|&(_, tasks, _)| tasks > 0)
            .collect()
    }
}

/// A board with these queens in a block of its own, if asked with the squares that they attack.
fn picture(n: u32, queens: Vec<Square>, attacks: bool) -> String {
    format!("```text\n{}\n```\n", text(&Diagram { n, queens }, attacks))
}
