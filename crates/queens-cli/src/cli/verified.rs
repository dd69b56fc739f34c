//! The output of `queens verify` for a bundle that holds. Texts of a bundle are escaped, because
//! they may contain control characters for the terminal or names that look like others.

use std::collections::{BTreeMap, BTreeSet};

use evidence::{Amount, Checked, Header, Recounted, StatedPolicy, Verdict};
use farm::{AuditScope, IdentifiedBy, JobState, Principal};
use serde_json::json;

use super::show::{self, plural};
use crate::output;
use crate::progress::clock;

/// A bundle that was checked and recounted.
#[derive(Clone, Copy, Debug)]
pub(super) struct Verified<'a> {
    pub(super) checked: &'a Checked,
    pub(super) recounted: &'a Recounted,
}

impl Verified<'_> {
    pub(super) fn text(&self) -> String {
        let Checked { header, name, plan, shard, content, .. } = self.checked;
        let Header { state, counted: total, .. } = header;
        let confirmed = &content.confirmations;
        let what = match (state, shard.is_all()) {
            (JobState::Done, true) => match self.total() {
                Some(answer) if answer != *total => {
                    format!("total     {answer}\ncounted   {total} before symmetry")
                }
                Some(answer) => format!("total     {answer}"),
                None => format!("counted   {total} before symmetry, of which no total follows"),
            },
            (JobState::Done, false) => {
                format!("shard     {shard} of the plan: its sum is no total")
            }
            _ => format!(
                "unfinished: the job is {state}; {total} are counted so far, which is no total"
            ),
        };
        let (machines, owners) = (self.machines().len(), self.owners().len());
        let kernels: Vec<String> = self.checked.kernels().iter().map(ToString::to_string).collect();
        let mut lines = vec![
            format!("verdict   {}", self.verdict()),
            what,
            format!("bundle    {name}"),
            format!("plan      {plan}, {} tasks, counted here too", plan.tasks),
        ];
        if header.lines.ranges == 0 {
            lines.push(self.confidence());
            return lines.join("\n");
        }
        lines.extend([
            format!(
                "ranges    {} by {machines} machine{} of {owners} owner{} with {}; they cover what they should, without \
                 overlaps, and add up",
                header.lines.ranges,
                plural(machines as u64, "s"),
                plural(owners as u64, "s"),
                kernels.join(", ")
            ),
            format!("machines  identified by {}", self.identified()),
        ]);
        let reported = content.tasks_reported;
        if reported > 0 {
            lines.push(format!("tasks     {reported} of {} have their own counts", header.covered));
        }
        lines.extend(content.policies.iter().map(policy));
        lines.push(format!(
            "audits    {} of the total ({} of {} ranges) was counted alike by another machine with another kernel, {} \
             ({}) by another owner; names are what the farm says",
            self.percent(confirmed.by_machine.count),
            confirmed.by_machine.ranges,
            header.lines.ranges,
            self.percent(confirmed.by_owner.count),
            confirmed.by_owner.ranges,
        ));
        if let [owner] = self.owners().into_iter().collect::<Vec<_>>()[..]
            && confirmed.by_machine.ranges > 0
        {
            lines.push(format!(
                "word      only \"{}\" has counted: its machines confirm only the word of one owner",
                owner.escape_default()
            ));
        }
        lines.push(format!(
            "time      {} of one thread, and {} for second counts, as the farm says",
            clock(content.busy.as_secs_f64()),
            clock(content.second_busy.as_secs_f64()),
        ));
        let unproven = |Amount { ranges, count }: Amount, what| {
            let share = self.percent(count);
            (ranges > 0).then(|| format!("unproven  {ranges} ranges ({share} of the total) {what}"))
        };
        lines.extend(unproven(
            confirmed.unconfirmed,
            "are said to be counted twice, without a second count by another kernel and somebody whom the farm trusts",
        ));
        lines.extend(unproven(
            confirmed.only_distrusted,
            "have no count by anybody whom the farm still trusts",
        ));
        let changes = header.lines.trust;
        if changes > 0 {
            lines.push(format!("trust     the farm changed {changes} times whom it trusts"));
        }
        lines.extend(self.checked.facts.iter().map(|fact| format!("known     {fact}")));
        lines.extend([self.recount(), self.confidence()]);
        lines.join("\n")
    }

    fn recount(&self) -> String {
        let Recounted { ranges, reported, tasks, busy, kernel, is_cut_short, .. } = self.recounted;
        format!(
            "recount   {ranges} whole range{} and {reported} single task{}, {tasks} task{} in all, {} of one \
             thread, by {kernel}; seed {}{}",
            plural(*ranges as u64, "s"),
            plural(*reported as u64, "s"),
            plural(*tasks, "s"),
            clock(busy.as_secs_f64()),
            self.checked.drawn.seed,
            if *is_cut_short { "; the time was over before all that was drawn" } else { "" }
        )
    }

    /// Whether the bundle holds, as far as the recount can tell. One that does not hold is a
    /// failure.
    fn verdict(&self) -> &'static str {
        let Verdict { is_exact, draws, .. } = self.recounted.verdict;
        let ranges = self.checked.header.lines.ranges;
        match (is_exact, draws) {
            _ if ranges == 0 => "cannot be told: it has no range",
            (true, _) => "holds",
            (false, 0) => "cannot be told: nothing was counted again here",
            (false, _) => "holds, as far as a sample shows",
        }
    }

    /// The conclusion from the recount, in a sentence.
    fn confidence(&self) -> String {
        let Verdict { is_exact, draws, wrong_of_total, wrong_of_tasks, missed } =
            self.recounted.verdict;
        let (unit, one) = match self.recounted.reported {
            0 => ("wrong ranges", "range"),
            _ => ("wrong ranges or wrong tasks", "range, or a single wrong task,"),
        };
        if self.checked.header.lines.ranges == 0 {
            return "the bundle has no range that could be counted again".into();
        }
        if is_exact {
            return "every range was counted again here, with the same result: their sum is as certain as this \
                    machine and its counting loops"
                .into();
        }
        if self.nothing_is_checked() {
            return "nothing was checked: not one range was counted again here, so the total is as reliable as those who \
                    counted for the bundle; give it more --seconds, a larger --sample, or --all"
                .into();
        }
        format!(
            "{draws} draws over total and tasks were counted again here without a contradiction: with 95% confidence at \
             most {:.2}% of the total is wrong, and {unit} have at most {:.2}% of the tasks. A single wrong {one} would \
             have been missed with a probability of up to {:.1}%; only --all rules it out",
            100.0 * wrong_of_total,
            100.0 * wrong_of_tasks,
            100.0 * missed
        )
    }

    /// Whether there are counts and none of them was counted again here.
    pub(super) fn nothing_is_checked(&self) -> bool {
        let Verdict { is_exact, draws, .. } = self.recounted.verdict;
        self.checked.header.lines.ranges > 0 && !is_exact && draws == 0
    }

    /// One line for programs, in ASCII.
    pub(super) fn json(&self) -> String {
        let Checked { header, name, plan, content, .. } = self.checked;
        let confirmed = &content.confirmations;
        let builds: BTreeSet<_> =
            content.authors.iter().map(|author| &author.provenance.build).collect();
        let Recounted { ranges, reported, tasks, busy, kernel, is_cut_short, verdict } =
            self.recounted;
        let amount =
            |amount: Amount| json!({"ranges": amount.ranges, "count": amount.count.to_string()});
        let shares =
            |by: &dyn Fn(&farm::Provenance, farm::KernelName) -> String| -> BTreeMap<String, String> {
                let mut shares = BTreeMap::<String, u128>::new();
                for (&author, amount) in &content.counted_by {
                    let author = &content.authors[author as usize];
                    *shares.entry(by(&author.provenance, author.kernel)).or_default() += amount.count;
                }
                shares.into_iter().map(|(name, count)| (name, count.to_string())).collect()
            };
        let verified = json!({
            "bundle": name.to_string(),
            "state": header.state,
            "total": self.total().map(|total| total.to_string()),
            "counted": header.counted.to_string(),
            "ranges": header.lines.ranges,
            "machines": self.machines().len(),
            "owners": shares(&|author, _| author.principal.owner.clone()),
            "kernels": shares(&|_, kernel| kernel.to_string()),
            "builds": builds,
            "thread_seconds": content.busy.as_secs_f64(),
            "thread_seconds_of_second_counts": content.second_busy.as_secs_f64(),
            "confirmed_by_machine": amount(confirmed.by_machine),
            "confirmed_by_owner": amount(confirmed.by_owner),
            "unconfirmed": amount(confirmed.unconfirmed),
            "counted_only_by_distrusted": amount(confirmed.only_distrusted),
            "known": self.checked.facts.iter().map(ToString::to_string).collect::<Vec<_>>(),
            "recounted_by": kernel.to_string(),
            "recounted_ranges": ranges,
            "recounted_tasks": tasks,
            "recount_seconds": busy.as_secs_f64(),
            "recount_is_cut_short": is_cut_short,
            "seed": self.checked.drawn.seed.to_string(),
            "is_exact": verdict.is_exact,
            "draws": verdict.draws,
            "wrong_share_of_total_at_most": verdict.wrong_of_total,
            "wrong_share_of_tasks_at_most": verdict.wrong_of_tasks,
            "single_range_missed_at_most": verdict.missed,
            "confidence": self.confidence(),
        });
        let mut json = output::with(verified, output::json(plan));
        json["machines_identified_by_name"] = self.identified_by(IdentifiedBy::Name).into();
        json["machines_identified_by_boot"] = self.identified_by(IdentifiedBy::Boot).into();
        json["machines_unknown"] = self.identified_by(IdentifiedBy::Nothing).into();
        json["tasks_reported"] = content.tasks_reported.into();
        json["recounted_single_tasks"] = (*reported).into();
        let policy = |policy: &StatedPolicy| {
            json!({
                "share": f64::from(policy.share_ppm) / 1e6, "by_reference": policy.by_reference,
                "across": policy.across.name(), "asked_at": policy.asked_at,
            })
        };
        json["policies"] = content.policies.iter().map(policy).collect();
        ascii(&json.to_string())
    }

    /// The answer to what the job asks, if the bundle is of a finished job for the whole plan.
    fn total(&self) -> Option<u128> {
        let Checked { plan, header, shard, .. } = self.checked;
        let is_total = header.state == JobState::Done && shard.is_all();
        is_total.then(|| farm::answer(plan.problem, header.counted)).flatten()
    }

    fn percent(&self, count: u128) -> String {
        let total = self.checked.header.counted;
        format!("{:.2}%", if total == 0 { 0.0 } else { 100.0 * count as f64 / total as f64 })
    }

    fn machines(&self) -> BTreeSet<&Principal> {
        self.checked.content.authors.iter().map(|author| &author.provenance.principal).collect()
    }

    /// The number of machines that are identified in this way.
    fn identified_by(&self, by: IdentifiedBy) -> usize {
        self.machines().iter().filter(|machine| machine.identified_by() == by).count()
    }

    fn identified(&self) -> String {
        let ways = [
            (IdentifiedBy::Name, "the names that they were given"),
            (IdentifiedBy::Boot, "the starts of their systems"),
            (IdentifiedBy::Nothing, "nothing"),
        ];
        let reported = ways.map(|(by, what)| (self.identified_by(by), what)).into_iter();
        let reported = reported.filter(|(machines, _)| *machines > 0);
        let reported = reported.map(|(machines, what)| format!("{what} ({machines})"));
        reported.collect::<Vec<_>>().join(", ")
    }

    fn owners(&self) -> BTreeSet<&str> {
        self.machines().into_iter().map(|machine| machine.owner.as_str()).collect()
    }
}

fn policy(policy: &StatedPolicy) -> String {
    let StatedPolicy { share_ppm, by_reference, across, asked_at } = *policy;
    format!(
        "ordered   at {} an audit of {:.4}% of the ranges by another {}{}",
        show::utc(asked_at),
        f64::from(share_ppm) / 1e4,
        match across {
            AuditScope::Machines => "machine",
            AuditScope::Owners => "owner",
        },
        if by_reference { ", by the reference" } else { "" },
    )
}

/// JSON with an escape for each character that is not ASCII.
fn ascii(json: &str) -> String {
    let mut ascii = String::with_capacity(json.len());
    for c in json.chars() {
        match c.is_ascii() && c != '\u{7f}' {
            true => ascii.push(c),
            false => {
                let mut units = [0; 2];
                let units = c.encode_utf16(&mut units).iter();
                ascii.extend(units.map(|unit| format!("\\u{unit:04x}")));
            }
        }
    }
    ascii
}

#[cfg(test)]
mod tests {
    use super::ascii;

    #[test]
    fn nothing_but_ascii_is_printed_and_it_means_the_same() {
        let json = serde_json::json!({"a\u{200b}": "\u{9b}2J\u{7f}é\u{1f451}"}).to_string();
        assert!(ascii(&json).is_ascii() && !ascii(&json).contains('\u{7f}'));
        let read = |text: &str| serde_json::from_str::<serde_json::Value>(text).expect("JSON");
        assert_eq!(read(&ascii(&json)), read(&json));
    }
}
