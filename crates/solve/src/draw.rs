//! Diagrams of boards as in chess books, as text or SVG.

use std::fmt::Write;

use board::squares::Square;

/// Queens on a board. They may attack each other.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Diagram {
    /// Size of the board, 1 or more.
    pub n: u32,
    /// The squares with a queen, all on the board.
    pub queens: Vec<Square>,
}

impl Diagram {
    /// The pairs of queens that attack each other.
    fn attacks(&self) -> Vec<[Square; 2]> {
        let mut pairs = Vec::new();
        for (i, &a) in self.queens.iter().enumerate() {
            let attacked = self.queens[i + 1..].iter().filter(|&&b| attack(a, b));
            pairs.extend(attacked.map(|&b| [a, b]));
        }
        pairs
    }

    /// The letters of the columns, from the left.
    fn files(&self) -> impl Iterator<Item = String> {
        let name = |column| Square { column, row: 0 }.to_string();
        (0..self.n).map(move |column| name(column).trim_end_matches('1').to_owned())
    }

    /// The ends of the row, the column and the diagonals of a square.
    fn lines_through(&self, Square { column, row }: Square) -> [[Square; 2]; 4] {
        let last = self.n - 1;
        let square = |column, row| Square { column, row };
        let (down, up) = (column.min(row), (last - column).min(last - row));
        let (left, right) = (column.min(last - row), (last - column).min(row));
        [
            [square(0, row), square(last, row)],
            [square(column, 0), square(column, last)],
            [square(column - down, row - down), square(column + up, row + up)],
            [square(column - left, row + left), square(column + right, row - right)],
        ]
    }
}

/// Whether a queen on one square attacks the other square, or both are the same square.
fn attack(a: Square, b: Square) -> bool {
    let (across, up) = (a.column.abs_diff(b.column), a.row.abs_diff(b.row));
    across == 0 || up == 0 || across == up
}

/// The board as text, with its coordinates. `Q` is a queen and `.` an empty square. With `attacks`,
/// `x` is an attacked square and `!` an attacked queen. The text does not end with a line break.
pub fn text(diagram: &Diagram, attacks: bool) -> String {
    let Diagram { n, queens } = diagram;
    let is_attacked = |square: Square| {
        attacks && queens.iter().any(|&queen| queen != square && attack(queen, square))
    };
    let piece = |square: Square| match (queens.contains(&square), is_attacked(square)) {
        (true, true) => "!",
        (true, false) => "Q",
        (false, true) => "x",
        (false, false) => ".",
    };
    let margin = n.to_string().len();
    let files: Vec<String> = diagram.files().collect();
    let width = files.last().map_or(1, String::len);
    let line = |margin_text: String, words: Vec<&str>| {
        let words: Vec<String> = words.iter().map(|word| format!("{word:>width$}")).collect();
        format!("{margin_text:>margin$} {}\n", words.join(" "))
    };
    let mut board = String::new();
    for row in (0..*n).rev() {
        let pieces = (0..*n).map(|column| piece(Square { column, row })).collect();
        board += &line((row + 1).to_string(), pieces);
    }
    board += line(String::new(), files.iter().map(String::as_str).collect()).trim_end();
    board
}

/// A queen on a square of side 1 from the upper left corner, and the colours.
const DEFINITIONS: &str = r##"<defs>
<g id="queen" transform="translate(.06 .03) scale(.0088)">
<path d="M26 70 13.5 35 33 54 32 25 44 51 50 20 56 51 68 25 67 54 86.5 35 74 70Q50 63 26 70Zm0 0Q50 63 74 70L71 79Q50 74 29 79Zm3 9Q50 74 71 79C72 84 77 86 78 91H22C23 86 28 84 29 79Z"/>
<circle cx="12" cy="30.5" r="4.8"/><circle cx="31.5" cy="20" r="4.8"/><circle cx="50" cy="15" r="4.8"/>
<circle cx="68.5" cy="20" r="4.8"/><circle cx="88" cy="30.5" r="4.8"/>
</g>
</defs>
<style>
.light { fill: #f3e7cf } .dark { fill: #c2a078 }
.frame, .reach, .attack { fill: none; stroke: #221f1c; stroke-width: .04; stroke-linecap: round }
.reach { stroke: #4f86b8 } .attack { stroke: #d0162b; stroke-width: .1 }
.queen { fill: #fff; stroke: #221f1c; stroke-width: 3.4; stroke-linejoin: round }
text { fill: #221f1c; font-family: sans-serif; text-anchor: middle }
</style>
"##;

/// The board as SVG, with its coordinates. A square has 56 pixels, or fewer on a board that would
/// be wider than 640. With `attacks`, the lines that queens attack are drawn. Elements have classes
/// that say what they show: `queen`, `dark`, `attack`, ...
pub fn svg(diagram: &Diagram, attacks: bool) -> String {
    let squares: Vec<String> = diagram.queens.iter().map(Square::to_string).collect();
    let title = format!("Board of size {} with queens on {}", diagram.n, squares.join(" "));
    let n = f64::from(diagram.n);
    let square = f64::from((640 / diagram.n).clamp(1, 56));
    let [left, top] = [1.1, 0.35];
    let [width, height] = [square * (n + left + 0.35), square * (n + top + 0.9)];
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.0}\" height=\"{height:.0}\" \
         viewBox=\"0 0 {width:.1} {height:.1}\" role=\"img\">\n<title>{title}</title>\n{DEFINITIONS}\
         <rect class=\"paper\" width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n\
         <g transform=\"scale({square}) translate({left} {top})\">\n"
    );
    draw(&mut out, diagram, attacks);
    out += "<g class=\"coordinates\" font-size=\".42\">\n";
    for (file, middle) in diagram.files().zip((0..).map(|i| f64::from(i) + 0.5)) {
        let (rank, below) = (middle + 0.5, n + 0.62);
        let _ = writeln!(out, "<text x=\"{middle}\" y=\"{below:.2}\">{file}</text>");
        let y = n - middle + 0.15;
        let _ = writeln!(out, "<text x=\"-.5\" y=\"{y:.2}\">{rank}</text>");
    }
    out + "</g>\n</g>\n</svg>\n"
}

/// Adds a board whose squares have side 1, with its upper left corner at the origin.
fn draw(out: &mut String, diagram: &Diagram, attacks: bool) {
    let n = diagram.n;
    // a1 is dark.
    let dark =
        (0..n).flat_map(|row| (row % 2..n).step_by(2).map(move |column| (column, n - 1 - row)));
    let dark: String = dark.map(|(x, y)| format!("M{x} {y}h1v1h-1z")).collect();
    let middle = |Square { column, row }: Square| {
        format!("{} {}", f64::from(column) + 0.5, f64::from(n - 1 - row) + 0.5)
    };
    let line = |[from, to]: [Square; 2]| format!("M{}L{}", middle(from), middle(to));
    let _ = writeln!(
        out,
        "<rect class=\"light\" width=\"{n}\" height=\"{n}\"/><path class=\"dark\" d=\"{dark}\"/>\n\
         <rect class=\"frame\" x=\"-.05\" y=\"-.05\" width=\"{0}\" height=\"{0}\"/>",
        f64::from(n) + 0.1
    );
    if attacks {
        let lines = diagram.queens.iter().flat_map(|&queen| diagram.lines_through(queen));
        let lines: String = lines.map(line).collect();
        let _ = writeln!(out, "<path class=\"reach\" d=\"{lines}\"/>");
        for pair in diagram.attacks() {
            let _ = writeln!(out, "<path class=\"attack\" d=\"{}\"/>", line(pair));
        }
    }
    for &Square { column, row } in &diagram.queens {
        let y = n - 1 - row;
        let _ = writeln!(out, "<use class=\"queen\" href=\"#queen\" x=\"{column}\" y=\"{y}\"/>");
    }
}
