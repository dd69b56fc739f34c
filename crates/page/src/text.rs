//! Numbers as people read them.

use std::time::Duration;

use maud::{Markup, html};
use time::OffsetDateTime;

/// A number with its digits in groups of three.
pub(crate) fn grouped(number: impl ToString) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() * 2);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push('\u{202f}'); // a narrow space at which no line is broken
        }
        text.push(digit);
    }
    text
}

/// A rate or a size with three digits and a prefix: 12.3 k.
pub(crate) fn short(number: f64) -> String {
    const PREFIXES: [&str; 8] =
        ["", "\u{a0}k", "\u{a0}M", "\u{a0}G", "\u{a0}T", "\u{a0}P", "\u{a0}E", "\u{a0}Z"];
    // The sum of no rates is a negative zero.
    let (mut number, mut prefix) = (number + 0.0, 0);
    while number >= 999.5 && prefix + 1 < PREFIXES.len() {
        (number, prefix) = (number / 1_000.0, prefix + 1);
    }
    let decimals = match number {
        ..9.995 if number > 0.0 => 2,
        ..99.95 if number > 0.0 => 1,
        _ => 0,
    };
    format!("{number:.decimals$}{}", PREFIXES[prefix])
}

/// A rate, or a dash while there is none.
pub(crate) fn rate(per_second: f64) -> String {
    if per_second > 0.0 { short(per_second) } else { "–".into() }
}

/// A time with its two largest units: 3 h 12 min.
pub(crate) fn time(duration: Duration) -> String {
    let seconds = duration.as_secs();
    let (minutes, hours, days) = (seconds / 60, seconds / 3_600, seconds / 86_400);
    match (days, hours, minutes) {
        _ if duration.as_millis() < 100 => format!("{}\u{a0}ms", duration.as_millis()),
        (0, 0, 0) if seconds < 10 => format!("{:.1}\u{a0}s", duration.as_secs_f64()),
        (0, 0, 0) => format!("{seconds}\u{a0}s"),
        (0, 0, _) => format!("{minutes}\u{a0}min\u{a0}{}\u{a0}s", seconds % 60),
        (0, _, _) => format!("{hours}\u{a0}h\u{a0}{}\u{a0}min", minutes % 60),
        (..100, _, _) => format!("{days}\u{a0}d\u{a0}{}\u{a0}h", hours % 24),
        _ => format!("{}\u{a0}years", short(days as f64 / 365.25)),
    }
}

/// The thread time of so many microseconds.
pub(crate) fn of_threads(us: u64) -> String {
    time(Duration::from_micros(us))
}

/// A percentage. It says 100% only if `part` is all of `whole`.
pub(crate) fn percent(part: u64, whole: u64) -> String {
    if part >= whole {
        return "100%".into();
    }
    let hundredths = u128::from(part) * 10_000 / u128::from(whole);
    format!("{}.{:02}%", hundredths / 100, hundredths % 100)
}

/// A Unix time in milliseconds, to be read at `now_ms`: the time in UTC, with the date if the day
/// is not today. The script `live.js` shows it as that of the reader's place, in the same form, and
/// keeps the title.
pub(crate) fn moment(now_ms: i64, unix_ms: i64) -> Markup {
    clock(now_ms, unix_ms, "HH:MM:SS".len())
}

/// The time at which something ends that takes `seconds` from now on, to the minute: it is an
/// estimate, and little is sent to those who follow a list of such times.
pub(crate) fn end(now_ms: i64, seconds: f64) -> Markup {
    clock(now_ms, now_ms.saturating_add((seconds * 1e3) as i64), "HH:MM".len())
}

/// The first `digits` characters of the time of day, and the date unless it is today's.
fn clock(now_ms: i64, unix_ms: i64, digits: usize) -> Markup {
    let Some((date, time)) = utc(unix_ms) else { return html! { "at an unknown time" } };
    let time = &time[..digits];
    let is_today = utc(now_ms).is_some_and(|(today, _)| today == date);
    html! {
        time.at datetime=(format!("{date}T{time}Z")) title=(format!("{date} {time} UTC")) {
            @if !is_today { (date) " " } (time)
        }
    }
}

/// The date and the time of day in UTC; `None` after the year 9999.
fn utc(unix_ms: i64) -> Option<(String, String)> {
    let at = OffsetDateTime::from_unix_timestamp(unix_ms.div_euclid(1_000)).ok()?;
    let (hour, minute, second) = at.to_hms();
    Some((at.date().to_string(), format!("{hour:02}:{minute:02}:{second:02}")))
}

/// How long before `now_ms` the time `at_ms` was, as in "3 min ago".
pub(crate) fn ago(now_ms: i64, at_ms: i64) -> String {
    let ms = u64::try_from(now_ms.saturating_sub(at_ms)).unwrap_or(0);
    long_ago(Duration::from_millis(ms))
}

/// [`ago`], with the time itself as a title.
pub(crate) fn since(now_ms: i64, at_ms: i64) -> Markup {
    let Some((date, time)) = utc(at_ms) else { return html! { "at an unknown time" } };
    html! {
        time datetime=(format!("{date}T{time}Z")) title=(format!("{date} {time} UTC")) {
            (ago(now_ms, at_ms))
        }
    }
}

/// How long ago something was, in its largest unit from minutes on. A list of such times changes
/// seldom, so that little is sent to those who follow it.
pub(crate) fn long_ago(duration: Duration) -> String {
    let minutes = duration.as_secs() / 60;
    match (minutes / 1_440, minutes / 60) {
        (0, 0) if minutes == 0 => "under 1\u{a0}min ago".into(),
        (0, 0) => format!("{minutes}\u{a0}min ago"),
        (0, hours) => format!("{hours}\u{a0}h ago"),
        (days, _) => format!("{}\u{a0}d ago", grouped(days)),
    }
}

/// A sentence. Commands between backquotes become elements of their own.
pub(crate) fn sentence(text: &str) -> Markup {
    html! {
        @for (at, part) in text.split('`').enumerate() {
            @if at % 2 == 1 { code { (part) } } @else { (part) }
        }
    }
}

/// A number of things: 1 job, 2 jobs.
pub(crate) fn plural(number: impl ToString, thing: &str) -> String {
    let number = number.to_string();
    format!("{} {thing}{}", grouped(&number), if number == "1" { "" } else { "s" })
}

/// Numbers with what they are of, as in "2 waiting, 1 paused". Those that are zero are left out.
pub(crate) fn nonzero<const N: usize>(numbers: [(u64, &str); N]) -> String {
    let said = numbers.into_iter().filter(|&(number, _)| number > 0);
    let said: Vec<String> =
        said.map(|(number, of)| format!("{}\u{a0}{of}", grouped(number))).collect();
    said.join(", ")
}

/// A number, or a dash for none.
pub(crate) fn or_dash(number: u64) -> String {
    if number > 0 { grouped(number) } else { "–".into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_grouped_or_have_three_digits_or_are_a_percentage() {
        let spaced = |number: u128| grouped(number).replace('\u{202f}', " ");
        assert_eq!([0, 999, 1_000, 14_772_512].map(spaced), ["0", "999", "1 000", "14 772 512"]);

        let plain = |number: f64| short(number).replace('\u{a0}', " ");
        let none: f64 = [].iter().sum();
        let texts = [none, 0.25, 12.34, 999.4, 999.6, 1.0e6, 2.0e20, 1.0e25].map(plain);
        assert_eq!(texts, ["0", "0.25", "12.3", "999", "1.00 k", "1.00 M", "200 E", "10000 Z"]);

        let texts = [(0, 3), (1, 3), (9_999_999, 10_000_000), (3, 3), (0, 0)];
        let texts = texts.map(|(part, whole)| percent(part, whole));
        assert_eq!(texts, ["0.00%", "33.33%", "99.99%", "100%", "100%"], "100% only if it is all");
    }

    #[test]
    fn commands_stand_apart_in_a_sentence_and_are_only_text() {
        let html = sentence("Say `queens resume 1 <now>`; it helps.").into_string();
        assert_eq!(html, "Say <code>queens resume 1 &lt;now&gt;</code>; it helps.");
    }

    #[test]
    fn times_have_their_two_largest_units_and_dates_are_those_of_the_calendar() {
        let text = |seconds| time(Duration::from_secs_f64(seconds)).replace('\u{a0}', " ");
        let texts = [0.042, 0.1, 0.96].map(text);
        assert_eq!(texts, ["42 ms", "0.1 s", "1.0 s"]);
        let texts =
            [2, 59, 61, 3_661, 90_000, 86_400 * 365 * 30].map(|seconds| text(f64::from(seconds)));
        assert_eq!(texts, ["2.0 s", "59 s", "1 min 1 s", "1 h 1 min", "1 d 1 h", "30.0 years"]);

        let text = |seconds: i64| ago(seconds * 1_000, 0).replace('\u{a0}', " ");
        let texts = [-1, 59, 60, 3_599, 3_600, 86_399, 86_400 * 365].map(text);
        let ago = ["under 1 min", "under 1 min", "1 min", "59 min", "1 h", "23 h", "365 d"];
        assert_eq!(texts, ago.map(|time| format!("{time} ago")));
    }

    #[test]
    fn a_time_has_its_date_unless_it_is_of_today_and_says_which_it_is_in_utc() {
        const NOW: i64 = 1_795_401_296_999;
        let html = moment(NOW, NOW).into_string();
        let whole = "<time class=\"at\" datetime=\"2026-11-23T02:34:56Z\" title=\"2026-11-23 02:34:56 UTC\">02:34:56</time>";
        assert_eq!(html, whole);
        let text = |html: Markup| {
            let html = html.into_string();
            html.split(['<', '>']).nth(2).expect("it has a text").to_string()
        };
        let texts = [0, 951_782_400_000, -1].map(|at| text(moment(NOW, at)));
        assert_eq!(texts, ["1970-01-01 00:00:00", "2000-02-29 00:00:00", "1969-12-31 23:59:59"]);
        let texts = [0.0, 60.0, 86_400.0].map(|seconds| text(end(NOW, seconds)));
        assert_eq!(texts, ["02:34", "02:35", "2026-11-24 02:34"]);
        assert_eq!(end(NOW, 1e12).into_string(), "at an unknown time");
    }

    #[test]
    fn zeros_are_left_out() {
        let said =
            [[0, 0], [0, 2], [1_000, 1]].map(|[a, b]| nonzero([(a, "waiting"), (b, "paused")]));
        let said = said.map(|said| said.replace(['\u{a0}', '\u{202f}'], " "));
        assert_eq!(said, ["", "2 paused", "1 000 waiting, 1 paused"]);
    }
}
