//! Shards: the parts of a plan, each for a process that counts without a coordinator.

use std::fmt;
use std::ops::Range;
use std::str::FromStr;

/// One of several equal parts of every plan: blocks of ordinals, dealt like cards, because tasks of
/// neighbouring ordinals are alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Shard {
    /// Its number, from 1 on.
    index: u32,
    /// How many there are. The only one of one is the whole plan.
    of: u32,
}

/// A text or a pair of numbers is no shard.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "a shard is given as INDEX/SHARDS, with INDEX from 1 to SHARDS and at most {} shards",
    Shard::MOST
)]
pub struct NoShard;

impl Shard {
    /// The whole plan.
    pub const ALL: Shard = Shard { index: 1, of: 1 };
    /// The most shards that a plan has.
    pub const MOST: u32 = 1 << 20;
    /// Blocks that a shard has, of plans with enough tasks.
    const BLOCKS: u64 = 64;

    /// Shard number `index`, from 1 on, of `of`, which are [`Shard::MOST`] at most.
    pub fn new(index: u32, of: u32) -> Result<Shard, NoShard> {
        let is_one = (1..=of).contains(&index) && of <= Shard::MOST;
        is_one.then_some(Shard { index, of }).ok_or(NoShard)
    }

    /// Its number, from 1 on.
    pub fn index(self) -> u32 {
        self.index
    }

    /// How many there are.
    pub fn of(self) -> u32 {
        self.of
    }

    /// Whether that is everything.
    pub fn is_all(self) -> bool {
        self.of == 1
    }

    /// Its ordinals, of a plan with `tasks` tasks, as ascending ranges that are not empty. All
    /// shards together have each ordinal once.
    pub fn ordinals(self, tasks: u64) -> impl Iterator<Item = Range<u64>> {
        let (index, of) = (u64::from(self.index - 1), u64::from(self.of));
        let blocks = if self.is_all() { 1 } else { (of * Shard::BLOCKS).min(tasks) };
        let own = (index..blocks).step_by(self.of as usize);
        own.map(move |block| equal_block(tasks, block, blocks)).filter(|range| !range.is_empty())
    }
}

/// The ordinals of the block number `index`, from 0 on, of `of` nearly equal blocks of a plan with
/// `tasks` tasks.
///
/// # Panics
///
/// If `of` is 0, or `index` is not less than it.
pub fn equal_block(tasks: u64, index: u64, of: u64) -> Range<u64> {
    assert!(index < of, "there is no block {index} of {of}");
    let start = |index: u64| {
        let start = u128::from(tasks) * u128::from(index) / u128::from(of);
        u64::try_from(start).expect("the blocks end with the tasks")
    };
    start(index)..start(index + 1)
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.index, self.of)
    }
}

impl FromStr for Shard {
    type Err = NoShard;

    fn from_str(text: &str) -> Result<Shard, NoShard> {
        let (index, of) = text.split_once('/').ok_or(NoShard)?;
        let number = |text: &str| text.parse().map_err(|_| NoShard);
        Shard::new(number(index)?, number(of)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shards_deal_each_ordinal_once() {
        for (tasks, of) in [(0, 1), (0, 3), (1, 3), (5, 7), (1000, 3), (100_000, 64), (12_345, 1)] {
            let mut dealt: Vec<Range<u64>> = Vec::new();
            let mut sizes = Vec::new();
            for index in 1..=of {
                let own = Shard::new(index, of).expect("it is one").ordinals(tasks);
                let own: Vec<Range<u64>> = own.collect();
                assert!(own.is_sorted_by_key(|range| range.start), "{index} of {of}");
                sizes.push(own.iter().map(|range| range.end - range.start).sum::<u64>());
                dealt.extend(own);
            }
            dealt.sort_by_key(|range| range.start);
            let end = dealt.iter().fold(0, |end, range| {
                assert!(end == range.start && end < range.end, "{range:?} after {end}");
                range.end
            });
            assert_eq!(end, tasks);
            let (least, most) = (sizes.iter().min(), sizes.iter().max());
            assert!(most.zip(least).is_none_or(|(most, least)| most - least <= tasks / 64 + 1));
        }
    }

    #[test]
    fn a_shard_is_what_its_text_says() {
        assert_eq!("3/64".parse(), Shard::new(3, 64));
        assert_eq!(Shard::new(3, 64).expect("it is one").to_string(), "3/64");
        for wrong in ["0/3", "4/3", "3", "/", "1/0", "-1/3", "1/1048577", "1/2/3"] {
            assert_eq!(wrong.parse::<Shard>(), Err(NoShard), "{wrong}");
        }
    }
}
