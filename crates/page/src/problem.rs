//! What is counted, for people who have never heard of it: in words, and as a picture of one
//! placement.

use std::fmt::Write;

use farm::{JobView, Problem};
use maud::{Markup, html};

/// What a job counts, as a sentence.
pub(crate) fn meaning(job: &JobView) -> Markup {
    let shard = &job.spec.shard;
    html! {
        "It counts " (counted(&job.spec.plan.problem))
        @if !shard.is_all() { ", and of them the shard " (shard.to_string()) }
        "."
    }
}

/// What is counted, as the end of a sentence: "the ways to place 8 queens …".
fn counted(problem: &Problem) -> String {
    let n = problem.n();
    let board = format!("a board of {n}\u{a0}×\u{a0}{n} squares");
    let queens =
        |number: u32| if number == 1 { "1 queen".into() } else { format!("{number} queens") };
    let place = format!("the ways to place {} on {board}", queens(n));
    let apart = "no two share a row, a column or a diagonal";
    match problem {
        Problem::Fundamental { .. } => {
            format!("{place} so that {apart}, where turned and mirrored images of a way count once")
        }
        Problem::Toroidal { .. } => {
            format!(
                "{place} so that {apart}, which goes on at the opposite edge where it leaves the board"
            )
        }
        Problem::Superqueens { .. } => {
            format!("{place} so that {apart} and none is a knight's move from another")
        }
        Problem::Completions(given) if given.queens().next().is_some() => {
            let more = queens(given.open_rows().count() as u32);
            let given = given.to_string().replace(',', ", ");
            format!(
                "the ways to add {more} to those that stand on {given} of {board} so that {apart}"
            )
        }
        Problem::Total { .. } | Problem::Completions(_) => format!("{place} so that {apart}"),
    }
}

/// A picture of a placement: the columns of its queens, from the lowest row up. Given queens have
/// another colour.
pub(crate) fn picture(problem: &Problem, columns: &[u32]) -> Markup {
    let n = columns.len();
    let given = |row: usize| {
        let mut queens = problem.given().into_iter().flat_map(|given| given.queens());
        queens.any(|queen| queen.row as usize == row)
    };
    let (mut dark, mut queens) = (String::new(), [String::new(), String::new()]);
    for (row, column) in columns.iter().enumerate() {
        let y = n - 1 - row;
        // The style sheet dashes these lines. The lower left square is dark.
        let _ = write!(dark, "M{} {y}.5H{n}", row % 2);
        let crown = "l-.08-.42.2.2.18-.34.18.34.2-.2-.08.42z";
        let _ = write!(queens[usize::from(given(row))], "M{column}.2 {y}.76{crown}");
    }
    let [placed, given] = queens;
    let places: Vec<String> = columns.iter().map(|column| (column + 1).to_string()).collect();
    html! {
        figure {
            svg.board viewBox=(format!("0 0 {n} {n}")) role="img"
                aria-label=(format!("A placement: the columns of its queens from the lowest row up are {}", places.join(", "))) {
                rect width=(n) height=(n) {}
                path.dark d=(dark) {}
                path.queen d=(placed) {}
                @if !given.is_empty() { path.given d=(given) {} }
            }
            figcaption { "One of them" @if !given.is_empty() { "; the blue queens were given" } }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_visitor_is_told_what_is_counted() {
        let given = Problem::from_text("completions a1,c2", 8).expect("it is a problem");
        for problem in Problem::all(8).filter(|problem| problem.given().is_none()).chain([given]) {
            let text = counted(&problem);
            assert!(text.starts_with("the ways to ") && text.contains("8\u{a0}×\u{a0}8"), "{text}");
            assert!(!text.contains(problem.name()), "a newcomer does not know the name: {text}");
        }
        let text = counted(&given);
        assert!(text.contains("add 6 queens to those that stand on a1, c2"), "{text}");
    }

    #[test]
    fn a_placement_is_drawn_with_row_0_below_and_its_given_queens_apart() {
        let given = Problem::from_text("completions a2", 4).expect("it is a problem");
        let html = picture(&given, &[2, 0, 3, 1]).into_string();
        let path = |class: &str| {
            let path = html.split(&format!("<path class=\"{class}\" d=\"")).nth(1);
            path.and_then(|path| path.split('"').next()).expect("there is one").to_string()
        };
        assert_eq!(path("dark"), "M0 3.5H4M1 2.5H4M0 1.5H4M1 0.5H4");
        let squares = |class: &str| -> Vec<String> {
            path(class)
                .split('M')
                .skip(1)
                .map(|it| it.split('l').next().unwrap_or(it).into())
                .collect()
        };
        assert_eq!(squares("queen"), ["2.2 3.76", "3.2 1.76", "1.2 0.76"]);
        assert_eq!(squares("given"), ["0.2 2.76"]);
        assert!(html.contains("are 3, 1, 4, 2\""), "{html}");

        let most: Vec<u32> = (0..64).collect();
        assert!(picture(&Problem::Total { n: 64 }, &most).into_string().len() < 6_000);
    }
}
