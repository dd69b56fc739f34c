//! What `queens verify` prints of the counts that were committed to, and of the audits that were ordered.

use evidence::{AuditDraw, Checked, StatedCommitment, StatedPolicy};
use farm::{Across, AuditPolicy, Beacon, RowsRoot};
use serde_json::{Value, json};

use super::show;

/// Lines for people.
pub(super) fn text(checked: &Checked) -> impl Iterator<Item = String> + '_ {
    let current = checked.commitments.iter().find(|commitment| commitment.holds);
    let root = current.map(|commitment| commitment.root);
    let tasks = checked.header.covered;
    let policies = checked.policies.iter().map(move |ordered| policy(ordered, root, tasks));
    checked.commitments.iter().map(commitment).chain(policies)
}

/// What was committed to, the oldest first.
pub(super) fn commitments(checked: &Checked) -> Value {
    let commitment = |commitment: &StatedCommitment| {
        let &StatedCommitment { root, at, holds } = commitment;
        json!({"root": root.to_string(), "at": at, "holds": holds})
    };
    checked.commitments.iter().map(commitment).collect()
}

/// The audits, the oldest first.
pub(super) fn policies(checked: &Checked) -> Value {
    let beacon =
        |Beacon { root, value }: Beacon| json!({"root": root.to_string(), "value": value.as_str()});
    let policy = |policy: &StatedPolicy| {
        json!({
            "share": f64::from(policy.share_ppm) / 1e6, "by_search": policy.by_search,
            "across": policy.across.name(), "asked_at": policy.asked_at,
            "seed": policy.revealed.map(|revealed| revealed.seed.to_string()),
            "beacon": policy.revealed.and_then(|revealed| revealed.beacon).map(beacon),
            "ranges_drawn": policy.drawn.map(|drawn| drawn.ranges),
            "tasks_drawn": policy.drawn.map(|drawn| drawn.tasks),
            "ranges_counted_twice": policy.drawn.map(|drawn| drawn.counted_twice),
        })
    };
    checked.policies.iter().map(policy).collect()
}

fn commitment(&StatedCommitment { root, holds, at }: &StatedCommitment) -> String {
    let what = match holds {
        true => "these counts, and nothing was changed since",
        false => "other counts: some were overruled or taken back since, or changed",
    };
    format!("committed as {root} at {} to {what}", show::utc(at))
}

/// A line about an audit. `current` is the root of the bundle's ranges, if somebody has committed to them; `tasks` is how many the
/// bundle has.
fn policy(policy: &StatedPolicy, current: Option<RowsRoot>, tasks: u64) -> String {
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
            Some(AuditPolicy { beacon: Some(Beacon { root, value }), .. }) => {
                let others = if current == Some(root) { "" } else { ", which are others now" };
                format!(
                    "drawn by the beacon {value} from the counts committed to as {root}{others}"
                )
            }
            Some(revealed) => format!("chosen by the seed {}, as committed to", revealed.seed),
            None => "with a seed that is not told yet".into(),
        },
        drawn.unwrap_or_default()
    )
}
