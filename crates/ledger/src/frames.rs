//! The write-ahead log of SQLite, as far as stand-bys need it, and whether it is whole: a header, then frames of one page
//! each.
//!
//! ```text
//!   header │ frame, frame, end of a transaction │ frame, end │ frame, end │ frame, fra
//!            └── each says the salts of the header, and a checksum of all before it
//! ```
//!
//! SQLite reads a log up to the first frame whose checksum is wrong, because a power cut leaves such a frame at its end, and
//! says nothing of what is behind it. Here, every transaction is synced before the next one is written. Therefore only
//! the last transaction can be half there for a good reason: if a frame is wrong, and behind it a transaction ends that
//! another one follows, the disk has damaged what was durable ([`check`]). The other one adds to the checksum of the first,
//! which tells it from what an earlier process has left there.
//!
//! The format is specified in <https://www.sqlite.org/fileformat2.html#walformat>. All numbers are big-endian.

use std::fs::File;
use std::io::{BufRead, BufReader, ErrorKind, Read, Seek, SeekFrom, Write};
use std::path::Path;

use crate::LedgerFault;

/// The header of a log. Two logs differ in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Header([u8; Header::LEN as usize]);

impl Header {
    /// Its bytes.
    pub(crate) const LEN: u64 = 32;

    /// # Errors
    ///
    /// [`LedgerFault::Content`], if these bytes are none.
    pub(crate) fn read(bytes: &[u8]) -> Result<Header, LedgerFault> {
        let fault = || LedgerFault::Content("its write-ahead log has an unreadable header".into());
        let header = Header(bytes.try_into().map_err(|_| fault())?);
        let is_log = number(&header.0, 0) & !1 == 0x377f_0682;
        let page = header.page_size();
        match is_log && page.is_power_of_two() && (512..=65_536).contains(&page) {
            true => Ok(header),
            false => Err(fault()),
        }
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.0
    }

    fn page_size(&self) -> usize {
        number(&self.0, 8) as usize
    }

    /// What each frame of this log repeats.
    fn salts(&self) -> &[u8] {
        &self.0[16..24]
    }
}

/// Frames of a log, one behind the other.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Frames<'a> {
    header: Header,
    bytes: &'a [u8],
}

/// The bytes before the page.
const BEFORE_PAGE: usize = 24;

impl<'a> Frames<'a> {
    /// What belongs to the log of `header` in `bytes`: behind it there may be frames of an earlier log.
    pub(crate) fn of(header: Header, bytes: &'a [u8]) -> Frames<'a> {
        Frames { header, bytes }
    }

    fn each(self) -> impl Iterator<Item = &'a [u8]> {
        let frames = self.bytes.chunks_exact(BEFORE_PAGE + self.header.page_size());
        frames.take_while(move |frame| &frame[8..16] == self.header.salts())
    }

    /// How many bytes there are up to the end of the last transaction.
    pub(crate) fn committed(self) -> usize {
        let ends = self.each().map(|frame| number(frame, 4) > 0);
        let frames = ends.enumerate().filter(|(_, ends)| *ends).last().map_or(0, |(at, _)| at + 1);
        frames * (BEFORE_PAGE + self.header.page_size())
    }

    /// Writes the pages of all whole transactions to the file of the ledger, and waits until they are on disk.
    ///
    /// # Errors
    ///
    /// The system's, or [`LedgerFault::Content`], if a frame is about no page.
    pub(crate) fn apply_to(self, file: &mut File) -> Result<(), LedgerFault> {
        let size = self.header.page_size() as u64;
        let whole = self.committed() / (BEFORE_PAGE + self.header.page_size());
        let mut pages = None;
        for frame in self.each().take(whole) {
            let page = u64::from(number(frame, 0)).checked_sub(1);
            let page =
                page.ok_or_else(|| LedgerFault::Content("a frame is about page 0".into()))?;
            file.seek(SeekFrom::Start(page * size))?;
            file.write_all(&frame[BEFORE_PAGE..])?;
            let after = u64::from(number(frame, 4));
            pages = if after > 0 { Some(after) } else { pages };
        }
        if let Some(pages) = pages {
            file.set_len(pages * size)?;
        }
        Ok(file.sync_all()?)
    }
}

/// Refuses a log that lacks transactions which were durable. Nobody may write it meanwhile.
///
/// # Errors
///
/// [`LedgerFault::Content`], if a frame is damaged that is not of the last transaction, or its header is and there are
/// frames; or the system's.
pub(crate) fn check(log: &Path) -> Result<(), LedgerFault> {
    let mut file = match File::open(log) {
        Ok(file) => BufReader::with_capacity(1 << 16, file),
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error.into()),
    };
    let mut header = [0; Header::LEN as usize];
    let mut frame = Vec::new();
    if !fill(&mut file, &mut header)? {
        return Ok(());
    }
    if header == [0; Header::LEN as usize] {
        // It was synced before the first frame was written.
        return match is_zero(&mut file)? {
            true => Ok(()),
            false => Err(damaged(log, "its header")),
        };
    }
    let mut sum = Checksum { is_big_endian: number(&header, 0) & 1 == 1, sums: (0, 0) };
    sum.add(&header[..24]);
    let known = Header::read(&header).ok().filter(|_| sum.is(&header[24..]));
    let Some(known) = known else {
        frame.resize(BEFORE_PAGE, 0);
        return match fill(&mut file, &mut frame)? {
            true => Err(damaged(log, "its header")),
            false => Ok(()),
        };
    };
    frame.resize(BEFORE_PAGE + known.page_size(), 0);
    let mut wrong = None;
    // Whether the frame before is wrong or behind a wrong one and ends a transaction, and what a frame behind it adds to.
    let (mut ends, mut before) = (false, Vec::new());
    for at in 1.. {
        if !fill(&mut file, &mut frame)? {
            break;
        }
        let is_of_log = &frame[8..16] == known.salts();
        let with = |mut sum: Checksum| {
            sum.add(&frame[..8]);
            sum.add(&frame[BEFORE_PAGE..]);
            sum
        };
        let said = Checksum { sums: (number(&frame, 16), number(&frame, 20)), ..sum };
        let Some(first_wrong) = wrong else {
            sum = with(sum);
            if !is_of_log || sum != said {
                (wrong, ends) = (Some(at), number(&frame, 4) > 0);
                before = vec![sum, said];
            }
            continue;
        };
        if ends && is_of_log && before.into_iter().any(|before| with(before) == said) {
            return Err(damaged(log, &format!("its frame {first_wrong}")));
        }
        (ends, before) = (is_of_log && number(&frame, 4) > 0, vec![said]);
    }
    Ok(())
}

fn damaged(log: &Path, part: &str) -> LedgerFault {
    LedgerFault::Content(format!(
        "{part} in the write-ahead log {} was altered, and what was written behind it is not to be reached",
        log.display()
    ))
}

/// Whether all that is left to read is zero.
fn is_zero(file: &mut impl BufRead) -> Result<bool, LedgerFault> {
    loop {
        let bytes = file.fill_buf()?;
        if bytes.is_empty() {
            return Ok(true);
        }
        if bytes.iter().any(|&byte| byte != 0) {
            return Ok(false);
        }
        let read = bytes.len();
        file.consume(read);
    }
}

/// Reads as many bytes as there is room for. Returns whether there were so many.
fn fill(file: &mut impl Read, bytes: &mut [u8]) -> Result<bool, LedgerFault> {
    match file.read_exact(bytes) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == ErrorKind::UnexpectedEof => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// The checksum of a log, over words of four bytes in the order of the machine that began the log.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Checksum {
    is_big_endian: bool,
    sums: (u32, u32),
}

impl Checksum {
    fn add(&mut self, bytes: &[u8]) {
        let word = |bytes: &[u8]| {
            let bytes = bytes.try_into().expect("four bytes");
            if self.is_big_endian { u32::from_be_bytes(bytes) } else { u32::from_le_bytes(bytes) }
        };
        let (mut first, mut second) = self.sums;
        for pair in bytes.chunks_exact(8) {
            first = first.wrapping_add(word(&pair[..4])).wrapping_add(second);
            second = second.wrapping_add(word(&pair[4..])).wrapping_add(first);
        }
        self.sums = (first, second);
    }

    /// Whether it is what these eight bytes say.
    fn is(&self, bytes: &[u8]) -> bool {
        self.sums == (number(bytes, 0), number(bytes, 4))
    }
}

fn number(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use tempfile::TempDir;

    use super::*;
    use crate::place;
    use crate::tests::{ledger_in, range};
    use crate::{CheckedLedger, Evidence, Scrub};

    /// What becomes of a ledger with this log, if `harm` was done to it.
    fn opened(harm: impl FnOnce(&mut Vec<u8>)) -> Result<u128, LedgerFault> {
        let folder = TempDir::new().expect("a temporary directory");
        let path = folder.path().join("ledger.db");
        let ledger = ledger_in(&path);
        for at in 0..4 {
            ledger.apply(&[range(30 + at, 31 + at, 1)]).expect("it is written");
        }
        drop(ledger);
        let log = place::log(&path);
        let mut content = fs::read(&log).expect("it is there");
        harm(&mut content);
        fs::write(&log, content).expect("it can be written");
        let before = fs::read(&path).expect("it is there");
        let ledger = CheckedLedger::open_again(&path);
        assert_eq!(fs::read(&path).expect("it is there"), before, "not a byte has changed");
        assert_eq!(Scrub::open(&path).is_ok(), ledger.is_ok(), "nor is it read otherwise");
        let total = ledger.map(|ledger| ledger.jobs().first().map_or(0, |job| job.total));
        // The ledger is closed by now, with all that is left of it.
        let evidence = Evidence::open(&path);
        assert_eq!(evidence.is_ok(), total.is_ok(), "nor is it evidence of anything else");
        total
    }

    fn whole() -> u128 {
        opened(|_| ()).expect("it is whole")
    }

    #[test]
    fn a_log_whose_middle_was_altered_is_refused() {
        // The header, the beginning of a frame, and a page of it.
        for at in [17, 32, 32 + 9, 32 + 20, 32 + 24 + 1_000] {
            let fault = opened(|log| log[at] ^= 1).expect_err("a bit was altered").to_string();
            assert!(fault.contains("was altered, and what was written behind it"), "{fault}");
        }
        // A first sector that never arrived, a frame, and one that took another's place.
        opened(|log| log[..512].fill(0)).expect_err("its header is missing");
        opened(|log| log[32 + 4_120..32 + 2 * 4_120].fill(0)).expect_err("it is missing");
        opened(|log| log.copy_within(32 + 4_120..32 + 2 * 4_120, 32)).expect_err("it is twice");
    }

    #[test]
    fn a_log_whose_last_transaction_is_half_there_lacks_only_that() {
        for cut in [1, 4_000, 4_120] {
            let total = opened(|log| log.truncate(log.len() - cut)).expect("a power cut does that");
            assert_eq!(total, whole() - 1);
        }
        let total = opened(|log| *log.last_mut().expect("it has bytes") ^= 1);
        assert_eq!(total.expect("a power cut does that"), whole() - 1);
        assert_eq!(opened(|log| log.fill(0)).expect("nothing was written yet"), 0);
        assert_eq!(opened(Vec::clear).expect("nothing was written yet"), 0);
    }
}
