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
        (0, 0, _) => format!("{minutes}\u{a0}min {}\u{a0}s", seconds % 60),
        (0, _, _) => format!("{hours}\u{a0}h {}\u{a0}min", minutes % 60),
        (..100, _, _) => format!("{days}\u{a0}d {}\u{a0}h", hours % 24),
        _ => format!("{}\u{a0}years", short(days as f64 / 365.25)),
    }
}

pub(crate) fn hours(hours: f64) -> String {
    format!("{hours:.2}")
}

/// A percentage. It says 100% only if `part` is all of `whole`.
pub(crate) fn percent(part: u64, whole: u64) -> String {
    if part >= whole {
        return "100%".into();
    }
    let hundredths = u128::from(part) * 10_000 / u128::from(whole);
    format!("{}.{:02}%", hundredths / 100, hundredths % 100)
}

/// A Unix time in milliseconds as date and time in UTC.
pub(crate) fn utc(unix_ms: i64) -> String {
    let Ok(at) = OffsetDateTime::from_unix_timestamp(unix_ms.div_euclid(1_000)) else {
        return "at an unknown time".into();
    };
    let (date, (hour, minute, second)) = (at.date(), at.to_hms());
    format!("{date} {hour:02}:{minute:02}:{second:02}")
}

/// The time in UTC at which something ends that takes `seconds` from now on. It has the date if the
/// day is not today.
pub(crate) fn end(now_ms: i64, seconds: f64) -> String {
    let (now, end) = (utc(now_ms), utc(now_ms.saturating_add((seconds * 1e3) as i64)));
    match end.split_once(' ') {
        Some((day, time)) if now.starts_with(day) => time.into(),
        _ => end,
    }
}

/// How long before `now_ms` the time `at_ms` was, as in "3 min ago".
pub(crate) fn ago(now_ms: i64, at_ms: i64) -> String {
    let ms = u64::try_from(now_ms.saturating_sub(at_ms)).unwrap_or(0);
    long_ago(Duration::from_millis(ms))
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

        assert_eq!(utc(0), "1970-01-01 00:00:00");
        assert_eq!(utc(951_782_400_000), "2000-02-29 00:00:00");
        assert_eq!(utc(1_795_401_296_999), "2026-11-23 02:34:56");
        assert_eq!(utc(-1), "1969-12-31 23:59:59");
    }
}
