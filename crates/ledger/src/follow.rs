//! Stand-bys follow a ledger: what is committed is sent to them as SQLite has written it.
//!
//! ```text
//!   FILE                 FILE-wal
//!   pages ◄─checkpoint── header | frame frame frame | frame ...      the writer ships new frames after each commit
//!     │                    │
//!     └──────base──────────┴──► a mirror: the same two files
//! ```
//!
//! A frame is one page as a transaction has left it. Once all frames are in the file, SQLite begins the log anew, with
//! another header. A follower gets the log from its beginning and the file as it is found while it is read. Pages that a
//! checkpoint changes meanwhile are in the log too, so that file and log together are the ledger, as soon as every frame
//! has arrived that was written before the file was read to its end. Then the mirror is *whole*.
//!
//! Counts do not wait for followers: what is lost of them is counted again. Transactions with decisions
//! ([`farm::History`]) are answered once every whole mirror has them on its disk. One that takes too long is given up.
//!
//! The format of the log is specified in <https://www.sqlite.org/fileformat2.html#walformat>.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, timeout_at};

use crate::LedgerFault;
use crate::frames::{Frames, Header};

/// How long a transaction with decisions waits for followers before it is answered without them.
const PATIENCE: Duration = Duration::from_secs(5);
/// Bytes that may be on their way to a follower.
const MOST_PENDING: u64 = 256 << 20;

/// The writer's end of a follower.
#[derive(Debug)]
pub struct Follower {
    shipments: mpsc::UnboundedSender<Shipment>,
    progress: Progress,
}

/// The other end: what a mirror is to be sent, and what it has acknowledged.
#[derive(Debug)]
pub struct Following {
    /// What is to be sent, in order. It ends when the follower is given up or the ledger is closed.
    pub shipments: mpsc::UnboundedReceiver<Shipment>,
    progress: Progress,
}

/// Something that was sent to a follower.
#[derive(Clone, Debug)]
pub struct Shipment {
    /// Its number, which the mirror acknowledges when it is on its disk. They rise.
    pub number: u64,
    /// What it is.
    pub piece: Piece,
}

/// What a mirror is made of, besides the ledger's file.
#[derive(Clone, Debug)]
pub enum Piece {
    /// The log begins anew with this header. What the log had until then belongs into the file.
    Log(Arc<[u8]>),
    /// More frames of the log, up to the end of a transaction.
    Frames(Arc<[u8]>),
    /// File and log are the ledger now.
    Whole,
}

/// How far a mirror is. Both ends change it.
#[derive(Clone, Debug, Default)]
struct Progress(Arc<watch::Sender<State>>);

#[derive(Debug, Default)]
struct State {
    acknowledged: u64,
    /// The number of the shipment that said that the mirror is whole.
    whole: Option<u64>,
    /// The number of the last shipment that was on its way when the mirror said that it is.
    last_before: Option<u64>,
    /// Numbers and lengths of what was sent and not acknowledged.
    pending: VecDeque<(u64, u64)>,
    is_file_sent: bool,
    is_gone: bool,
}

/// Makes both ends.
#[must_use]
pub fn follower() -> (Follower, Following) {
    let (sender, shipments) = mpsc::unbounded_channel();
    let progress = Progress::default();
    let follower = Follower { shipments: sender, progress: progress.clone() };
    (follower, Following { shipments, progress })
}

impl Following {
    /// The mirror has everything up to the shipment of this number on its disk.
    pub fn acknowledge(&self, number: u64) {
        self.progress.0.send_modify(|state| {
            state.acknowledged = state.acknowledged.max(number);
            let acknowledged = state.acknowledged;
            while state.pending.pop_front_if(|(number, _)| *number <= acknowledged).is_some() {}
            if state.is_whole() && state.last_before.is_none() {
                let last = state.pending.back().map_or(acknowledged, |(number, _)| *number);
                state.last_before = Some(last);
            }
        });
    }

    /// All of the ledger's file was read, and sent. [`Piece::Whole`] follows soon.
    pub fn file_is_sent(&self) {
        self.progress.0.send_modify(|state| state.is_file_sent = true);
    }

    /// Whether the mirror has every decision that was answered, from now on until the follower is given up: it is whole, so
    /// that decisions wait for it, and has what was on its way when it said so.
    #[must_use]
    pub fn has_all(&self) -> bool {
        let state = self.progress.0.borrow();
        state.last_before.is_some_and(|number| state.acknowledged >= number)
    }
}

impl Drop for Following {
    fn drop(&mut self) {
        self.progress.0.send_modify(|state| state.is_gone = true);
    }
}

impl State {
    /// Whether the mirror has said that it is whole.
    fn is_whole(&self) -> bool {
        self.whole.is_some_and(|number| self.acknowledged >= number)
    }
}

impl Follower {
    /// Sends a piece. Returns whether the follower is still there and keeps up.
    fn send(&self, number: u64, piece: Piece) -> bool {
        let bytes = match &piece {
            Piece::Log(bytes) | Piece::Frames(bytes) => bytes.len() as u64,
            Piece::Whole => 0,
        };
        self.progress.0.send_modify(|state| state.pending.push_back((number, bytes)));
        let pending: u64 = self.progress.0.borrow().pending.iter().map(|(_, bytes)| bytes).sum();
        pending <= MOST_PENDING && self.shipments.send(Shipment { number, piece }).is_ok()
    }

    /// Waits until its mirror has all that it was sent, if that is whole. Returns whether nothing is left to wait for, by
    /// `deadline`.
    async fn catches_up(&self, deadline: Instant) -> bool {
        let last = {
            let state = self.progress.0.borrow();
            state.pending.back().filter(|_| state.is_whole()).map(|(number, _)| *number)
        };
        let Some(last) = last else { return true };
        let mut states = self.progress.0.subscribe();
        let has_it = states.wait_for(|state| state.acknowledged >= last || state.is_gone);
        timeout_at(deadline, has_it).await.is_ok()
    }
}

/// All followers of a ledger, and how much of its log they were sent.
#[derive(Debug)]
pub(crate) struct Followers {
    log: Option<PathBuf>,
    followers: Vec<Follower>,
    /// The header of the log that was sent last, and where the next frame begins.
    sent: Option<(Header, u64)>,
    number: u64,
}

impl Followers {
    /// Followers of a ledger with this log; none can follow one in memory.
    pub(crate) fn new(log: Option<PathBuf>) -> Followers {
        Followers { log, followers: Vec::new(), sent: None, number: 0 }
    }

    /// Adds a follower. It gets the log from its beginning.
    pub(crate) fn add(&mut self, follower: Follower) {
        match self.all_so_far() {
            Ok(pieces) => {
                self.number += 1;
                if pieces.into_iter().all(|piece| follower.send(self.number, piece)) {
                    self.followers.push(follower);
                }
            }
            Err(fault) => self.fail(&fault),
        }
    }

    /// Sends what was committed.
    pub(crate) fn committed(&mut self) {
        if self.is_empty() {
            // Who comes later gets all of the log.
            self.sent = None;
            return;
        }
        match self.new_pieces() {
            Ok(pieces) => pieces.into_iter().for_each(|piece| self.send_to_all(&piece)),
            Err(fault) => return self.fail(&fault),
        }
        self.finish_some();
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.followers.is_empty()
    }

    fn send_to_all(&mut self, piece: &Piece) {
        self.number += 1;
        let number = self.number;
        self.retain("a stand-by does not keep up", |follower| follower.send(number, piece.clone()));
    }

    /// Tells those to whom all of the file was sent that their mirrors are whole: every frame from before is on its way.
    fn finish_some(&mut self) {
        self.number += 1;
        let number = self.number;
        self.retain("a stand-by has gone", |follower| {
            let is_due = follower.progress.0.send_if_modified(|state| {
                let is_due = state.is_file_sent && state.whole.is_none();
                state.whole = state.whole.or(is_due.then_some(number));
                is_due
            });
            !is_due || follower.send(number, Piece::Whole)
        });
    }

    /// Waits until all whole mirrors have what was sent. Those that take too long are given up.
    pub(crate) async fn wait(&mut self) {
        let deadline = Instant::now() + PATIENCE;
        let mut caught_up = Vec::new();
        for follower in &self.followers {
            caught_up.push(follower.catches_up(deadline).await);
        }
        let mut caught_up = caught_up.into_iter();
        let keep = |_: &mut Follower| caught_up.next().expect("there is one for each follower");
        self.retain("a stand-by does not acknowledge decisions", keep);
    }

    /// Gives followers up that `keep` does not keep: their shipments end, and they may come again.
    fn retain(&mut self, why: &str, mut keep: impl FnMut(&mut Follower) -> bool) {
        self.followers.retain_mut(|follower| {
            let is_kept = keep(follower) && !follower.progress.0.borrow().is_gone;
            if !is_kept {
                tracing::warn!(
                    why,
                    "a stand-by is no longer waited for; it follows anew if it can"
                );
            }
            is_kept
        });
    }

    /// The log cannot be read: followers have to begin anew.
    fn fail(&mut self, fault: &LedgerFault) {
        tracing::warn!(%fault, "stand-bys cannot follow: the ledger's log cannot be read");
        self.followers.clear();
        self.sent = None;
    }

    /// All of the log up to what was sent to others.
    fn all_so_far(&mut self) -> Result<Vec<Piece>, LedgerFault> {
        // Others get what is new before, so that all of them go on from the same place.
        let pieces = self.new_pieces()?;
        pieces.into_iter().for_each(|piece| self.send_to_all(&piece));
        let Some((header, end)) = self.sent else { return Ok(Vec::new()) };
        let frames = read(&self.log()?, Header::LEN, end)?;
        Ok(vec![Piece::Log(header.bytes().into()), Piece::Frames(frames.into())])
    }

    /// What the log has that was not sent.
    fn new_pieces(&mut self) -> Result<Vec<Piece>, LedgerFault> {
        let log = self.log()?;
        let end = std::fs::metadata(&log).map_or(0, |file| file.len());
        if end < Header::LEN {
            return Ok(Vec::new());
        }
        let header = Header::read(&read(&log, 0, Header::LEN)?)?;
        let mut pieces = Vec::new();
        let from = match self.sent {
            Some((sent, from)) if sent == header => from,
            _ => {
                pieces.push(Piece::Log(header.bytes().into()));
                Header::LEN
            }
        };
        let bytes = read(&log, from, end)?;
        let committed = Frames::of(header, &bytes).committed();
        self.sent = Some((header, from + committed as u64));
        if committed > 0 {
            pieces.push(Piece::Frames(bytes[..committed].into()));
        }
        Ok(pieces)
    }

    fn log(&self) -> Result<PathBuf, LedgerFault> {
        let fault = || io::Error::new(io::ErrorKind::Unsupported, "the ledger is in no file");
        Ok(self.log.clone().ok_or_else(fault)?)
    }
}

/// The bytes of a file from `from` to `end`, or to its own end.
fn read(file: &PathBuf, from: u64, end: u64) -> io::Result<Vec<u8>> {
    let mut file = File::open(file)?;
    file.seek(SeekFrom::Start(from))?;
    let mut bytes = Vec::new();
    file.take(end.saturating_sub(from)).read_to_end(&mut bytes)?;
    Ok(bytes)
}
