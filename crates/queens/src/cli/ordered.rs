//! What `queens verify` prints of the audits that were ordered.

use evidence::{AuditDraw, Checked, StatedPolicy};
use farm::Across;
use serde_json::{Value, json};

use super::show;

/// Lines for people.
pub(super) fn text(checked: &Checked) -> impl Iterator<Item = String> + '_ {
    checked.content.policies.iter().map(|ordered| policy(ordered, checked.header.covered))
}

/// The audits, the oldest first.
pub(super) fn policies(checked: &Checked) -> Value {
    let policy = |policy: &StatedPolicy| {
        json!({
            "share": f64::from(policy.share_ppm) / 1e6, "by_search": policy.by_search,
            "across": policy.across.name(), "asked_at": policy.asked_at,
            "seed": policy.revealed.map(|revealed| revealed.seed.to_string()),
            "ranges_drawn": policy.drawn.map(|drawn| drawn.ranges),
            "tasks_drawn": policy.drawn.map(|drawn| drawn.tasks),
            "ranges_counted_twice": policy.drawn.map(|drawn| drawn.counted_twice),
        })
    };
    checked.content.policies.iter().map(policy).collect()
}

/// A line about an audit. `tasks` is how many the bundle has.
fn policy(policy: &StatedPolicy, tasks: u64) -> String {
    let StatedPolicy { share_ppm, by_search, across, asked_at, revealed, drawn } = *policy;
    let drawn = drawn.map(|AuditDraw { ranges, tasks: of, counted_twice }| {
        let share = 100.0 * of as f64 / tasks.max(1) as f64;
        format!(
            ": {ranges} ranges with {share:.2}% of the tasks, {counted_twice} of these ranges counted twice"
        )
    });
    format!(
        "ordered   at {} an audit of {:.4}% of the ranges by another {}{}, {}{}",
        show::utc(asked_at),
        f64::from(share_ppm) / 1e4,
        match across {
            Across::Machines => "machine",
            Across::Owners => "owner",
        },
        if by_search { " that searches" } else { "" },
        match revealed {
            Some(revealed) => format!("chosen by the seed {}, as committed to", revealed.seed),
            None => "with a seed that is not told yet".into(),
        },
        drawn.unwrap_or_default()
    )
}
