//! What plotters draws on so that a plot becomes a scene of paths: its letters need no font, as in diagrams of boards.

use std::convert::Infallible;

use plotters_backend::text_anchor::{HPos, Pos, VPos};
use plotters_backend::{
    BackendColor, BackendCoord, BackendStyle, BackendTextStyle, DrawingBackend, DrawingErrorKind,
    FontTransform,
};

use crate::draw::{Path, Point, Scene, Shape, Stroke, width_of_words, words};

/// Height of a digit, as a part of the size of a font.
const DIGIT: f32 = 0.7;
/// Width of a letter's strokes, as a part of the size of a font.
const PEN: f32 = 0.08;

type Drawn = Result<(), DrawingErrorKind<Infallible>>;

impl Scene {
    fn outline(&mut self, path: Path, style: &impl BackendStyle) {
        let width = style.stroke_width() as f32;
        self.stroke(path, style.color(), width);
    }

    fn stroke(&mut self, path: Path, colour: BackendColor, width: f32) {
        let stroke = Some(Stroke { colour: on_white(colour), width });
        self.shapes.push(Shape { class: "plot", path, fill: None, stroke });
    }

    fn area(&mut self, path: Path, style: &impl BackendStyle) {
        let fill = Some(on_white(style.color()));
        self.shapes.push(Shape { class: "plot", path, fill, stroke: None });
    }
}

impl DrawingBackend for &mut Scene {
    type ErrorType = Infallible;

    fn get_size(&self) -> (u32, u32) {
        (self.width as u32, self.height as u32)
    }

    fn ensure_prepared(&mut self) -> Drawn {
        Ok(())
    }

    fn present(&mut self) -> Drawn {
        Ok(())
    }

    fn draw_pixel(&mut self, at: BackendCoord, colour: BackendColor) -> Drawn {
        let mut path = Path::default();
        path.add_rectangle(point(at), [1.0, 1.0]);
        self.area(path, &colour);
        Ok(())
    }

    fn draw_line<S: BackendStyle>(
        &mut self,
        from: BackendCoord,
        to: BackendCoord,
        style: &S,
    ) -> Drawn {
        self.draw_path([from, to], style)
    }

    fn draw_path<S: BackendStyle, I: IntoIterator<Item = BackendCoord>>(
        &mut self,
        points: I,
        style: &S,
    ) -> Drawn {
        self.outline(Path::through(points.into_iter().map(point)), style);
        Ok(())
    }

    fn draw_rect<S: BackendStyle>(
        &mut self,
        from: BackendCoord,
        to: BackendCoord,
        style: &S,
        fill: bool,
    ) -> Drawn {
        let ([left, top], [right, bottom]) = (point(from), point(to));
        let mut path = Path::default();
        path.add_rectangle([left, top], [right - left, bottom - top]);
        if fill {
            self.area(path, style)
        } else {
            self.outline(path, style)
        }
        Ok(())
    }

    fn draw_circle<S: BackendStyle>(
        &mut self,
        centre: BackendCoord,
        radius: u32,
        style: &S,
        fill: bool,
    ) -> Drawn {
        let path = Path::circle(point(centre), radius as f32);
        if fill {
            self.area(path, style)
        } else {
            self.outline(path, style)
        }
        Ok(())
    }

    fn draw_text<T: BackendTextStyle>(&mut self, text: &str, style: &T, at: BackendCoord) -> Drawn {
        let size = style.size() as f32;
        let (digit, half) = (DIGIT * size, width_of_words(text, DIGIT * size) / 2.0);
        let Pos { h_pos, v_pos } = style.anchor();
        let centre = match h_pos {
            HPos::Left => half,
            HPos::Right => -half,
            HPos::Center => 0.0,
        };
        let base = match v_pos {
            VPos::Top => (size + digit) / 2.0,
            VPos::Center => digit / 2.0,
            VPos::Bottom => (digit - size) / 2.0,
        };
        let path = words(text, [centre, base], digit);
        let path = match style.transform() {
            FontTransform::None => path,
            FontTransform::Rotate90 => path.turned().turned().turned(),
            FontTransform::Rotate180 => path.turned().turned(),
            FontTransform::Rotate270 => path.turned(),
        };
        self.stroke(path.placed(point(at), 1.0), style.color(), PEN * size);
        Ok(())
    }

    fn estimate_text_size<T: BackendTextStyle>(
        &self,
        text: &str,
        style: &T,
    ) -> Result<(u32, u32), DrawingErrorKind<Infallible>> {
        let size = style.size() as f32;
        Ok((width_of_words(text, DIGIT * size).ceil() as u32, size.ceil() as u32))
    }
}

fn point((x, y): BackendCoord) -> Point {
    [x as f32, y as f32]
}

/// A colour as it looks on white, because a scene has no transparent ones.
fn on_white(BackendColor { alpha, rgb: (red, green, blue) }: BackendColor) -> [u8; 3] {
    [red, green, blue].map(|part| (f64::from(part) * alpha + 255.0 * (1.0 - alpha)).round() as u8)
}
