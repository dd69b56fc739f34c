//! What `queens verify` prints of the audits that were ordered.

use evidence::{Checked, StatedPolicy};
use farm::AuditScope;
use serde_json::{Value, json};

use super::show;

/// Lines for people.
pub(super) fn text(checked: &Checked) -> impl Iterator<Item = String> + '_ {
    checked.content.policies.iter().map(policy)
}

/// The audits, the oldest first.
pub(super) fn policies(checked: &Checked) -> Value {
    let policy = |policy: &StatedPolicy| {
        json!({
            "share": f64::from(policy.share_ppm) / 1e6, "by_search": policy.by_search,
            "across": policy.across.name(), "asked_at": policy.asked_at,
        })
    };
    checked.content.policies.iter().map(policy).collect()
}

/// A line about an audit.
fn policy(policy: &StatedPolicy) -> String {
    let StatedPolicy { share_ppm, by_search, across, asked_at } = *policy;
    format!(
        "ordered   at {} an audit of {:.4}% of the ranges by another {}{}",
        show::utc(asked_at),
        f64::from(share_ppm) / 1e4,
        match across {
            AuditScope::Machines => "machine",
            AuditScope::Owners => "owner",
        },
        if by_search { " that searches" } else { "" },
    )
}
