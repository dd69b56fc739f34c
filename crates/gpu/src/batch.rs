//! Counts a batch of jobs on a device. Only this file knows the parameters of the kernels in
//! `kernels.c`.
//!
//! ```text
//!   list    list half-boards, sample keys       the host reads the lengths of lists and the samples
//!   join    sort by codes, add up, join         the host reads the numbers of pairs that fit
//! ```

use std::ops::Range;
use std::time::{Duration, Instant};

use board::halves::{Split, Window, tasks_of_split};
use count::{KeyViews, SampledKeys, key_views};

use crate::by_size::BySize;
use crate::device::Device;
use crate::driver::{Argument, Buffer, DeviceError, Kernel, Queue};
use crate::job::{Fits, Job, Listed};

/// One half of a split: `Half` of the kernels.
#[derive(Clone, Copy)]
struct HalfWords {
    columns: u32,
    lowest: u32,
    highest: u32,
    tie_low: u32,
    tie_high: u32,
    first_choice: u32,
    choices: u32,
    modulus: u32,
    residues: u32,
    lists: u32,
    view: u32,
}

/// A split: `Split` of the kernels.
#[derive(Clone, Copy)]
struct SplitWords {
    halves: [HalfWords; 2],
    centre: u32,
    looked_at: u32,
}

/// A list: `List` of the kernels.
#[derive(Clone, Copy)]
struct ListWords {
    starts: u32,
    items: u32,
}

/// A list to tabulate: `Build` of the kernels.
#[derive(Clone, Copy)]
struct BuildWords {
    list: u32,
    probes: u32,
    len: u32,
    sums: u32,
}

/// The number of words of a split.
const SPLIT_WORDS: usize = 2 * 11 + 2;

/// Indices into `counters` of the kernels. The lengths of lists follow.
const KEYS: usize = 0;
const LOOKED_UP: usize = 2;
const TOO_LONG: usize = 4;
const COUNTERS: usize = 5;

/// The number of groups of the join for each multiprocessor.
const GROUPS_OF_UNIT: u32 = 4;

/// The outcome of a batch.
pub(crate) enum Outcome {
    /// The fits of each job, and the number of half-boards that were looked up, each in a block of
    /// 256 others.
    Counted(Vec<Fits>, u64),
    /// There was too little room. For a batch of one job, this is the half that has more
    /// half-boards.
    TooLong(usize),
}

/// The number of splits and half-boards that fit into the memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Room {
    splits: usize,
    keys: usize,
}

impl Room {
    /// The largest useful room within `memory` bytes, and `buffer` bytes for each array, for boards
    /// whose halves have `choices` choices. It exceeds `memory` if that is too little for a split
    /// whose choices are paired one at a time.
    fn within(by_size: BySize, choices: usize, memory: u64, buffer: u64) -> Room {
        // A key has eight bytes.
        let most_keys = usize::try_from(buffer / 8).unwrap_or(usize::MAX);
        let room = |splits, keys: usize| Room { splits, keys: keys.min(most_keys) };
        let bytes = |room| -> u64 {
            Array::ALL.iter().map(|array| array.bytes(by_size, choices, room) as u64).sum()
        };
        let mut splits = by_size.splits;
        loop {
            let wanted = by_size.room_for_keys(splits) as usize;
            let fixed = bytes(room(splits, 0));
            let left = memory.saturating_sub(fixed) / (bytes(room(splits, 1)) - fixed);
            let keys = wanted.min(usize::try_from(left).unwrap_or(usize::MAX));
            // Fewer splits at a time are better than a second try for most of them.
            if keys == wanted || splits == 1 {
                return room(splits, keys.max(LEAST_KEYS));
            }
            splits /= 2;
        }
    }
}

/// Room for the half-boards of one choice of columns in each half.
const LEAST_KEYS: usize = 1 << 20;

/// An array in the device's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Array {
    Splits,
    Choices,
    Orders,
    Segments,
    Keys,
    Ranks,
    Counters,
    Sampled,
    Samples,
    Lists,
    Views,
    Starts,
    Items,
    Builds,
    Opened,
    FirstBlock,
    Sums,
}

impl Array {
    const ALL: [Array; 17] = [
        Array::Splits,
        Array::Choices,
        Array::Orders,
        Array::Segments,
        Array::Keys,
        Array::Ranks,
        Array::Counters,
        Array::Sampled,
        Array::Samples,
        Array::Lists,
        Array::Views,
        Array::Starts,
        Array::Items,
        Array::Builds,
        Array::Opened,
        Array::FirstBlock,
        Array::Sums,
    ];

    /// Its size in bytes, for boards whose halves have `choices` choices.
    fn bytes(self, by_size: BySize, choices: usize, room: Room) -> usize {
        let Room { splits, keys } = room;
        let BySize { code, .. } = by_size;
        let groups = splits.div_ceil(by_size.sharing);
        // If lists are sliced, a board has up to eight lists of the upper half and four of the
        // lower one.
        let (upper, lower) = if tasks_of_split(by_size.n) == 1 { (2, 2) } else { (8, 4) };
        let (lists, builds) = (splits * (upper + lower), splits * upper.max(lower));
        match self {
            Array::Splits => splits * 4 * SPLIT_WORDS,
            Array::Choices => choices * 4,
            Array::Orders => by_size.orders()[1] as usize * 4,
            Array::Segments => splits * 2 * choices * by_size.chunks() as usize * 12,
            Array::Keys => keys * 8,
            Array::Ranks => keys * 4,
            Array::Counters => (COUNTERS + lists) * 4,
            Array::Sampled => groups * by_size.sampled * 4,
            Array::Samples => groups * by_size.sampled * 2 * by_size.keys * 8,
            Array::Lists => lists * 8,
            Array::Views => groups * 2 * size_of::<[[u64; 16]; 16]>(),
            // There is one more, for all empty lists.
            Array::Starts => (lists + 1) * (by_size.buckets() + 1) * 4,
            Array::Items => keys * 4,
            Array::Builds => builds * 16,
            Array::Opened => (builds << code.low) * ((1 << code.high) + 1) * 4,
            Array::FirstBlock => ((builds << code.low) + 1) * 4,
            Array::Sums => splits * upper * lower * 8,
        }
    }
}

/// The buffers of a queue and their room.
pub(crate) struct Batch {
    by_size: BySize,
    queue: Box<dyn Queue>,
    /// The buffers, in the order of [`Array::ALL`].
    buffers: Vec<Buffer>,
    room: Room,
    /// The number of ways to choose the upper quarter's columns among those of a half.
    choices: u32,
    /// The number of groups that join.
    groups: u32,
    /// The time that each kernel took, if it is measured.
    times: Option<[Duration; Kernel::ALL.len()]>,
}

/// The lists of a batch and the number of half-boards of each.
struct Listing {
    splits: Vec<SplitWords>,
    /// The first list of each job.
    first: Vec<usize>,
    lens: Vec<u32>,
    samples: Vec<SampledKeys>,
}

impl Batch {
    /// Allocates useful buffers of at most `memory` bytes on the device.
    pub(crate) fn new(
        mut queue: Box<dyn Queue>,
        device: &Device,
        by_size: BySize,
        memory: u64,
    ) -> Result<Batch, DeviceError> {
        let [upper_rows, lower_rows] = by_size.quarter_rows();
        let rows = upper_rows + lower_rows;
        let choices: Vec<u32> =
            (0..1_u32 << rows).filter(|choice| choice.count_ones() == upper_rows).collect();
        let room = Room::within(by_size, choices.len(), memory, device.buffer);
        let mut buffers = Vec::new();
        for array in Array::ALL {
            buffers.push(queue.allocate(array.bytes(by_size, choices.len(), room))?);
        }
        let mut batch = Batch {
            by_size,
            queue,
            buffers,
            room,
            choices: choices.len() as u32,
            groups: device.units * GROUPS_OF_UNIT,
            times: None,
        };
        batch.write(Array::Choices, choices)?;
        batch.write(Array::Orders, orders(lower_rows))?;
        Ok(batch)
    }

    /// The number of ways to choose the upper quarter's columns among those of a half.
    pub(crate) fn choices(&self) -> u32 {
        self.choices
    }

    /// The largest number of jobs of a batch.
    pub(crate) fn splits(&self) -> usize {
        self.room.splits
    }

    /// Counts at least one job, and at most [`splits`](Batch::splits).
    pub(crate) fn count(&mut self, jobs: &[Job]) -> Result<Outcome, DeviceError> {
        match self.list(jobs)? {
            Ok(listing) => self.join(jobs, listing),
            Err(longer) => Ok(Outcome::TooLong(longer)),
        }
    }

    /// Lists the half-boards of jobs. If there is too little room, returns the longer half of the
    /// first job.
    fn list(&mut self, jobs: &[Job]) -> Result<Result<Listing, usize>, DeviceError> {
        let BySize { n, sharing, sampled, keys, .. } = self.by_size;
        let mut first = Vec::new();
        let mut lists = 0;
        let mut splits = Vec::new();
        for job in jobs {
            first.push(lists);
            splits.push(SplitWords::new(n, job, lists));
            lists += job.listed.iter().map(Listed::lists).sum::<usize>();
        }
        // The sampled splits are spread evenly over each group of splits that share a code.
        let sampled: Vec<u32> = (0..jobs.len())
            .step_by(sharing)
            .flat_map(|start| {
                let len = sharing.min(jobs.len() - start);
                (0..sampled).map(move |i| (start + (2 * i + 1) * len / (2 * sampled)) as u32)
            })
            .collect();
        self.write_splits(&splits)?;
        self.write(Array::Sampled, sampled.iter().copied())?;
        self.clear(Array::Counters, (COUNTERS + lists) * 4)?;
        let [upper_orders, lower_orders] = self.by_size.orders();
        let (choices, room) = (self.choices, self.room);
        self.launch(
            Kernel::ListHalves,
            self.segments(jobs.len()),
            &[
                Array::Splits,
                Array::Choices,
                Array::Orders,
                Array::Segments,
                Array::Keys,
                Array::Counters,
            ],
            &[n, choices, upper_orders, lower_orders, room.keys as u32],
        )?;
        self.launch(
            Kernel::SampleKeys,
            2 * sampled.len() as u32,
            &[Array::Sampled, Array::Segments, Array::Keys, Array::Samples],
            &[choices * self.by_size.chunks(), keys as u32],
        )?;
        let mut counters = vec![0_u32; COUNTERS + lists];
        self.read(Array::Counters, &mut counters)?;
        let lens = counters.split_off(COUNTERS);
        if counters[KEYS] as usize > room.keys {
            let upper = jobs[0].listed[0].lists();
            let lower = upper + jobs[0].listed[1].lists();
            let len =
                |lists: Range<usize>| lens[lists].iter().map(|len| u64::from(*len)).sum::<u64>();
            return Ok(Err(usize::from(len(0..upper) < len(upper..lower))));
        }
        let mut samples = vec![0_u32; 2 * 2 * sampled.len() * keys];
        self.read(Array::Samples, &mut samples)?;
        // A sample of a short list ends with zeros. No half-board has the key zero.
        let sample = |words: &[u32]| -> Vec<u64> {
            let keys =
                words.chunks_exact(2).map(|pair| u64::from(pair[0]) | u64::from(pair[1]) << 32);
            keys.filter(|key| *key != 0).collect()
        };
        let samples = samples
            .chunks_exact(4 * keys)
            .map(|both| [sample(&both[..2 * keys]), sample(&both[2 * keys..])])
            .collect();
        Ok(Ok(Listing { splits, first, lens, samples }))
    }

    /// Joins the lists of jobs.
    fn join(&mut self, jobs: &[Job], listing: Listing) -> Result<Outcome, DeviceError> {
        let BySize { code, sharing, sampled, .. } = self.by_size;
        let Listing { mut splits, first, lens, samples } = listing;
        // All empty lists share their starts, which are zeros.
        let stride = self.by_size.buckets() + 1;
        let (mut filled, mut items) = (0, 0);
        let mut lists = Vec::new();
        for &len in &lens {
            filled += usize::from(len > 0);
            let place = if len > 0 { filled } else { 0 };
            lists.push(ListWords { starts: (place * stride) as u32, items: items as u32 });
            items += len as usize;
        }
        let mut views: Vec<KeyViews> = Vec::new();
        let mut builds = Vec::new();
        // The first sum of each job, and which half is its build list.
        let mut places = Vec::new();
        let mut sums = 0;
        for (group, jobs) in jobs.chunks(sharing).enumerate() {
            let range = |job: usize, half: usize| {
                let upper = jobs[job - group * sharing].listed[0].lists();
                let lower = jobs[job - group * sharing].listed[1].lists();
                if half == 0 {
                    first[job]..first[job] + upper
                } else {
                    first[job] + upper..first[job] + upper + lower
                }
            };
            let members = group * sharing..group * sharing + jobs.len();
            let len = |half: usize| -> u64 {
                let lists = members.clone().flat_map(|job| range(job, half));
                lists.map(|list| u64::from(lens[list])).sum()
            };
            // The shorter list is tabulated, because that needs fewer tables.
            let build = usize::from(len(1) < len(0));
            let of_group: Vec<Split> = jobs.iter().map(|job| job.split).collect();
            let samples = &samples[group * sampled..(group + 1) * sampled];
            let BySize { n, pairs, .. } = self.by_size;
            let pairs = pairs.div_ceil(sampled as u64);
            views.push(key_views(n, &of_group, code, build, samples, pairs));
            for job in members.clone() {
                for half in [0, 1] {
                    splits[job].halves[half].view = (2 * group + half) as u32;
                }
                let (built, probes) = (range(job, build), range(job, 1 - build));
                // There are usually no ties, and then none are looked up.
                let last = probes.clone().rfind(|list| lens[*list] > 0);
                let len = last.map_or(0, |last| last + 1 - probes.start);
                for (i, list) in built.clone().enumerate() {
                    if lens[list] > 0 && len > 0 {
                        builds.push(BuildWords {
                            list: list as u32,
                            probes: probes.start as u32,
                            len: len as u32,
                            sums: (sums + i * probes.len()) as u32,
                        });
                    }
                }
                places.push((sums, build));
                sums += built.len() * probes.len();
            }
        }
        let found = if builds.is_empty() {
            Some((vec![0; sums], 0))
        } else {
            self.write_splits(&splits)?;
            self.write(Array::Lists, lists.iter().flat_map(|list| [list.starts, list.items]))?;
            let words = |build: &BuildWords| [build.list, build.probes, build.len, build.sums];
            self.write(Array::Builds, builds.iter().flat_map(words))?;
            let words = views.iter().flatten().flat_map(|tables| by_nibbles(tables));
            self.write(Array::Views, words.flat_map(|word| [word as u32, (word >> 32) as u32]))?;
            self.clear(Array::Starts, (filled + 1) * stride * 4)?;
            self.fits(jobs.len(), builds.len(), lens.len(), sums)?
        };
        let Some((found, looked_up)) = found else {
            return Ok(Outcome::TooLong(1 - places[0].1));
        };
        let fits = jobs.iter().zip(places).map(|(job, (first, build))| {
            let [upper, lower] = [0, 1].map(|half| job.listed[half].lists());
            let place = |i: usize, j: usize| if build == 0 { i * lower + j } else { j * upper + i };
            let all = (0..upper).flat_map(|i| (0..lower).map(move |j| (i, j)));
            all.map(|(i, j)| found[first + place(i, j)]).collect()
        });
        Ok(Outcome::Counted(fits.collect(), looked_up))
    }

    /// The numbers of pairs that fit, by sums, and the number of half-boards that were looked up.
    /// `None` if a low part of a list is too long. Lists and builds must be written, and the starts
    /// must be zeros.
    fn fits(
        &mut self,
        jobs: usize,
        builds: usize,
        lists: usize,
        sums: usize,
    ) -> Result<Option<(Vec<u64>, u64)>, DeviceError> {
        use Array::{
            Builds, Choices, Counters, FirstBlock, Items, Keys, Lists, Opened, Ranks, Segments,
            Splits, Starts, Sums, Views,
        };
        let BySize { code, .. } = self.by_size;
        let (builds, rows) = (builds as u32, (builds << code.low) as u32);
        let (segments, of_choice) = (self.segments(jobs), [self.choices, self.by_size.chunks()]);
        self.clear(Sums, sums * 8)?;
        self.launch(
            Kernel::NumberBuckets,
            segments,
            &[Splits, Choices, Segments, Lists, Views, Keys, Ranks, Starts],
            &of_choice,
        )?;
        self.launch(Kernel::FindStarts, lists as u32, &[Lists, Starts], &[code.low + code.high])?;
        self.launch(
            Kernel::FillBuckets,
            segments,
            &[Splits, Choices, Segments, Lists, Keys, Ranks, Starts, Items],
            &of_choice,
        )?;
        let bits = [code.low, code.high];
        let highs = (1_u32 << code.high).div_ceil(Kernel::CountOpen.threads());
        self.launch(Kernel::CountOpen, builds * highs, &[Builds, Lists, Starts, Opened], &bits)?;
        self.launch(
            Kernel::SumRows,
            rows,
            &[Builds, Lists, Starts, Opened, FirstBlock, Counters],
            &bits,
        )?;
        self.launch(Kernel::SumBlocks, 1, &[FirstBlock], &[rows])?;
        self.launch(
            Kernel::JoinLists,
            self.groups,
            &[Builds, Lists, Starts, Items, Opened, FirstBlock, Sums, Counters],
            &[code.low, code.high, builds],
        )?;
        let mut words = vec![0_u32; 2 * sums];
        self.read(Sums, &mut words)?;
        let word = |pair: &[u32]| u64::from(pair[0]) | u64::from(pair[1]) << 32;
        let found = words.chunks_exact(2).map(word).collect();
        let mut counters = [0; COUNTERS];
        self.read(Counters, &mut counters)?;
        let is_too_long = counters[TOO_LONG] != 0;
        Ok((!is_too_long).then(|| (found, word(&counters[LOOKED_UP..]))))
    }

    /// The number of segments of the lists of `jobs` jobs.
    fn segments(&self, jobs: usize) -> u32 {
        2 * jobs as u32 * self.choices * self.by_size.chunks()
    }

    fn write_splits(&mut self, splits: &[SplitWords]) -> Result<(), DeviceError> {
        let words = |half: &HalfWords| {
            let HalfWords { columns, lowest, highest, tie_low, tie_high, .. } = *half;
            let HalfWords { first_choice, choices, modulus, residues, lists, view, .. } = *half;
            let window = [columns, lowest, highest, tie_low, tie_high];
            window.into_iter().chain([first_choice, choices, modulus, residues, lists, view])
        };
        let words = |split: &SplitWords| {
            let halves: Vec<u32> = split.halves.iter().flat_map(words).collect();
            halves.into_iter().chain([split.centre, split.looked_at])
        };
        self.write(Array::Splits, splits.iter().flat_map(words))
    }

    fn write(
        &mut self,
        to: Array,
        words: impl IntoIterator<Item = u32>,
    ) -> Result<(), DeviceError> {
        let bytes: Vec<u8> = words.into_iter().flat_map(u32::to_le_bytes).collect();
        self.queue.write(self.buffers[to as usize], &bytes)
    }

    fn clear(&mut self, array: Array, bytes: usize) -> Result<(), DeviceError> {
        self.queue.clear(self.buffers[array as usize], bytes)
    }

    fn launch(
        &mut self,
        kernel: Kernel,
        groups: u32,
        arrays: &[Array],
        numbers: &[u32],
    ) -> Result<(), DeviceError> {
        let arrays = arrays.iter().map(|array| Argument::Buffer(self.buffers[*array as usize]));
        let numbers = numbers.iter().map(|number| Argument::Number(*number));
        let arguments: Vec<Argument> = arrays.chain(numbers).collect();
        self.queue.launch(kernel, groups, &arguments)?;
        if let Some(times) = &mut self.times {
            let begun = Instant::now();
            self.queue.read(self.buffers[Array::Counters as usize], &mut [])?;
            times[kernel as usize] += begun.elapsed();
        }
        Ok(())
    }

    /// Starts to measure the time of each kernel. The host then waits for each of them.
    pub(crate) fn start_times(&mut self) {
        self.times = Some([Duration::ZERO; Kernel::ALL.len()]);
    }

    /// The time that each kernel took since [`start_times`](Batch::start_times).
    pub(crate) fn times(&self) -> Option<[(&'static str, Duration); Kernel::ALL.len()]> {
        let times = self.times?;
        Some(Kernel::ALL.map(|kernel| (kernel.name(), times[kernel as usize])))
    }

    fn read(&mut self, from: Array, words: &mut [u32]) -> Result<(), DeviceError> {
        let mut bytes = vec![0; 4 * words.len()];
        self.queue.read(self.buffers[from as usize], &mut bytes)?;
        for (word, bytes) in words.iter_mut().zip(bytes.as_chunks().0) {
            *word = u32::from_le_bytes(*bytes);
        }
        Ok(())
    }
}

/// The orders of the columns of `rows` rows, with three bits for each row, the first row's lowest.
/// The first r! of them are those of r rows.
fn orders(rows: u32) -> Vec<u32> {
    (0..rows).fold(vec![0], |shorter, column| {
        let places = (0..=column).rev();
        let with_column = |place: u32| {
            let above = 3 * place;
            shorter.iter().map(move |order| {
                order & ((1 << above) - 1) | column << above | order >> above << (above + 3)
            })
        };
        places.flat_map(with_column).collect()
    })
}

/// The bits of a record for each value of each four bits of a key, computed from those of each
/// byte.
fn by_nibbles(tables: &[[u64; 256]; 8]) -> impl Iterator<Item = u64> {
    tables
        .iter()
        .flat_map(|table| [0, 4].map(|shift| (table, shift)))
        .flat_map(|(table, shift)| (0..16_usize).map(move |value| table[value << shift]))
}

impl SplitWords {
    /// The words of a job whose lists begin with `lists`.
    fn new(n: u32, job: &Job, lists: usize) -> SplitWords {
        let Job { split, shares, listed } = job;
        let lists = [lists, lists + listed[0].lists()];
        let columns = [split.columns, split.others(n)];
        let windows = [shares.upper, shares.lower];
        let halves = [0, 1].map(|half| {
            let Listed { modulus, residues, choices } = listed[half].clone();
            let Window { below, above } = windows[half];
            let last = (1 << (n / 2)) - 1;
            // Numbers begin at 0. A bound outside the numbers is no tie.
            let (lowest, highest) = (below.max(0), above.min(last));
            // No half-board counts if the lower bound is above the upper one.
            let choices = if lowest <= highest { choices } else { 0..0 };
            HalfWords {
                columns: columns[half],
                lowest: lowest as u32,
                highest: highest as u32,
                tie_low: below as u32,
                tie_high: above as u32,
                first_choice: choices.start,
                choices: choices.end - choices.start,
                modulus,
                residues,
                lists: lists[half] as u32,
                view: 0,
            }
        });
        SplitWords { halves, centre: split.centre, looked_at: shares.columns }
    }
}
