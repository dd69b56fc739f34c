//! The write-ahead log of SQLite, as far as stand-bys need it: a header, then frames of one page each.
//!
//! The format is specified in <https://www.sqlite.org/fileformat2.html#walformat>. All numbers are big-endian.

use std::fs::File;
use std::io::{Seek, SeekFrom, Write};

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

fn number(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}
