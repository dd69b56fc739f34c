//! Draws a board as text.

use std::collections::HashSet;

use board::squares::Square;

use super::{Diagram, diagram};

/// The board with its coordinates. `Q` is a queen and `.` an empty square. With `attacks`, `x` is an attacked
/// square and `!` an attacked queen. The text does not end with a line break.
pub fn text(diagram: &Diagram, attacks: bool) -> String {
    let n = diagram.n;
    let queens: HashSet<Square> = diagram.queens.iter().copied().collect();
    let attacked: HashSet<Square> = diagram.attacks().into_iter().flatten().collect();
    let reached = |square: Square| queens.iter().any(|&queen| diagram::attacks(queen, square));
    let piece = |square: Square| match queens.contains(&square) {
        true if attacks && attacked.contains(&square) => "!",
        true => "Q",
        false if attacks && reached(square) => "x",
        false => ".",
    };
    let margin = n.to_string().len();
    let files: Vec<String> = diagram.files().collect();
    let width = files.last().map_or(1, String::len);
    let line = |margin_text: String, words: Vec<&str>| {
        let words: Vec<String> = words.iter().map(|word| format!("{word:>width$}")).collect();
        format!("{margin_text:>margin$} {}\n", words.join(" "))
    };
    let mut board: String = (0..n)
        .rev()
        .map(|row| {
            let pieces = (0..n).map(|column| piece(Square { column, row })).collect();
            line((row + 1).to_string(), pieces)
        })
        .collect();
    board += line(String::new(), files.iter().map(String::as_str).collect()).trim_end();
    board
}
