//! Tests how serde stores problems and methods.

use queens_board::{Given, Method, MethodChoice, Problem, Square};
use serde_json::{from_str, to_string};

fn given(n: u32, names: &[&str]) -> Given {
    let queens: Vec<Square> =
        names.iter().map(|name| name.parse().expect("it is a square")).collect();
    Given::new(n, &queens).expect("they do not attack each other")
}

#[test]
fn problems_are_read_as_they_were_written() {
    for (problem, text) in [
        (Problem::Total { n: 8 }, r#"{"problem":"total","n":8}"#),
        (Problem::Fundamental { n: 8 }, r#"{"problem":"fundamental","n":8}"#),
        (Problem::Toroidal { n: 13 }, r#"{"problem":"toroidal","n":13}"#),
        (Problem::Superqueens { n: 10 }, r#"{"problem":"superqueens","n":10}"#),
        (
            Problem::Completions(given(50, &["ax1", "a5"])),
            r#"{"problem":"completions","n":50,"given":["ax1","a5"]}"#,
        ),
    ] {
        assert_eq!(to_string(&problem).expect("it is written"), text);
        assert_eq!(from_str::<Problem>(text).expect("it was written so"), problem);
    }
}

#[test]
fn methods_are_read_as_they_were_written() {
    for (method, text) in [
        (Method::Rows { rows: 4 }, r#"{"method":"rows","rows":4}"#),
        (Method::Prefixes { rows: 6 }, r#"{"method":"prefixes","rows":6}"#),
        (Method::Ring { width: 1 }, r#"{"method":"ring","width":1}"#),
        (Method::Halves, r#"{"method":"halves"}"#),
    ] {
        assert_eq!(to_string(&method).expect("it is written"), text);
        assert_eq!(from_str::<Method>(text).expect("it was written so"), method);
    }
    let choice = MethodChoice::Rows { rows: None };
    let text = to_string(&choice).expect("it is written");
    assert_eq!(from_str::<MethodChoice>(&text).expect("it was written so"), choice);
}

#[test]
fn queens_that_attack_each_other_are_not_read() {
    for text in [
        r#"{"problem":"completions","n":8,"given":["a1","b2"]}"#,
        r#"{"problem":"completions","n":8,"given":["i1"]}"#,
        r#"{"problem":"completions","n":65,"given":[]}"#,
        r#"{"problem":"completions","n":8,"given":["1a"]}"#,
    ] {
        assert!(from_str::<Problem>(text).is_err(), "{text}");
    }
}
