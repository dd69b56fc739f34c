//! Draws boards as SVG. Elements have classes that say what they show: `queen`, `dark`, `attack`, ...

use std::fmt::Write;

use board::squares::Square;

use super::Diagram;

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

/// The board with its coordinates. A square has 56 pixels, or fewer on a board that would be wider than 640. With
/// `attacks`, the lines that queens attack are drawn.
pub fn svg(diagram: &Diagram, attacks: bool) -> String {
    let squares: Vec<String> = diagram.queens.iter().map(Square::to_string).collect();
    let title = format!("Board of size {} with queens on {}", diagram.n, squares.join(" "));
    let n = f64::from(diagram.n);
    let square = f64::from((640 / diagram.n).clamp(1, 56));
    let [left, top] = [1.1, 0.35];
    let mut content = format!("<g transform=\"scale({square}) translate({left} {top})\">\n");
    draw(&mut content, diagram, attacks);
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

fn document(title: &str, [width, height]: [f64; 2], content: &str) -> String {
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.0}\" height=\"{height:.0}\" \
         viewBox=\"0 0 {width:.1} {height:.1}\" role=\"img\">\n<title>{title}</title>\n{DEFINITIONS}\
         <rect class=\"paper\" width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n{content}</svg>\n"
    )
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
