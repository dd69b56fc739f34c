//! Letters and digits as strokes, so that pictures need no font.

use super::scene::Path;

/// Height of a digit, in units of the strokes below.
const HEIGHT: f32 = 6.0;
/// Space between two letters, in the same units.
const BETWEEN: f32 = 1.5;

const BOWL: &str =
    "M 4 -2 C 4 -0.9 3.1 0 2 0 C 0.9 0 0 -0.9 0 -2 C 0 -3.1 0.9 -4 2 -4 C 3.1 -4 4 -3.1 4 -2 Z ";
const ARCH: &str = "M 0 -2.2 C 0 -3.3 0.9 -4 2 -4 C 3.2 -4 4 -3.3 4 -2.2 L 4 0 ";

/// The width of a letter, its round part (the bowl of o, the arch of n, or nothing) and its other strokes.
/// The base line is at 0, and up is negative.
fn glyph(letter: char) -> (f32, &'static str, &'static str) {
    match letter {
        'a' => (4.0, BOWL, "M 4 -4 L 4 0"),
        'b' => (4.0, BOWL, "M 0 -6 L 0 0"),
        'c' => (
            3.6,
            "",
            "M 3.6 -3.2 C 3.2 -3.7 2.7 -4 2 -4 C 0.9 -4 0 -3.1 0 -2 C 0 -0.9 0.9 0 2 0 \
             C 2.7 0 3.2 -0.3 3.6 -0.8",
        ),
        'd' => (4.0, BOWL, "M 4 -6 L 4 0"),
        'e' => (
            4.0,
            "",
            "M 0 -2 L 4 -2 C 4 -3.1 3.1 -4 2 -4 C 0.9 -4 0 -3.1 0 -2 C 0 -0.9 0.9 0 2 0 \
             C 2.8 0 3.3 -0.3 3.7 -0.8",
        ),
        'f' => (2.6, "", "M 2.6 -6 C 1.5 -6 1 -5.5 1 -4.5 L 1 0 M 0 -4 L 2.4 -4"),
        'g' => (4.0, BOWL, "M 4 -4 L 4 0 C 4 1.3 3.1 2 2 2 C 1.2 2 0.6 1.7 0.3 1.3"),
        'h' => (4.0, ARCH, "M 0 -6 L 0 0"),
        'i' => (1.0, "", "M 0.5 -4 L 0.5 0 M 0.5 -5.8 L 0.5 -5.6"),
        'j' => (1.2, "", "M 1.2 -4 L 1.2 1 C 1.2 1.7 0.8 2 0 2 M 1.2 -5.8 L 1.2 -5.6"),
        'k' => (3.6, "", "M 0 -6 L 0 0 M 3.4 -4 L 0 -1.4 M 1.3 -2.4 L 3.6 0"),
        'l' => (1.0, "", "M 0.5 -6 L 0.5 0"),
        'm' => (
            5.4,
            "",
            "M 0 -4 L 0 0 M 0 -2.6 C 0 -3.5 0.7 -4 1.4 -4 C 2.2 -4 2.7 -3.5 2.7 -2.6 L 2.7 0 \
             M 2.7 -2.6 C 2.7 -3.5 3.4 -4 4.1 -4 C 4.9 -4 5.4 -3.5 5.4 -2.6 L 5.4 0",
        ),
        'n' => (4.0, ARCH, "M 0 -4 L 0 0"),
        'o' => (4.0, BOWL, ""),
        'p' => (4.0, BOWL, "M 0 -4 L 0 2"),
        'q' => (4.0, BOWL, "M 4 -4 L 4 2"),
        'r' => (2.2, "", "M 0 -4 L 0 0 M 0 -2.2 C 0.2 -3.4 1 -4 2.2 -4"),
        's' => (
            3.1,
            "",
            "M 3 -3.4 C 2.7 -3.8 2.2 -4 1.6 -4 C 0.7 -4 0.1 -3.6 0.1 -2.9 \
             C 0.1 -1.4 3.1 -2.6 3.1 -1.1 C 3.1 -0.4 2.5 0 1.6 0 C 0.9 0 0.3 -0.3 0 -0.8",
        ),
        't' => (2.4, "", "M 1 -5.6 L 1 -1.2 C 1 -0.4 1.4 0 2.4 0 M 0 -4 L 2.4 -4"),
        'u' => (4.0, "", "M 0 -4 L 0 -1.8 C 0 -0.7 0.8 0 2 0 C 3.1 0 4 -0.7 4 -1.8 M 4 -4 L 4 0"),
        'v' => (3.6, "", "M 0 -4 L 1.8 0 L 3.6 -4"),
        'w' => (5.2, "", "M 0 -4 L 1.3 0 L 2.6 -4 L 3.9 0 L 5.2 -4"),
        'x' => (3.4, "", "M 0 -4 L 3.4 0 M 3.4 -4 L 0 0"),
        'y' => (3.6, "", "M 0 -4 L 1.8 0 M 3.6 -4 L 1.8 0 L 1 1.6 C 0.8 1.9 0.6 2 0.2 2"),
        'z' => (3.2, "", "M 0 -4 L 3.2 -4 L 0 0 L 3.2 0"),
        '0' => (
            3.6,
            "",
            "M 1.8 -6 C 0.6 -6 0 -4.8 0 -3 C 0 -1.2 0.6 0 1.8 0 C 3 0 3.6 -1.2 3.6 -3 \
             C 3.6 -4.8 3 -6 1.8 -6 Z",
        ),
        '1' => (2.4, "", "M 0.4 -4.8 L 2 -6 L 2 0"),
        '2' => (
            3.6,
            "",
            "M 0.1 -4.6 C 0.2 -5.5 0.9 -6 1.8 -6 C 2.8 -6 3.5 -5.4 3.5 -4.4 C 3.5 -3.2 2 -2 0 0 \
             L 3.6 0",
        ),
        '3' => (
            3.6,
            "",
            "M 0.2 -5.3 C 0.6 -5.8 1.1 -6 1.8 -6 C 2.8 -6 3.4 -5.4 3.4 -4.6 \
             C 3.4 -3.7 2.7 -3.2 1.6 -3.2 C 2.8 -3.2 3.6 -2.6 3.6 -1.6 C 3.6 -0.6 2.9 0 1.8 0 \
             C 1 0 0.3 -0.3 0 -0.9",
        ),
        '4' => (3.8, "", "M 2.8 0 L 2.8 -6 L 0 -1.6 L 3.8 -1.6"),
        '5' => (
            3.6,
            "",
            "M 3.3 -6 L 0.5 -6 L 0.2 -3.2 C 0.6 -3.6 1.1 -3.8 1.7 -3.8 C 2.9 -3.8 3.6 -3 3.6 -1.9 \
             C 3.6 -0.7 2.8 0 1.7 0 C 0.9 0 0.3 -0.3 0 -0.8",
        ),
        '6' => (
            3.6,
            "",
            "M 3.2 -5.4 C 2.9 -5.8 2.4 -6 1.9 -6 C 0.6 -6 0 -4.6 0 -2.2 C 0 -0.7 0.7 0 1.8 0 \
             C 2.9 0 3.6 -0.8 3.6 -1.9 C 3.6 -3 2.9 -3.7 1.8 -3.7 C 0.9 -3.7 0.2 -3.2 0 -2.2",
        ),
        '7' => (3.6, "", "M 0 -6 L 3.6 -6 L 1.2 0"),
        '8' => (
            3.6,
            "",
            "M 1.8 -3.2 C 0.9 -3.2 0.2 -3.7 0.2 -4.6 C 0.2 -5.5 0.9 -6 1.8 -6 \
             C 2.7 -6 3.4 -5.5 3.4 -4.6 C 3.4 -3.7 2.7 -3.2 1.8 -3.2 C 0.7 -3.2 0 -2.6 0 -1.6 \
             C 0 -0.6 0.7 0 1.8 0 C 2.9 0 3.6 -0.6 3.6 -1.6 C 3.6 -2.6 2.9 -3.2 1.8 -3.2 Z",
        ),
        '9' => (
            3.6,
            "",
            "M 0.4 -0.6 C 0.7 -0.2 1.2 0 1.7 0 C 3 0 3.6 -1.4 3.6 -3.8 C 3.6 -5.3 2.9 -6 1.8 -6 \
             C 0.7 -6 0 -5.2 0 -4.1 C 0 -3 0.7 -2.3 1.8 -2.3 C 2.7 -2.3 3.4 -2.8 3.6 -3.8",
        ),
        'N' => (4.4, "", "M 0 0 L 0 -6 L 4.4 0 L 4.4 -6"),
        '-' => (2.4, "", "M 0 -2 L 2.4 -2"),
        ':' => (0.6, "", "M 0.3 -3.6 L 0.3 -3.4 M 0.3 -0.2 L 0.3 0"),
        ',' => (0.8, "", "M 0.6 -0.3 L 0.6 0 L 0.1 1"),
        _ => (2.0, "", ""),
    }
}

/// Width of words whose digits have this height.
pub(crate) fn width(words: &str, height: f32) -> f32 {
    let units: f32 = words.chars().map(|letter| glyph(letter).0 + BETWEEN).sum();
    (units - BETWEEN).max(0.0) * height / HEIGHT
}

/// The strokes of words (letters a to z, N, digits, spaces, hyphens, colons and commas), centred at `x` on the base line `y`.
pub(crate) fn words(words: &str, [x, y]: [f32; 2], height: f32) -> Path {
    let scale = height / HEIGHT;
    let mut at = x - width(words, height) / 2.0;
    let mut path = Path::default();
    for letter in words.chars() {
        let (width, round, strokes) = glyph(letter);
        path.add(Path::parse(round).placed([at, y], scale));
        path.add(Path::parse(strokes).placed([at, y], scale));
        at += (width + BETWEEN) * scale;
    }
    path
}
