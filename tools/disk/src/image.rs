//! The content of one file: what the disk has of it for certain, and what was written since.

use histories::Random;

/// What a disk writes as a whole or not at all, in bytes.
pub(crate) const SECTOR: usize = 512;

/// A file's content as the disk has it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Image {
    /// What was synced.
    durable: Vec<u8>,
    /// What was not, in order.
    pending: Vec<Change>,
}

#[derive(Clone, Debug)]
enum Change {
    Write { offset: usize, bytes: Vec<u8> },
    Truncate { size: usize },
}

/// What is left of the changes that were not synced when the power fails.
#[derive(Clone, Copy, Debug)]
enum Survival {
    /// None of them.
    Nothing,
    /// All of them.
    Everything,
    /// The first ones, and a part of the next.
    Beginning,
    /// Any of them, each in part or as a whole.
    Anything,
}

/// What a power cut has done to writes that were not synced.
#[derive(Clone, Copy, Debug, Default)]
pub struct Losses {
    /// Some of them are not there.
    pub lost: bool,
    /// Some are there in part.
    pub torn: bool,
    /// Some are there although earlier ones of the same file are not, or only in part.
    pub reordered: bool,
}

/// What is left of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Lost,
    Torn,
    There,
}

impl Image {
    pub(crate) fn of(durable: Vec<u8>) -> Image {
        Image { durable, pending: Vec::new() }
    }

    pub(crate) fn write(&mut self, offset: usize, bytes: &[u8]) {
        self.pending.push(Change::Write { offset, bytes: bytes.to_vec() });
    }

    pub(crate) fn truncate(&mut self, size: usize) {
        self.pending.push(Change::Truncate { size });
    }

    /// Makes everything durable.
    pub(crate) fn sync(&mut self) {
        for change in self.pending.drain(..) {
            change.apply(&mut self.durable);
        }
    }

    /// Gives up what was not synced: the system believes that it is on the disk, and it never will be.
    pub(crate) fn forget_pending(&mut self) {
        self.pending.clear();
    }

    /// The content once the power has come back.
    pub(crate) fn after_power_cut(mut self, random: &mut Random, losses: &mut Losses) -> Vec<u8> {
        let all = [
            Survival::Nothing,
            Survival::Everything,
            Survival::Beginning,
            Survival::Anything,
            Survival::Anything,
        ];
        let survival = random.pick(&all);
        let whole = random.below(self.pending.len() as u64 + 1) as usize;
        let mut is_whole = true;
        for (at, change) in self.pending.into_iter().enumerate() {
            let fate = match survival {
                Survival::Nothing => Fate::Lost,
                Survival::Everything => change.apply(&mut self.durable),
                Survival::Beginning if at < whole => change.apply(&mut self.durable),
                Survival::Beginning if at == whole => change.tear(&mut self.durable, random),
                Survival::Beginning => Fate::Lost,
                Survival::Anything => match random.below(4) {
                    0 => Fate::Lost,
                    1 => change.tear(&mut self.durable, random),
                    _ => change.apply(&mut self.durable),
                },
            };
            losses.lost |= fate == Fate::Lost;
            losses.torn |= fate == Fate::Torn;
            losses.reordered |= !is_whole && fate != Fate::Lost;
            is_whole &= fate == Fate::There;
        }
        self.durable
    }
}

impl Change {
    fn apply(self, content: &mut Vec<u8>) -> Fate {
        match self {
            Change::Write { offset, bytes } => put(content, offset, &bytes),
            Change::Truncate { size } => content.resize(size, 0),
        }
        Fate::There
    }

    /// Applies those of its sectors that chance picks.
    fn tear(self, content: &mut Vec<u8>, random: &mut Random) -> Fate {
        let Change::Write { offset, bytes } = self else { return Fate::Lost };
        let (mut at, mut lost, mut kept) = (0, 0, 0);
        while at < bytes.len() {
            let end = bytes.len().min(at + SECTOR - (offset + at) % SECTOR);
            match random.percent(50) {
                true => {
                    put(content, offset + at, &bytes[at..end]);
                    kept += 1;
                }
                false => lost += 1,
            }
            at = end;
        }
        match (lost, kept) {
            (0, _) => Fate::There,
            (_, 0) => Fate::Lost,
            _ => Fate::Torn,
        }
    }
}

fn put(content: &mut Vec<u8>, offset: usize, bytes: &[u8]) {
    let end = offset + bytes.len();
    if content.len() < end {
        content.resize(end, 0);
    }
    content[offset..end].copy_from_slice(bytes);
}
