//! Placements in the notations of other programs are read back, and what is not understood whole
//! is refused.

use board::squares::Square;
use proptest::prelude::*;
use queens_solve::{Notation, Placement, boards, random_placement, read_queens};

/// How a program writes the rows and columns of queens, counted from 0.
type Writer = fn(&[u32]) -> String;

fn numbers(columns: &[u32], first: u32, between: &str) -> String {
    columns.iter().map(|it| (it + first).to_string()).collect::<Vec<_>>().join(between)
}

/// The atoms of queens, each row and column made a text by `atom`.
fn atoms(columns: &[u32], between: &str, atom: impl Fn(usize, u32) -> String) -> String {
    let atoms = columns.iter().enumerate().map(|(row, &column)| atom(row, column));
    atoms.collect::<Vec<_>>().join(between)
}

/// The rows of a picture from the highest down, each within `quote`s.
fn rows(columns: &[u32], quote: &str, between: &str) -> String {
    let row = |&column: &u32| {
        let signs = (0..columns.len() as u32).map(|it| if it == column { 'Q' } else { '.' });
        format!("{quote}{}{quote}", signs.collect::<String>())
    };
    columns.iter().rev().map(row).collect::<Vec<_>>().join(between)
}

/// The model of a SAT solver, with lines of at most `width` variables.
fn model(columns: &[u32], begin: &str, width: usize) -> String {
    let n = columns.len();
    let literal = |index: usize| {
        let is_set = columns[index / n] as usize == index % n;
        format!("{}{}", if is_set { "" } else { "-" }, index + 1)
    };
    let literals: Vec<String> = (0..n * n).map(literal).chain(["0".into()]).collect();
    literals.chunks(width).map(|line| format!("{begin}{}\n", line.join(" "))).collect()
}

/// Each notation of docs/PLACEMENTS.md as other programs write it.
const WRITERS: [(&str, Writer); 20] = [
    ("Prolog", |it| format!("[{}].", numbers(it, 1, ","))),
    ("Prolog's answer", |it| format!("Qs = [{}] ;", numbers(it, 1, ", "))),
    ("Python from 0", |it| format!("[{}]", numbers(it, 0, ", "))),
    ("a tuple", |it| format!("({})", numbers(it, 1, ", "))),
    ("a set from 0", |it| format!("{{{}}}\n", numbers(it, 0, ","))),
    ("angles", |it| format!("<{}>", numbers(it, 1, " "))),
    ("columns from 0", |it| numbers(it, 0, " ")),
    ("lines from 0", |it| numbers(it, 0, "\n")),
    ("MiniZinc's array", |it| format!("q = [{}];\n----------\n", numbers(it, 1, ", "))),
    ("MiniZinc's elements", |it| {
        atoms(it, "\n", |row, at| format!("q[{}] = {};", row + 1, at + 1))
    }),
    ("elements from 0", |it| atoms(it, ", ", |row, at| format!("q[{row}]={at}"))),
    ("an answer set", |it| atoms(it, " ", |row, at| format!("queen({},{})", row + 1, at + 1))),
    ("facts", |it| atoms(it, "\n", |row, at| format!("queen({row}, {at})."))),
    ("LeetCode", |it| format!("[{}]", rows(it, "\"", ","))),
    ("LeetCode's list", |it| format!("[[{}]]", rows(it, "\"", ", "))),
    ("Python's strings", |it| format!("[{}]\n", rows(it, "'", ",\n "))),
    ("a picture", |it| rows(it, "", "\n")),
    ("kissat", |it| format!("c a comment\ns SATISFIABLE\n{}c\n", model(it, "v ", 7))),
    ("minisat", |it| format!("SAT\n{}", model(it, "", usize::MAX))),
    ("pieces", |it| atoms(it, ", ", |row, column| format!("Q{}", Square::new(column, row as u32)))),
];

/// A random placement of a few queens.
fn placements() -> impl Strategy<Value = Placement> {
    (5_u32..12, any::<u64>()).prop_filter_map("there is one", |(n, seed)| random_placement(n, seed))
}

/// The placement that a text is read as; `None` if its queens are none.
fn placement_of(text: &str) -> Option<Placement> {
    text.parse().ok()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_other_programs_write_is_read_back(placement in placements()) {
        for (name, write) in WRITERS {
            let text = write(placement.columns());
            prop_assert_eq!(boards(&text).len(), 1, "{}: {}", name, text);
            prop_assert_eq!(text.parse(), Ok(placement.clone()), "{}: {}", name, text);
        }
    }

    #[test]
    fn several_boards_stay_apart(one in placements(), other in placements()) {
        for (name, write) in WRITERS.iter().filter(|(name, _)| !["kissat", "minisat"].contains(name)) {
            let text = format!("{}\n\n{}\n", write(one.columns()), write(other.columns()));
            let read: Vec<_> = boards(&text).into_iter().map(placement_of).collect();
            prop_assert_eq!(&read, &[Some(one.clone()), Some(other.clone())], "{}: {}", name, text);
        }
    }

    /// A verdict that queens are no placement must not come of a text with something else in it.
    #[test]
    fn a_text_with_something_else_in_it_is_refused_or_read_as_it_was(
        placement in placements(),
        writer in 0..WRITERS.len() + 4,
        place in any::<prop::sample::Index>(),
        foreign in "[?!~$%&^@;:.(){}<>\\\\]{1,3}|[ ](no|board|w|v|answer|[?]|2x|x2x|-|[.])[ ]|\n(v|c|q|Answer: 2|-|[.])\n",
    ) {
        let own = [Notation::Squares, Notation::Permutation, Notation::Fen, Notation::Board];
        let (name, text) = match WRITERS.get(writer) {
            Some((name, write)) => (*name, write(placement.columns())),
            None => ("own", own[writer - WRITERS.len()].of(&placement).to_string()),
        };
        let (begin, end) = text.split_at(place.index(text.len() + 1));
        let text = format!("{begin}{foreign}{end}");
        let read: Vec<_> = boards(&text).into_iter().map(read_queens).collect();
        // `check` gives its verdict only if every board is read.
        if read.iter().all(Result::is_ok) {
            let found: Vec<_> = boards(&text).into_iter().map(placement_of).collect();
            let is_read = found.contains(&Some(placement)) && found.iter().all(Option::is_some);
            prop_assert!(is_read, "{}: {}", name, text);
        }
    }
}
