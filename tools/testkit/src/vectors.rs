//! The known counts of the farm, `crates/farm/src/known/counts.json`, so that no test writes one
//! down a second time.
//!
//! Every function panics if the file has no count for its arguments.

use std::sync::LazyLock;

use serde_json::Value;

static COUNTS: LazyLock<Value> = LazyLock::new(|| {
    let text = include_str!("../../../crates/farm/src/known/counts.json");
    serde_json::from_str(text).expect("counts.json is JSON")
});

fn at(sequence: &str, n: u32) -> u128 {
    let first = COUNTS[sequence]["first"].as_u64().expect("a sequence begins somewhere");
    let index = u64::from(n).checked_sub(first).and_then(|index| usize::try_from(index).ok());
    let value = index.and_then(|index| COUNTS[sequence]["values"][index].as_str());
    let value = value.unwrap_or_else(|| panic!("no count of {sequence} is known for N = {n}"));
    value.parse().expect("counts are decimal")
}

/// Q(n), the number of placements of `n` queens (A000170), for `n` up to 27.
pub fn total(n: u32) -> u128 {
    at("total", n)
}

/// Number of placements up to the symmetries of the square (A002562), for `n` from 1 to 27.
pub fn fundamental(n: u32) -> u128 {
    at("fundamental", n)
}

/// Number of placements that the half turn fixes (A032522), for `n` from 1 to 32.
pub fn centrosymmetric(n: u32) -> u128 {
    at("centrosymmetric", n)
}

/// Number of placements that the quarter turn fixes (A033148), for `n` from 1 to 33.
pub fn quarter_turn(n: u32) -> u128 {
    at("quarter_turn", n)
}

/// Number of placements on a torus (A007705), for `n` from 1 to 34.
pub fn toroidal(n: u32) -> u128 {
    at("toroidal", n)
}

/// Number of placements of queens that also move as knights (A051223), for `n` from 10 to 26.
pub fn superqueens(n: u32) -> u128 {
    at("superqueens", n)
}

/// The number of ways to place queens in the first `rows` rows of a board of size `n`, without
/// removing symmetry. `None` if no closed form is known.
pub fn prefixes(n: u32, rows: u32) -> Option<u128> {
    let forms = COUNTS["prefixes"].as_array().expect("closed forms");
    let number = |value: &Value| value.as_i64().map(i128::from).expect("an integer");
    let is_known = |form: &&Value| form["rows"] == rows && number(&form["from_n"]) <= i128::from(n);
    let coefficients = forms.iter().find(is_known)?["polynomial"].as_array().expect("coefficients");
    let value = coefficients.iter().fold(0, |sum, it| sum * i128::from(n) + number(it));
    Some(u128::try_from(value).expect("a count is not negative"))
}
