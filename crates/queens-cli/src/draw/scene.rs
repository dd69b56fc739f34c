//! The parts of a picture: shapes, paths and colours.

/// A picture, in pixels from its upper left corner.
#[derive(Debug)]
pub(crate) struct Scene {
    /// A description for people who cannot see the picture.
    pub(crate) title: String,
    pub(crate) width: f32,
    pub(crate) height: f32,
    /// The shapes; later ones cover earlier ones.
    pub(crate) shapes: Vec<Shape>,
}

#[derive(Debug)]
pub(crate) struct Shape {
    /// What the shape shows: `queen`, `dark`, `attack`, …
    pub(crate) class: &'static str,
    pub(crate) path: Path,
    pub(crate) fill: Option<Colour>,
    pub(crate) stroke: Option<Stroke>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Stroke {
    pub(crate) colour: Colour,
    pub(crate) width: f32,
}

/// Red, green, blue.
pub(crate) type Colour = [u8; 3];

pub(crate) type Point = [f32; 2];

#[derive(Clone, Debug, Default)]
pub(crate) struct Path {
    pub(crate) segments: Vec<Segment>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Segment {
    Move(Point),
    Line(Point),
    Curve(Point, Point, Point),
    Close,
}

impl Path {
    /// Reads the commands M, L, C and Z of SVG, each followed by its numbers between spaces.
    ///
    /// # Panics
    ///
    /// Panics if `data`, which is always a constant of this program, is anything else.
    pub(crate) fn parse(data: &str) -> Path {
        let mut words = data.split_whitespace();
        let mut segments = Vec::new();
        while let Some(command) = words.next() {
            let mut number = || -> f32 {
                words.next().and_then(|word| word.parse().ok()).expect("a path's numbers")
            };
            let mut point = || [number(), number()];
            segments.push(match command {
                "M" => Segment::Move(point()),
                "L" => Segment::Line(point()),
                "C" => Segment::Curve(point(), point(), point()),
                command => {
                    assert_eq!(command, "Z", "a path's command");
                    Segment::Close
                }
            });
        }
        Path { segments }
    }

    pub(crate) fn circle([x, y]: Point, radius: f32) -> Path {
        // With this factor four cubic curves differ from a circle by less than 0.03%.
        let handle = 0.5523 * radius;
        let (left, right, top, bottom) = (x - radius, x + radius, y - radius, y + radius);
        Path {
            segments: vec![
                Segment::Move([right, y]),
                Segment::Curve([right, y + handle], [x + handle, bottom], [x, bottom]),
                Segment::Curve([x - handle, bottom], [left, y + handle], [left, y]),
                Segment::Curve([left, y - handle], [x - handle, top], [x, top]),
                Segment::Curve([x + handle, top], [right, y - handle], [right, y]),
                Segment::Close,
            ],
        }
    }

    pub(crate) fn add_line(&mut self, from: Point, to: Point) {
        self.segments.extend([Segment::Move(from), Segment::Line(to)]);
    }

    pub(crate) fn add_rectangle(&mut self, [x, y]: Point, [width, height]: [f32; 2]) {
        self.add_line([x, y], [x + width, y]);
        let rest = [Segment::Line([x + width, y + height]), Segment::Line([x, y + height])];
        self.segments.extend(rest);
        self.segments.push(Segment::Close);
    }

    pub(crate) fn add(&mut self, other: Path) {
        self.segments.extend(other.segments);
    }

    /// A copy that is scaled, then moved.
    pub(crate) fn placed(&self, [x, y]: Point, scale: f32) -> Path {
        let place = |[px, py]: Point| [x + scale * px, y + scale * py];
        let segments = self.segments.iter().map(|segment| match *segment {
            Segment::Move(p) => Segment::Move(place(p)),
            Segment::Line(p) => Segment::Line(place(p)),
            Segment::Curve(a, b, p) => Segment::Curve(place(a), place(b), place(p)),
            Segment::Close => Segment::Close,
        });
        Path { segments: segments.collect() }
    }
}
