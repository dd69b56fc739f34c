//! What `queens verify` says of signatures: which keys vouch for which part of a total.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use evidence::{Amount, Checked};
use farm::PublicKey;
use serde_json::{Value, json};

use super::keys::TrustedKeys;

/// Keys that are printed one by one for people. Programs get all of them.
const MOST_KEYS: usize = 10;

/// Who vouches for a bundle that holds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Signed<'a> {
    pub(super) checked: &'a Checked,
    /// The keys that the reader trusts, if the reader has said so.
    pub(super) keys: Option<&'a TrustedKeys>,
}

impl Signed<'_> {
    /// Lines for people; `percent` writes a share of the total.
    pub(super) fn text(&self, percent: impl Fn(u128) -> String) -> Vec<String> {
        let by_key = self.by_key();
        let any = self.sum(|keys| !keys.is_empty());
        let mut lines = Vec::new();
        if by_key.is_empty() {
            lines.push("signed    nobody has signed any of the counts".into());
        } else {
            lines.push(format!(
                "signed    {} of the total ({} of {} ranges) by {}, {} by two keys",
                percent(any.count),
                any.ranges,
                self.checked.header.ranges,
                match by_key.len() {
                    1 => "one key".into(),
                    many => format!("{many} keys"),
                },
                percent(self.sum(|keys| keys.len() > 1).count),
            ));
        }
        if let Some(keys) = self.keys {
            let trusted = self.trusted();
            lines.push(format!(
                "keys      {} of the total ({} of {} ranges) is vouched for by keys of {}",
                percent(trusted.count),
                trusted.ranges,
                self.checked.header.ranges,
                keys.file.display()
            ));
        }
        let mut shares: Vec<_> = by_key.into_iter().collect();
        shares.sort_by_key(|(key, amount)| (Reverse(amount.count), *key));
        let more = shares.len().saturating_sub(MOST_KEYS);
        lines.extend(shares.into_iter().take(MOST_KEYS).map(|(key, amount)| {
            format!("key       {} by {}", percent(amount.count), self.named(&key))
        }));
        if more > 0 {
            lines.push(format!("key       and {more} more; --json names all of them"));
        }
        lines.push(match &self.checked.signed_by {
            Some(key) => format!("exported  signed by {}", self.named(key)),
            None => "exported  signed by nobody".into(),
        });
        lines
    }

    /// What programs are told: all keys with what they vouch for.
    pub(super) fn json(&self) -> Value {
        let amount =
            |amount: Amount| json!({"ranges": amount.ranges, "count": amount.count.to_string()});
        let name = |key: &PublicKey| self.keys.and_then(|keys| keys.name(key));
        let keys: Vec<Value> = self
            .by_key()
            .iter()
            .map(|(key, &vouches)| {
                json!({"key": key.to_string(), "name": name(key), "vouches_for": amount(vouches)})
            })
            .collect();
        json!({
            "by_any_key": amount(self.sum(|keys| !keys.is_empty())),
            "by_two_keys": amount(self.sum(|keys| keys.len() > 1)),
            "by_trusted_keys": self.keys.map(|_| amount(self.trusted())),
            "keys": keys,
            "exported_by": self.checked.signed_by.map(|key| key.to_string()),
            "exported_by_trusted": self.keys.map(|keys| {
                self.checked.signed_by.is_some_and(|key| keys.name(&key).is_some())
            }),
        })
    }

    /// What of the total is vouched for by a key that the reader trusts.
    fn trusted(&self) -> Amount {
        self.sum(|keys| keys.iter().any(|key| self.keys.is_some_and(|all| all.name(key).is_some())))
    }

    /// The ranges whose keys are such.
    fn sum(&self, are_such: impl Fn(&[PublicKey]) -> bool) -> Amount {
        let mut sum = Amount::default();
        for (vouchers, amount) in &self.checked.vouched {
            let keys: Vec<PublicKey> = vouchers.keys().collect();
            if are_such(&keys) {
                sum.ranges += amount.ranges;
                sum.count += amount.count;
            }
        }
        sum
    }

    /// What each key vouches for, by a first or a second count.
    fn by_key(&self) -> BTreeMap<PublicKey, Amount> {
        let mut by_key = BTreeMap::<PublicKey, Amount>::new();
        for (vouchers, amount) in &self.checked.vouched {
            for key in vouchers.keys() {
                let sum = by_key.entry(key).or_default();
                sum.ranges += amount.ranges;
                sum.count += amount.count;
            }
        }
        by_key
    }

    /// A key, and what the reader calls it.
    fn named(&self, key: &PublicKey) -> String {
        match self.keys.map(|keys| keys.name(key)) {
            Some(Some(name)) => format!("{key}, which is {name}"),
            Some(None) => format!("{key}, which is not trusted"),
            None => key.to_string(),
        }
    }
}
