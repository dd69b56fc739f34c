//! A stand-by's copy of a ledger that somebody else writes: the same two files, and therefore as safe as they are.
//!
//! ```text
//!   FILE.incoming + FILE.incoming-log      until the mirror is whole: an earlier copy stays as it is
//!   FILE + FILE-wal                        from then on; SQLite reads them like those of a coordinator that was killed
//! ```
//!
//! Another program that opens the copy to write it, as `sqlite3` does by default, moves the log into the file, as far as it knows
//! it, and removes it when it ends. What has arrived since that program opened the copy is lost with the log, so that the mirror
//! must begin anew.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use crate::frames::{Frames, Header};
use farm::Mark;
use farm::rules::Jobs;

use crate::place::{self, Place, log, with_suffix};
use crate::replace::{INCOMING, INCOMING_LOG, mend, replace};
use crate::takeover::{leads, step_down};
use crate::{CheckedLedger, LedgerFault, LedgerLock};

/// A copy that follows a ledger. It holds the lock of its file.
#[derive(Debug)]
pub struct Mirror {
    path: PathBuf,
    _lock: LedgerLock,
    files: Option<Files>,
    /// The state of the ledger that is there, if that leads.
    led: Option<Mark>,
}

#[derive(Debug)]
struct Files {
    file: File,
    /// One log behind the other; a single one once the mirror is whole.
    log: File,
    /// Where each log begins. One may be the last to begin at its place.
    begins: Vec<u64>,
    length: u64,
    is_whole: bool,
}

impl Mirror {
    /// The mirror in the file `path`, which may be that of an earlier one. A ledger there that leads goes on to do so until
    /// the mirror is whole.
    ///
    /// # Errors
    ///
    /// [`LedgerFault`], if another process holds the file, or it is no ledger that was left alone.
    pub fn of(path: &Path) -> Result<Mirror, LedgerFault> {
        let mut lock = LedgerLock::of(path)?;
        mend(path)?;
        let mut led = None;
        if leads(path)? {
            let ledger = CheckedLedger::open_locked(path, lock, Jobs::Live)?;
            (led, lock) = ledger.into_mark()?;
        } else {
            Place::check(path)?;
            // What a copy that is gone has left.
            step_down(path)?;
        }
        Ok(Mirror { path: path.to_path_buf(), _lock: lock, files: None, led })
    }

    /// The state of the ledger that the mirror is to replace, if that has taken over and has not stepped down: only a ledger
    /// that contains this state may be mirrored. `None` from when the mirror is whole.
    #[must_use]
    pub fn led(&self) -> Option<&Mark> {
        self.led.as_ref()
    }

    /// Begins anew with empty files.
    ///
    /// # Errors
    ///
    /// The system's.
    pub fn begin(&mut self) -> io::Result<()> {
        let open = |suffix| {
            let mut options = place::private();
            options.read(true).create(true).truncate(true);
            options.open(with_suffix(&self.path, suffix))
        };
        let (file, log) = (open(INCOMING)?, open(INCOMING_LOG)?);
        self.files = Some(Files { file, log, begins: Vec::new(), length: 0, is_whole: false });
        Ok(())
    }

    /// Whether it is the ledger as it was at some moment since it has begun.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.files.as_ref().is_some_and(|files| files.is_whole)
    }

    /// The next bytes of the ledger's file.
    ///
    /// # Errors
    ///
    /// The system's, or [`LedgerFault::Content`], if the mirror was not begun or is whole.
    pub fn add_to_file(&mut self, bytes: &[u8]) -> Result<(), LedgerFault> {
        match &mut self.files {
            Some(files) if !files.is_whole => Ok(files.file.write_all(bytes)?),
            _ => Err(out_of_order()),
        }
    }

    /// The ledger's log begins anew, with this header.
    ///
    /// # Errors
    ///
    /// The system's, or [`LedgerFault::Content`], if the mirror was not begun or it is no header.
    pub fn begin_log(&mut self, header: &[u8]) -> Result<(), LedgerFault> {
        let files = self.files.as_mut().ok_or_else(out_of_order)?;
        Header::read(header)?;
        if files.is_whole {
            // All of it is on disk, so that SQLite would do the same if this process were killed here.
            files.apply_logs(1)?;
            files.log.set_len(0)?;
            files.log.rewind()?;
            (files.begins, files.length) = (Vec::new(), 0);
        }
        files.begins.push(files.length);
        files.append(header)
    }

    /// More frames of the log.
    ///
    /// # Errors
    ///
    /// The system's, or [`LedgerFault::Content`], if no log has begun.
    pub fn add_frames(&mut self, bytes: &[u8]) -> Result<(), LedgerFault> {
        match &mut self.files {
            Some(files) if !files.begins.is_empty() => files.append(bytes),
            _ => Err(out_of_order()),
        }
    }

    /// Waits until what has arrived is on disk, if the mirror is whole. Before that it would be of no use. `false` if another
    /// program has taken its files away: then it must begin anew.
    ///
    /// # Errors
    ///
    /// The system's.
    pub fn sync(&self) -> io::Result<bool> {
        match &self.files {
            Some(files) if files.is_whole => {
                files.log.sync_data()?;
                self.is_in_place()
            }
            _ => Ok(true),
        }
    }

    /// Whether no other program has taken its files away, if the mirror is whole.
    ///
    /// # Errors
    ///
    /// The system's.
    pub fn is_in_place(&self) -> io::Result<bool> {
        let Some(files) = self.files.as_ref().filter(|files| files.is_whole) else {
            return Ok(true);
        };
        let is_there = place::names_file(&self.path, &files.file)?;
        Ok(is_there && place::names_file(&log(&self.path), &files.log)?)
    }

    /// File and log are the ledger: they take the place of an earlier copy.
    ///
    /// # Errors
    ///
    /// The system's, or [`LedgerFault::Content`], if the mirror was not begun or is whole already.
    pub fn finish(&mut self) -> Result<(), LedgerFault> {
        let Some(mut files) = self.files.take().filter(|files| !files.is_whole) else {
            return Err(out_of_order());
        };
        let earlier = files.begins.len().saturating_sub(1);
        files.apply_logs(earlier)?;
        files.file.sync_all()?;
        let last = match files.begins.last().copied() {
            Some(begin) => files.read_log(begin)?,
            None => Vec::new(),
        };
        files.log.set_len(0)?;
        files.log.rewind()?;
        files.log.write_all(&last)?;
        files.log.sync_all()?;
        replace(&self.path)?;
        self.led = None;
        let begins = if last.is_empty() { Vec::new() } else { vec![0] };
        let length = last.len() as u64;
        self.files = Some(Files { begins, length, is_whole: true, ..files });
        Ok(())
    }
}

impl Files {
    fn append(&mut self, bytes: &[u8]) -> Result<(), LedgerFault> {
        self.log.write_all(bytes)?;
        self.length += bytes.len() as u64;
        Ok(())
    }

    /// Writes the first `logs` logs to the file.
    fn apply_logs(&mut self, logs: usize) -> Result<(), LedgerFault> {
        for at in 0..logs.min(self.begins.len()) {
            let bytes = self.read_log(self.begins[at])?;
            let end = self.begins.get(at + 1).map(|end| (end - self.begins[at]) as usize);
            let bytes = &bytes[..end.unwrap_or(bytes.len())];
            let (header, frames) = bytes.split_at(Header::LEN as usize);
            Frames::of(Header::read(header)?, frames).apply_to(&mut self.file)?;
        }
        Ok(())
    }

    /// The logs from this place on.
    fn read_log(&mut self, from: u64) -> Result<Vec<u8>, LedgerFault> {
        let mut bytes = Vec::new();
        self.log.seek(SeekFrom::Start(from))?;
        self.log.read_to_end(&mut bytes)?;
        Ok(bytes)
    }
}

fn out_of_order() -> LedgerFault {
    LedgerFault::Content("its pieces arrive out of order".into())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::time::Duration;

    use farm::{JobId, LedgerCommand, Ticket};
    use proptest::prelude::*;
    use rusqlite::{Connection, OpenFlags};
    use tempfile::TempDir;
    use tokio::time::{Instant, timeout};

    use super::*;
    use crate::follow::Followers;
    use crate::takeover::take_over;
    use crate::tests::{ledger_in, range, read};
    use crate::{
        CheckedLedger, Following, Ledger, LedgerEvent, LedgerHandle, LedgerRequest, Piece,
        follower, writer,
    };

    /// A ledger, its followers, and one mirror that follows.
    struct Pair {
        folder: TempDir,
        ledger: Ledger,
        followers: Followers,
        following: Following,
        mirror: Mirror,
        /// What was read of the file.
        read: u64,
        written: u64,
    }

    impl Pair {
        fn new() -> Pair {
            let folder = TempDir::new().expect("a temporary directory");
            let path = folder.path().join("ledger.db");
            let ledger = ledger_in(&path);
            // So that a checkpoint, and a new log, come after few transactions.
            ledger.db.pragma_update(None, "wal_autocheckpoint", 8).expect("it is SQL");
            let mut mirror = Mirror::of(&folder.path().join("copy.db")).expect("nobody holds it");
            mirror.begin().expect("it can be written");
            let (ours, following) = follower();
            let mut followers = Followers::new(Some(log(&path)));
            followers.add(ours);
            Pair { folder, ledger, followers, following, mirror, read: 0, written: 0 }
        }

        /// Counts and decides, and ships what was written.
        fn write(&mut self) {
            let at = 10 + self.written;
            self.written += 1;
            self.ledger.apply(&[range(at, at + 1, 5), priority(at as i32)]).expect("it is written");
            self.followers.committed();
        }

        /// Takes everything that was shipped.
        fn receive(&mut self) {
            while let Ok(shipment) = self.following.shipments.try_recv() {
                match shipment.piece {
                    Piece::Log(header) => self.mirror.begin_log(&header),
                    Piece::Frames(frames) => self.mirror.add_frames(&frames),
                    Piece::Whole => self.mirror.finish(),
                }
                .expect("it can be written");
                assert!(self.mirror.sync().expect("it can be written"), "it is alone");
                self.following.acknowledge(shipment.number);
            }
        }

        /// Reads some more of the file. Returns whether that was all.
        fn read_some(&mut self, most: u64) -> bool {
            let mut bytes = Vec::new();
            let mut file = File::open(self.folder.path().join("ledger.db")).expect("it is there");
            file.seek(SeekFrom::Start(self.read)).expect("it is there");
            file.take(most).read_to_end(&mut bytes).expect("it can be read");
            self.read += bytes.len() as u64;
            self.mirror.add_to_file(&bytes).expect("it can be written");
            (bytes.len() as u64) < most
        }

        /// All is sent anew.
        fn begin_again_here(&mut self) {
            self.mirror.begin().expect("it can be written");
            let (ours, following) = follower();
            (self.following, self.read) = (following, 0);
            self.followers.add(ours);
        }

        /// Another process begins with the mirror's file.
        fn begin_again(&mut self) {
            let copy = self.folder.path().join("copy.db");
            let elsewhere = Mirror::of(&self.folder.path().join("elsewhere.db"));
            drop(std::mem::replace(&mut self.mirror, elsewhere.expect("nobody holds it")));
            self.mirror = Mirror::of(&copy).expect("nobody holds it");
            self.begin_again_here();
        }

        fn finish(&mut self) {
            while !self.read_some(4_000) {}
            self.following.file_is_sent();
            self.followers.committed();
            self.receive();
        }

        /// The mirror's files, as a coordinator finds them that is started on a copy of them.
        #[track_caller]
        fn is_alike(&self) {
            let other = TempDir::new().expect("a temporary directory");
            let [from, to] = [&self.folder, &other].map(|folder| folder.path().join("copy.db"));
            fs::copy(&from, &to).expect("it is there");
            fs::copy(log(&from), log(&to)).expect("it is there");
            let copy = CheckedLedger::open_again(&to).expect("it is a sound ledger");
            assert_eq!(copy.jobs(), read(&self.ledger));
        }
    }

    fn priority(priority: i32) -> LedgerCommand {
        LedgerCommand::SetPriority { job: JobId(1), priority, by: "me".into() }
    }

    #[derive(Clone, Copy, Debug)]
    enum Step {
        Write,
        Receive,
        Read(u64),
        Finish,
    }

    fn steps() -> impl Strategy<Value = Vec<Step>> {
        let step = prop_oneof![
            6 => Just(Step::Write),
            2 => Just(Step::Receive),
            2 => (1_000..60_000_u64).prop_map(Step::Read),
            1 => Just(Step::Finish),
        ];
        prop::collection::vec(step, 1..60)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(16))]

        #[test]
        fn whatever_comes_between_its_pieces_a_whole_mirror_is_the_ledger(steps in steps()) {
            let mut pair = Pair::new();
            for step in steps {
                let is_whole = pair.mirror.is_whole();
                match step {
                    Step::Write => pair.write(),
                    Step::Receive => pair.receive(),
                    Step::Read(most) if !is_whole => drop(pair.read_some(most)),
                    Step::Finish if !is_whole => pair.finish(),
                    Step::Read(_) | Step::Finish => {}
                }
            }
            if !pair.mirror.is_whole() {
                pair.finish();
            }
            pair.receive();
            pair.is_alike();
        }
    }

    #[test]
    fn a_mirror_goes_on_through_many_logs_and_takes_over() {
        let mut pair = Pair::new();
        pair.finish();
        for _ in 0..50 {
            pair.write();
            pair.receive();
            pair.is_alike();
        }
        let here = read(&pair.ledger);
        let Pair { folder, mirror, .. } = pair;
        let copy = folder.path().join("copy.db");
        let held = take_over(&copy).expect_err("the mirror holds it");
        assert!(matches!(held, LedgerFault::Held), "{held}");
        drop(mirror);
        assert!(!leads(&copy).expect("it can tell"));
        let promoted = take_over(&copy).expect("nobody holds it");
        assert_eq!(read(&promoted), here);
        assert!(promoted.history().openings.iter().any(|opening| opening.gives_up));
        let mark = promoted.history().mark();
        drop(promoted);
        assert!(leads(&copy).expect("it can tell"));
        assert_eq!(Mirror::of(&copy).expect("nobody holds it").led(), mark.as_ref());
    }

    #[test]
    fn a_copy_that_leads_does_so_until_a_mirror_is_whole() {
        let mut pair = Pair::new();
        pair.finish();
        let copy = pair.folder.path().join("copy.db");
        File::create(with_suffix(&copy, "-leads")).expect("it can be written");
        pair.begin_again();
        assert!(pair.mirror.led().is_some());
        pair.mirror.add_to_file(&[7; 5_000]).expect("it can be written");
        assert!(leads(&copy).expect("it can tell"), "what it has decided is nowhere else");

        pair.begin_again();
        pair.finish();
        assert!(!leads(&copy).expect("it can tell"));
        assert_eq!(pair.mirror.led(), None);
        pair.is_alike();
    }

    #[test]
    fn an_earlier_copy_stays_until_a_new_one_is_whole() {
        let mut pair = Pair::new();
        pair.finish();
        pair.is_alike();
        let before = fs::read(pair.folder.path().join("copy.db")).expect("it is there");
        pair.mirror.begin().expect("it can be written");
        assert!(!pair.mirror.is_whole());
        pair.mirror.add_to_file(&[7; 5_000]).expect("it can be written");
        assert!(fs::read(pair.folder.path().join("copy.db")).expect("it is there") == before);
        pair.is_alike();
    }

    #[test]
    fn what_another_program_has_moved_away_is_not_acknowledged() {
        let mut pair = Pair::new();
        pair.finish();
        pair.write();
        pair.receive();
        let copy = pair.folder.path().join("copy.db");
        let count = |flags| {
            let db = Connection::open_with_flags(&copy, flags).expect("it is there");
            let query = "SELECT count(*) FROM jobs";
            db.query_row(query, [], |row| row.get::<_, i64>(0)).expect("it is a ledger")
        };
        assert_eq!(count(OpenFlags::SQLITE_OPEN_READ_ONLY), 1);
        assert!(pair.mirror.sync().expect("it can be written"), "reading does no harm");
        assert_eq!(count(OpenFlags::SQLITE_OPEN_READ_WRITE), 1);
        assert!(!log(&copy).exists(), "SQLite has moved it into the file");
        assert!(!pair.mirror.sync().expect("it can be written"));

        pair.begin_again_here();
        pair.finish();
        pair.write();
        pair.receive();
        pair.is_alike();
    }

    #[test]
    fn nonsense_is_refused() {
        let mut pair = Pair::new();
        pair.mirror.add_frames(&[0; 10]).expect_err("of which log?");
        pair.mirror.begin_log(&[0; 32]).expect_err("it is no header");
        pair.mirror.begin_log(&[0; 3]).expect_err("it is no header");
        pair.finish();
        pair.mirror.add_to_file(&[1]).expect_err("it is whole");
        pair.mirror.finish().expect_err("it is whole");
    }

    /// A ledger that is written, and what one follower of it is sent.
    struct Followed {
        _folder: TempDir,
        handle: LedgerHandle,
        following: Following,
    }

    impl Followed {
        /// The follower's mirror is whole.
        async fn new() -> Followed {
            let folder = TempDir::new().expect("a temporary directory");
            let (writer, handle) = writer(ledger_in(&folder.path().join("ledger.db")));
            tokio::spawn(writer.run(async || ()));
            let (ours, following) = follower();
            following.file_is_sent();
            let mut followed = Followed { _folder: folder, handle, following };
            followed.ask(LedgerRequest::Follow(ours)).await;
            assert!(matches!(followed.acknowledge().await, Piece::Log(_)));
            assert!(!followed.following.has_all());
            followed.ask(LedgerRequest::Look).await;
            while !matches!(followed.acknowledge().await, Piece::Whole) {}
            assert!(followed.following.has_all());
            followed
        }

        async fn ask(&self, request: LedgerRequest) {
            self.handle.requests.send(request).await.expect("it is written");
        }

        async fn acknowledge(&mut self) -> Piece {
            let shipment = self.following.shipments.recv().await.expect("it follows");
            self.following.acknowledge(shipment.number);
            shipment.piece
        }

        async fn decide(&self) {
            self.ask(LedgerRequest::Farm(Ticket(2), priority(3))).await;
        }

        /// How long a request takes to be answered.
        async fn is_answered(&mut self) -> Duration {
            let begun = Instant::now();
            while !matches!(self.handle.events.recv().await, Some(LedgerEvent::Answered(..))) {}
            begun.elapsed()
        }
    }

    const SOON: Duration = Duration::from_millis(200);

    #[tokio::test(start_paused = true)]
    async fn decisions_wait_for_a_whole_mirror_and_counts_do_not() {
        let mut followed = Followed::new().await;
        followed.ask(LedgerRequest::Farm(Ticket(1), range(90, 91, 5))).await;
        assert!(followed.is_answered().await < SOON);
        followed.acknowledge().await;

        followed.decide().await;
        timeout(SOON, followed.is_answered()).await.expect_err("the mirror does not have it");
        followed.acknowledge().await;
        assert!(followed.is_answered().await < SOON);
    }

    #[tokio::test(start_paused = true)]
    async fn a_mirror_has_all_once_it_has_what_was_answered_before_it_was_waited_for() {
        let (folder, (ours, mut following)) = (TempDir::new().expect("a folder"), follower());
        let ledger = ledger_in(&folder.path().join("ledger.db"));
        let mut followers = Followers::new(Some(log(&folder.path().join("ledger.db"))));
        followers.add(ours);
        following.file_is_sent();
        followers.committed();
        let count = |at| ledger.apply(&[range(at, at + 1, 5)]).expect("it is written");
        count(90);
        followers.committed();
        timeout(SOON, followers.wait()).await.expect("the mirror is not known to be whole");
        let acknowledge = |following: &mut Following| {
            let shipment = following.shipments.try_recv().expect("it was sent");
            following.acknowledge(shipment.number);
            matches!(shipment.piece, Piece::Whole)
        };
        while !acknowledge(&mut following) {}
        assert!(!following.has_all(), "a count was answered that it does not have");
        count(91);
        followers.committed();
        acknowledge(&mut following);
        assert!(following.has_all(), "later counts do not matter");
    }

    #[tokio::test(start_paused = true)]
    async fn decisions_do_not_wait_for_a_mirror_that_is_late_or_has_gone() {
        let mut followed = Followed::new().await;
        followed.decide().await;
        let waited = followed.is_answered().await;
        assert!(waited > SOON && waited < Duration::from_secs(10), "{waited:?}");
        followed.acknowledge().await;
        assert!(followed.following.shipments.recv().await.is_none(), "it is given up");

        let mut followed = Followed::new().await;
        followed.following = follower().1;
        followed.decide().await;
        assert!(followed.is_answered().await < SOON);
    }
}
