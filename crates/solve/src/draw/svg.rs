//! Draws boards as SVG. Elements have classes that say what they show: `queen`, `dark`, `attack`, ...

use std::fmt::Write;

use crate::Placement;
use board::squares::Square;

use super::Diagram;

/// A queen on a square of side 1 from the upper left corner, the colours, and the hatching of dark squares.
const DEFINITIONS: &str = r##"<defs>
<g id="queen" transform="translate(.06 .03) scale(.0088)">
<path d="M26 70 13.5 35 33 54 32 25 44 51 50 20 56 51 68 25 67 54 86.5 35 74 70Q50 63 26 70Zm0 0Q50 63 74 70L71 79Q50 74 29 79Zm3 9Q50 74 71 79C72 84 77 86 78 91H22C23 86 28 84 29 79Z"/>
<circle cx="12" cy="30.5" r="4.8"/><circle cx="31.5" cy="20" r="4.8"/><circle cx="50" cy="15" r="4.8"/>
<circle cx="68.5" cy="20" r="4.8"/><circle cx="88" cy="30.5" r="4.8"/>
</g>
<pattern id="hatch" width="1" height="1" patternUnits="userSpaceOnUse" patternTransform="rotate(45) scale(.1)">
<path d="M.5 0V1" stroke="#221f1c" stroke-width=".18"/>
</pattern>
</defs>
<style>
.light { fill: #f3e7cf } .dark { fill: #c2a078 } .hatched .light { fill: #fff } .hatched .dark { fill: url(#hatch) }
.frame, .reach, .attack { fill: none; stroke: #221f1c; stroke-width: .04; stroke-linecap: round }
.reach { stroke: #4f86b8 } .attack { stroke: #d0162b; stroke-width: .1 }
.queen { fill: #fff; stroke: #221f1c; stroke-width: 3.4; stroke-linejoin: round }
text { fill: #221f1c; font-family: sans-serif; text-anchor: middle }
</style>
"##;

/// The style of drawn boards.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Style {
    /// Side of a square, in pixels.
    pub square: u16,
    /// Whether dark squares are hatched, as in print.
    pub hatched: bool,
    /// Whether the lines that queens attack are drawn.
    pub attacks: bool,
}

/// One board with its coordinates.
pub fn svg(diagram: &Diagram, style: Style) -> String {
    let squares: Vec<String> = diagram.queens.iter().map(Square::to_string).collect();
    let title = format!("Board of size {} with queens on {}", diagram.n, squares.join(" "));
    let [n, square] = [f64::from(diagram.n), f64::from(style.square)];
    let [left, top] = [1.1, 0.35];
    let mut content = format!("<g transform=\"scale({square}) translate({left} {top})\">\n");
    draw(&mut content, diagram, style);
    content += "<g class=\"coordinates\" font-size=\".42\">\n";
    for (file, middle) in diagram.files().zip((0..).map(|i| f64::from(i) + 0.5)) {
        let (rank, below) = (middle + 0.5, n + 0.62);
        let _ = writeln!(content, "<text x=\"{middle}\" y=\"{below:.2}\">{file}</text>");
        let y = n - middle + 0.15;
        let _ = writeln!(content, "<text x=\"-.5\" y=\"{y:.2}\">{rank}</text>");
    }
    content += "</g>\n</g>\n";
    document(&title, [square * (n + left + 0.35), square * (n + top + 0.9)], &content)
}

/// Many placements of one size on a sheet, each with its number and symmetry.
pub fn sheet(n: u32, placements: &[Placement], style: Style) -> String {
    /// Space between boards, in pixels.
    const SPACE: f64 = 28.0;
    let title = format!("The {} essentially different placements of {n} queens", placements.len());
    let (square, side) = (f64::from(style.square), f64::from(style.square) * f64::from(n));
    let across = (1..=placements.len()).find(|k| 3 * k * k >= 4 * placements.len()).unwrap_or(1);
    // Captions can be read on a sheet that is made as small as a page or a screen.
    let height = (0.011 * across as f64 * side).max(14.0);
    // No caption has more letters than "12  quarter turn", each about 0.6 times as wide as high.
    let cell = [side.max(16.0 * 0.6 * height) + SPACE, side + SPACE + 2.0 * height];
    let mut content = String::new();
    for (i, placement) in placements.iter().enumerate() {
        let left = SPACE / 2.0 + cell[0] * ((i % across) as f64 + 0.5) - side / 2.0;
        let top = SPACE / 2.0 + cell[1] * (i / across) as f64;
        let at = format!("translate({left:.1} {top:.1}) scale({square})");
        let _ = writeln!(content, "<g transform=\"{at}\">");
        draw(&mut content, &Diagram { n, queens: placement.squares().collect() }, style);
        let (x, y) = (left + side / 2.0, top + side + 1.5 * height);
        let caption = format!("{}  {}", i + 1, placement.symmetry_class().name());
        let class = format!("class=\"caption\" font-size=\"{height:.1}\"");
        let _ = writeln!(content, "</g>\n<text {class} x=\"{x:.1}\" y=\"{y:.1}\">{caption}</text>");
    }
    let rows = placements.len().div_ceil(across);
    document(&title, [cell[0] * across as f64 + SPACE, cell[1] * rows as f64 + SPACE], &content)
}

fn document(title: &str, [width, height]: [f64; 2], content: &str) -> String {
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.0}\" height=\"{height:.0}\" \
         viewBox=\"0 0 {width:.1} {height:.1}\" role=\"img\">\n<title>{title}</title>\n{DEFINITIONS}\
         <rect class=\"paper\" width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n{content}</svg>\n"
    )
}

/// Adds a board whose squares have side 1, with its upper left corner at the origin.
fn draw(out: &mut String, diagram: &Diagram, style: Style) {
    let n = diagram.n;
    // a1 is dark.
    let dark =
        (0..n).flat_map(|row| (row % 2..n).step_by(2).map(move |column| (column, n - 1 - row)));
    let dark: String = dark.map(|(x, y)| format!("M{x} {y}h1v1h-1z")).collect();
    let middle = |Square { column, row }: Square| {
        format!("{} {}", f64::from(column) + 0.5, f64::from(n - 1 - row) + 0.5)
    };
    let line = |[from, to]: [Square; 2]| format!("M{}L{}", middle(from), middle(to));
    let hatched = if style.hatched { " class=\"hatched\"" } else { "" };
    let _ = writeln!(
        out,
        "<g{hatched}><rect class=\"light\" width=\"{n}\" height=\"{n}\"/><path class=\"dark\" d=\"{dark}\"/></g>\n\
         <rect class=\"frame\" x=\"-.05\" y=\"-.05\" width=\"{0}\" height=\"{0}\"/>",
        f64::from(n) + 0.1
    );
    if style.attacks {
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
