//! Draws boards with queens as scenes.

use board::squares::Square;
use solve::Placement;

use super::glyphs;
use super::scene::{Colour, Path, Point, Scene, Shape, Stroke};

const INK: Colour = [0x22, 0x1f, 0x1c];
const PAPER: Colour = [0xff, 0xff, 0xff];
const LIGHT: Colour = [0xf3, 0xe7, 0xcf];
const DARK: Colour = [0xc2, 0xa0, 0x78];
const REACH: Colour = [0x4f, 0x86, 0xb8];
const ATTACK: Colour = [0xd0, 0x16, 0x2b];

/// The outline of a queen on a square of 100 x 100: crown, collar and foot, without [`BALLS`].
const QUEEN: &str = "M 26 70 L 13.5 35 L 33 54 L 32 25 L 44 51 L 50 20 L 56 51 L 68 25 L 67 54 \
    L 86.5 35 L 74 70 C 58 65 42 65 26 70 Z \
    M 26 70 C 42 65 58 65 74 70 L 71 79 C 57 75 43 75 29 79 Z \
    M 29 79 C 43 75 57 75 71 79 C 72 84 77 86 78 91 L 22 91 C 23 86 28 84 29 79 Z";
/// Centres of the balls on the queen's crown.
const BALLS: [Point; 5] = [[12.0, 30.5], [31.5, 20.0], [50.0, 15.0], [68.5, 20.0], [88.0, 30.5]];

/// Queens on a board. They may attack each other.
#[derive(Debug)]
pub(crate) struct Diagram {
    pub(crate) n: u32,
    pub(crate) queens: Vec<Square>,
}

/// The style of drawn boards.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Style {
    /// Side of a square, in pixels.
    pub(crate) square: f32,
    /// Whether dark squares are hatched, as in print.
    pub(crate) hatched: bool,
    /// Whether the lines that queens attack are drawn.
    pub(crate) attacks: bool,
}

impl Diagram {
    /// The pairs of queens that attack each other.
    pub(crate) fn attacks(&self) -> Vec<[Square; 2]> {
        let mut pairs = Vec::new();
        for (i, &a) in self.queens.iter().enumerate() {
            let attacked = |b: &&Square| {
                let (across, up) = (a.column.abs_diff(b.column), a.row.abs_diff(b.row));
                across == 0 || up == 0 || across == up
            };
            pairs.extend(self.queens[i + 1..].iter().filter(attacked).map(|&b| [a, b]));
        }
        pairs
    }

    /// Draws one board with its coordinates.
    pub(crate) fn scene(&self, style: Style) -> Scene {
        let Style { square, .. } = style;
        let side = square * self.n as f32;
        let height = 0.32 * square;
        let digits = glyphs::width(&self.n.to_string(), height);
        let [left, below, border] = [0.6 * square + digits, 0.9 * square, 0.35 * square];
        let mut shapes = vec![paper(left + side + border, border + side + below)];
        self.draw([left, border], style, &mut shapes);
        let mut names = Path::default();
        for i in 0..self.n {
            let middle = square * (i as f32 + 0.5);
            let name = Square { column: i, row: 0 }.to_string();
            let file = name.trim_end_matches('1');
            let base = border + side + 0.62 * square;
            names.add(glyphs::words(file, [left + middle, base], height));
            let rank = (i + 1).to_string();
            let x = left - 0.3 * square - glyphs::width(&rank, height) / 2.0;
            names.add(glyphs::words(&rank, [x, border + side - middle + height / 2.0], height));
        }
        shapes.push(lines("coordinates", names, INK, 0.035 * square));
        let squares: Vec<String> = self.queens.iter().map(Square::to_string).collect();
        Scene {
            title: format!("Board of size {} with queens on {}", self.n, squares.join(" ")),
            width: left + side + border,
            height: border + side + below,
            shapes,
        }
    }

    /// Draws the board with this upper left corner.
    fn draw(&self, [left, top]: Point, style: Style, shapes: &mut Vec<Shape>) {
        let Style { square, hatched, attacks } = style;
        let side = square * self.n as f32;
        let corner = |Square { column, row }: Square| {
            [left + square * column as f32, top + square * (self.n - 1 - row) as f32]
        };
        let middle = |at| corner(at).map(|x| x + square / 2.0);
        let mut ground = Path::default();
        ground.add_rectangle([left, top], [side; 2]);
        let ground_colour = if hatched { PAPER } else { LIGHT };
        shapes.push(Shape {
            class: "light",
            path: ground,
            fill: Some(ground_colour),
            stroke: None,
        });

        let mut dark = Path::default();
        for row in 0..self.n {
            // a1 is dark.
            for column in (row % 2..self.n).step_by(2) {
                let at = corner(Square { column, row });
                if hatched {
                    hatch(&mut dark, at, square);
                } else {
                    dark.add_rectangle(at, [square; 2]);
                }
            }
        }
        shapes.push(if hatched {
            lines("dark", dark, INK, 0.018 * square)
        } else {
            Shape { class: "dark", path: dark, fill: Some(DARK), stroke: None }
        });

        for (space, width) in [(0.0, 0.03), (0.1, 0.05)] {
            let mut frame = Path::default();
            let space = space * square;
            frame.add_rectangle([left - space, top - space], [side + 2.0 * space; 2]);
            shapes.push(lines("frame", frame, INK, width * square));
        }
        if attacks {
            let mut reach = Path::default();
            for &queen in &self.queens {
                for [from, to] in reached_lines(self.n, queen) {
                    reach.add_line(middle(from), middle(to));
                }
            }
            shapes.push(lines("reach", reach, REACH, 0.035 * square));
            for [a, b] in self.attacks() {
                let mut attack = Path::default();
                attack.add_line(middle(a), middle(b));
                shapes.push(lines("attack", attack, ATTACK, 0.1 * square));
            }
        }
        let mut queen = Path::parse(QUEEN);
        BALLS.into_iter().for_each(|ball| queen.add(Path::circle(ball, 4.8)));
        for &at in &self.queens {
            let [x, y] = corner(at);
            let path = queen.placed([x + 0.06 * square, y + 0.03 * square], 0.0088 * square);
            let stroke = Some(Stroke { colour: INK, width: 0.03 * square });
            shapes.push(Shape { class: "queen", path, fill: Some(PAPER), stroke });
        }
    }
}

/// Height of a caption as a share of a sheet's width without the space between boards.
const LEAST_CAPTION: f32 = 0.008;

/// Draws many placements of one size, each with its number and symmetry.
pub(crate) fn sheet(n: u32, placements: &[Placement], style: Style) -> Scene {
    let Style { square, .. } = style;
    let side = square * n as f32;
    let across = (1..=placements.len()).find(|k| 3 * k * k >= 4 * placements.len()).unwrap_or(1);
    // Captions can be read on a sheet that is made as small as a page or a screen.
    let height = (LEAST_CAPTION * across as f32 * side).max(12.0);
    let caption = |(number, placement): (usize, &Placement)| {
        format!("{}  {}", number + 1, placement.symmetry_class().name())
    };
    let widths =
        placements.iter().enumerate().map(caption).map(|text| glyphs::width(&text, height));
    let cell = [widths.fold(side, f32::max) + 28.0, side + 24.0 + 2.0 * height];
    let down = placements.len().div_ceil(across);
    let [width, total_height] = [across as f32 * cell[0] + 28.0, down as f32 * cell[1] + 24.0];
    let mut shapes = vec![paper(width, total_height)];
    for (i, placement) in placements.iter().enumerate() {
        let middle = 14.0 + cell[0] * ((i % across) as f32 + 0.5);
        let top = 24.0 + cell[1] * (i / across) as f32;
        let diagram = Diagram { n, queens: placement.squares().collect() };
        diagram.draw([middle - side / 2.0, top], style, &mut shapes);
        let text =
            glyphs::words(&caption((i, placement)), [middle, top + side + 14.0 + height], height);
        shapes.push(lines("caption", text, INK, 0.1 * height));
    }
    let title = format!("The {} essentially different placements of {n} queens", placements.len());
    Scene { title, width, height: total_height, shapes }
}

fn paper(width: f32, height: f32) -> Shape {
    let mut path = Path::default();
    path.add_rectangle([0.0; 2], [width, height]);
    Shape { class: "paper", path, fill: Some(PAPER), stroke: None }
}

fn lines(class: &'static str, path: Path, colour: Colour, width: f32) -> Shape {
    Shape { class, path, fill: None, stroke: Some(Stroke { colour, width }) }
}

/// Adds hatching lines from the lower left to the upper right of a square.
fn hatch(path: &mut Path, [x, y]: Point, side: f32) {
    const LINES: u8 = 7;
    for i in 1..2 * LINES {
        let along = side * f32::from(i) / f32::from(LINES);
        let beyond = (along - side).max(0.0);
        let within = along.min(side);
        path.add_line([x + beyond, y + within], [x + within, y + beyond]);
    }
}

/// The ends of the row, the column and the diagonals of a square.
fn reached_lines(n: u32, Square { column, row }: Square) -> [[Square; 2]; 4] {
    let last = n - 1;
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
