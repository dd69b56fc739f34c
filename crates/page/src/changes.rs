//! What has changed in the text of a part of a page, for a browser that has its former text.
//!
//! ```text
//!   former text    <td>12 tasks</td><td>ann</td>
//!   new text       <td>13 tasks</td><td>ann</td>
//!   changes        [0,1]   "13 tasks</td>"   [2,2]      pieces 0 and 1 on, new text, pieces 2 to 3
//! ```
//!
//! Both sides cut a text behind each `>`, which in the HTML of a part only ends a tag. The rows of
//! a table may move, and a row that has not changed costs nothing. The script `live.js` has the
//! other side.

use std::collections::HashMap;

use serde_json::{Value, json};

/// The changes from the text `former` to the text `new`: strings that are new, and pairs of the
/// index of a piece of the former text and of how many pieces from there on are kept.
pub(crate) fn changes(former: &str, new: &str) -> Vec<Value> {
    let pieces: Vec<&str> = former.split_inclusive('>').collect();
    // Where the pieces are that the former text has once. Others do not say where the text goes on.
    let mut places: HashMap<&str, Option<usize>> = HashMap::new();
    for (at, piece) in pieces.iter().enumerate() {
        places.entry(piece).and_modify(|place| *place = None).or_insert(Some(at));
    }
    let mut steps = Vec::new();
    // The index of the piece that follows if the text goes on like the former one.
    let mut next = 0;
    for piece in new.split_inclusive('>') {
        let goes_on = pieces.get(next) == Some(&piece);
        let place = if goes_on { Some(next) } else { places.get(piece).copied().flatten() };
        match (place, steps.last_mut()) {
            (Some(at), Some(Step::Kept { from, count })) if *from + *count == at => *count += 1,
            (Some(at), _) => steps.push(Step::Kept { from: at, count: 1 }),
            (None, Some(Step::New(text))) => text.push_str(piece),
            (None, _) => steps.push(Step::New(piece.into())),
        }
        next = place.unwrap_or(next) + 1;
    }
    steps.into_iter().map(Value::from).collect()
}

/// A step by which the new text is put together.
enum Step {
    Kept { from: usize, count: usize },
    New(String),
}

impl From<Step> for Value {
    fn from(step: Step) -> Value {
        match step {
            Step::Kept { from, count } => json!([from, count]),
            Step::New(text) => text.into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The new text, as a browser puts it together.
    fn applied(former: &str, steps: &[Value]) -> String {
        let pieces: Vec<&str> = former.split_inclusive('>').collect();
        let text = |step: &Value| match step {
            Value::String(text) => text.clone(),
            step => {
                let [from, count] = [0, 1].map(|at| step[at].as_u64().expect("a number") as usize);
                pieces[from..from + count].concat()
            }
        };
        steps.iter().map(text).collect()
    }

    fn table(rows: impl IntoIterator<Item = (u32, u32)>) -> String {
        let row = |(job, done)| {
            format!("<tr><th><a href=\"jobs/{job}\">{job}</a></th><td>{done}</td></tr>")
        };
        format!("<table>{}</table>", rows.into_iter().map(row).collect::<String>())
    }

    #[test]
    fn only_what_is_new_is_sent_when_cells_change_and_rows_come_move_and_go() {
        let rows = |jobs: std::ops::Range<u32>| jobs.map(|job| (job, 7));
        let former = table(rows(0..100));
        let moved = rows(0..1).chain(rows(51..100)).chain(rows(1..51));
        for (new, text) in [
            (table(rows(0..100)), 0),
            (table(rows(0..100).map(|(job, done)| (job, done + job / 99))), "8</td>".len()),
            (table(rows(1..100)), 0),
            (table(rows(0..101)), table(rows(100..101)).len() - "<table></table>".len()),
            (table(moved), "<tr><th>".len()),
            (String::new(), 0),
        ] {
            let steps = changes(&former, &new);
            assert_eq!(applied(&former, &steps), new);
            let sent: usize = steps.iter().filter_map(|step| Some(step.as_str()?.len())).sum();
            assert!(sent <= text && steps.len() <= 6, "{steps:?}");
        }
        assert_eq!(changes("", &former), [json!(former)], "the first time, all of it is new");
        assert_eq!(changes(&former, &former).len(), 1);
    }

    #[test]
    fn any_text_becomes_any_other() {
        let letters = ["<a>", "<b>", "</b>", "x", "é<i>", "\u{202f}"];
        // Texts of up to five pieces, each of which is one of six, against a few others.
        let text = |mut number: usize| {
            let mut text = String::new();
            while number > 0 {
                text.push_str(letters[number % 6]);
                number /= 6;
            }
            text
        };
        for former in (0..7_776).step_by(31).map(text) {
            for new in (0..7_776).step_by(37).map(text) {
                assert_eq!(applied(&former, &changes(&former, &new)), new, "from {former}");
            }
        }
    }
}
