//! Opens a ledger: takes the lock, checks the file, reads its content and begins an epoch.
//!
//! Everything is read and checked before the first write ([`CheckedLedger`]), so that not a byte
//! changes in a file that is refused.

use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};
use std::time::Duration;

use farm::{CountedRange, JobId, Principal, Range, Restored, RestoredJob, Row, StoredJob};
use rusqlite::config::DbConfig;
use rusqlite::{Connection, OptionalExtension, TransactionBehavior};

use super::credentials::{self, Credential};
use super::place::{self, Place};
use super::planted::{Use, check_planted};
use super::store::{Store, unix_ms};
use super::{Contents, LedgerFault, Result, queries, rules};
use super::{format, looking, making};

/// The bound of the epochs. An epoch is the upper part of the number of each of its leases.
const MAX_EPOCH: i64 = 1 << 23;
/// The greatest number that a job, a credential or evidence of a range can have got, one after the
/// other. The next one must fit, too.
const MAX_NUMBER: i64 = 1 << 53;
/// The number of statements that are kept prepared.
const PREPARED: usize = 64;
/// The first version of SQLite whose WAL cannot lose a commit to a rare race between checkpoints.
const MIN_SQLITE: i32 = 3_051_003;

/// A ledger that was read and found sound. This process holds it and has written nothing to it.
#[derive(Debug)]
pub struct CheckedLedger {
    pub(crate) ledger: Ledger,
    pub(crate) contents: Contents,
}

/// An open ledger. Only this process holds it. Every method fails with a [`LedgerFault`] if it
/// cannot be read or written.
#[derive(Debug)]
pub struct Ledger {
    pub(crate) db: Connection,
    /// The content when it was opened.
    pub(crate) restored: Restored,
    /// The file; `None` for a ledger in memory.
    pub(crate) place: Option<Place>,
    /// The lock, which lives as long as the ledger.
    lock: Option<LedgerLock>,
    /// The epoch and the random number of this opening. `None` if it has written nothing yet.
    opening: Option<(u32, i64)>,
}

/// The lock of a ledger, or of a path where a ledger will be made. No other process can take it
/// meanwhile. Dropping the lock removes its file.
#[derive(Debug)]
pub struct LedgerLock {
    file: File,
    name: PathBuf,
}

impl CheckedLedger {
    /// Makes a ledger in memory, which is lost when the process ends.
    pub fn in_memory() -> Result<CheckedLedger> {
        let db = Connection::open_in_memory()?;
        format::create(&db)?;
        CheckedLedger::check(db, None, None)
    }

    /// Opens the ledger in the file `path`, or a new one if there is no such file.
    ///
    /// # Errors
    ///
    /// [`LedgerFault`], if the file cannot be opened, is locked by another process, or is not a
    /// sound ledger.
    pub fn open(path: &Path) -> Result<CheckedLedger> {
        place::check_name(path, Use::Writes)?;
        making::make_ledger(path, false)?;
        let lock = LedgerLock::of(path)?;
        if std::fs::metadata(path)?.len() == 0 {
            return Err(LedgerFault::emptied());
        }
        looking::check_header(path)?;
        let db = Connection::open(path)?;
        #[cfg(unix)]
        if std::os::unix::fs::MetadataExt::nlink(&std::fs::metadata(path)?) > 1 {
            return Err(LedgerFault::Linked);
        }
        CheckedLedger::check(db, Some(Place::of(path)?), Some(lock))
    }

    /// The jobs of the ledger.
    pub fn jobs(&self) -> &[RestoredJob] {
        &self.ledger.restored.jobs
    }

    pub(crate) fn check(
        db: Connection,
        place: Option<Place>,
        lock: Option<LedgerLock>,
    ) -> Result<CheckedLedger> {
        assert!(rusqlite::version_number() >= MIN_SQLITE, "SQLite {}", rusqlite::version());
        format::distrust(&db)?;
        // Without this, SQLite would write to a refused file when it closes the file.
        db.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
        // Without this, SQLite would prepare a query anew for each range, to choose the best query
        // plan for that range.
        db.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
        // The rules have more queries than are kept prepared by default.
        db.set_prepared_statement_cache_capacity(PREPARED);
        let mut ledger = Ledger { db, restored: Restored::default(), place, lock, opening: None };
        let (restored, contents) = ledger.check_and_read()?;
        ledger.restored = restored;
        Ok(CheckedLedger { ledger, contents })
    }

    /// Makes the ledger ready for writing and records this epoch in it. If this fails, the ledger
    /// has no new epoch.
    pub fn begin(self) -> Result<Ledger> {
        let CheckedLedger { mut ledger, .. } = self;
        ledger.db.busy_handler(Some(format::wait_for_others))?;
        let db = &ledger.db;
        db.pragma_update(None, "synchronous", "FULL")?;
        db.pragma_update(None, "foreign_keys", true)?;
        // The epoch is written and rolled back, to find out whether the ledger can be written
        // before anything in it changes.
        let transaction = rusqlite::Transaction::new_unchecked(db, TransactionBehavior::Immediate)?;
        record_epoch(&transaction)?;
        transaction.rollback()?;
        let mode: String =
            db.pragma_update_and_check(None, "journal_mode", "WAL", |row| row.get(0))?;
        if mode != "wal" && ledger.place.is_some() {
            let text = "its write-ahead log cannot be begun: the disk fails or is full";
            return Err(std::io::Error::other(text).into());
        }
        let transaction = db.unchecked_transaction()?;
        let opening = record_epoch(&transaction)?;
        ledger.place.as_ref().map_or(Ok(()), Place::check_open)?;
        transaction.commit()?;
        ledger.restored.epoch = opening.0.into();
        ledger.opening = Some(opening);
        Ok(ledger)
    }
}

impl Ledger {
    /// The file, if there is one.
    pub fn path(&self) -> Option<&Path> {
        self.place.as_ref().map(Place::name)
    }

    /// Everything that the farm needs in order to go on, except for the epoch.
    pub fn read_back(&self) -> Result<Restored> {
        Ok(self.read_all()?.0)
    }

    fn read_all(&self) -> Result<(Restored, Contents)> {
        let query = "SELECT max(coalesce((SELECT max(id) FROM jobs), 0), coalesce((SELECT max(job) FROM removed), 0))";
        let last_job = self.db.query_row(query, [], |row| row.get(0))?;
        let (restored, contents) = rules::restore(&Store::of(&self.db))?;
        Ok((Restored { last_job, ..restored }, contents))
    }

    /// A job, without its rows.
    pub fn job(&self, job: JobId) -> Result<StoredJob> {
        rules::stored_job(&Store::of(&self.db), job)
    }

    /// The accepted ranges of a job that overlap a range, in ascending order.
    pub fn rows_in(&self, job: JobId, range: Range) -> Result<Vec<CountedRange>> {
        rules::first_rows(&Store::of(&self.db), job, range, usize::MAX)
    }

    /// Walks the accepted ranges of a job in ascending order and returns the sum of their counts.
    pub fn for_each_row(&self, job: JobId, mut see: impl FnMut(Row)) -> Result<u128> {
        rules::for_each_row(&Store::of(&self.db), job, |counted| see(counted.row))
    }

    /// Closes the ledger and returns the lock, if there is one. The ledger is a single file then,
    /// unless another program has it open. A ledger that is only dropped stays in two files.
    ///
    /// # Errors
    ///
    /// [`LedgerFault`], if it cannot be written, or its file is gone.
    pub fn close(self) -> Result<Option<LedgerLock>> {
        self.look()?;
        self.check_opening()?;
        if let Some(path) = self.path() {
            // SQLite begins to use `FILE-journal` now.
            check_planted(path, Use::Writes)?;
        }
        let Ledger { db, lock, .. } = self;
        db.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, false)?;
        // If another program such as Litestream has the ledger open, it stays in two files, which
        // together are complete.
        let _ = db.pragma_update(None, "journal_mode", "DELETE");
        db.close().map_err(|(_, error)| error)?;
        Ok(lock)
    }

    /// Fails with [`LedgerFault::Taken`] if another opening of the ledger is the latest one. This
    /// is called at the beginning of every transaction that writes. Where the lock of one process
    /// does not keep out another one, as between two machines that share a disk, only one of them
    /// goes on.
    pub(crate) fn check_opening(&self) -> Result<()> {
        let Some(own) = self.opening else { return Ok(()) };
        let latest = "SELECT epoch, opening FROM epochs ORDER BY epoch DESC LIMIT 1";
        let latest =
            self.db.prepare_cached(latest)?.query_row([], |row| Ok((row.get(0)?, row.get(1)?)));
        match latest.optional()? {
            Some(latest) if latest == own => Ok(()),
            _ => Err(LedgerFault::Taken),
        }
    }

    /// The names of the files with which the ledger was served, in the folder of keys beside it.
    /// The file `token` may have been elsewhere.
    pub fn keys(&self) -> Result<Vec<String>> {
        Store::of(&self.db).keys()
    }

    /// Notes that the ledger is served with these files in its folder of keys. This is called
    /// before a writer owns the ledger.
    pub fn note_keys(&self, names: &[&str]) -> Result<()> {
        self.in_one_go(|| {
            for name in names {
                self.db.execute("INSERT OR IGNORE INTO keys VALUES (?, ?)", (name, unix_ms()))?;
            }
            Ok(())
        })
    }

    /// The credentials of the coordinator.
    pub fn credentials(&self) -> Result<Vec<Credential>> {
        credentials::read(&self.db)
    }

    /// Adds a credential. This is called before a writer owns the ledger.
    pub fn add_credential(&self, credential: &Credential) -> Result<()> {
        self.in_one_go(|| credentials::write(&self.db, credential))
    }

    /// Takes out the content that the ledger had when it was opened. A farm continues from it.
    pub fn take_restored(&mut self) -> Restored {
        std::mem::take(&mut self.restored)
    }

    /// Reads all of the content. Refuses files that are not ledgers, and ledgers that are not
    /// sound. Whoever opens a ledger to write, copy, join or export it does this, and a check does
    /// nothing else, so that what stops a start is found by a check.
    ///
    /// SQLite checks the structure of the file and compares the indices with their tables. Then
    /// each row is read and compared with its checksum, and all rows are summed again.
    fn check_and_read(&self) -> Result<(Restored, Contents)> {
        let content = |text: String| Err(LedgerFault::Content(text));
        format::check(&self.db)?;
        let verdict: String =
            self.db.pragma_query_value(None, "integrity_check", |row| row.get(0))?;
        if verdict != "ok" {
            return content(verdict);
        }
        if self.db.prepare("PRAGMA foreign_key_check")?.exists([])? {
            return content("it has rows of jobs that it does not have".into());
        }
        let last = "SELECT coalesce(max(epoch), 0) FROM epochs";
        let epoch: i64 = self.db.query_row(last, [], |row| row.get(0))?;
        if !(0..MAX_EPOCH - 1).contains(&epoch) {
            return content(format!("it cannot have been opened {epoch} times"));
        }
        let greatest: Option<i64> =
            self.db.query_row(queries::GREATEST_NUMBER, [], |row| row.get(0))?;
        if let Some(number) = greatest.filter(|number| *number > MAX_NUMBER) {
            return content(format!("it cannot have come to the number {number} of anything"));
        }
        let (restored, contents) = self.read_all()?;
        let returned = Store::of(&self.db).all(queries::ACCEPTED_AGAIN, [], |row| {
            let principal = Principal { owner: row.get(2)?, machine: row.get(3)? };
            Ok((row.get::<_, u64>(0)?, row.get::<_, u64>(1)?, principal))
        })?;
        for (job, first, principal) in returned {
            if restored.distrusted.includes(&principal) {
                return content(format!(
                    "job {job}: the count at ordinal {first} was found wrong, and is accepted again"
                ));
            }
        }
        self.credentials()?;
        self.check_values()?;
        Ok((restored, contents))
    }

    /// Refuses texts and blobs of any table that this program would not have written: names of
    /// owners and machines with characters that no name has, control characters in any text, and
    /// values that are larger than a row. The values are not loaded for that.
    fn check_values(&self) -> Result<()> {
        let store = Store::of(&self.db);
        let columns = store.all(queries::TEXTS_AND_BLOBS, [], |row| {
            Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?, row.get::<_, String>(2)?))
        })?;
        // Each table is read once. Its name and those of its columns are those of `schema.sql`.
        for of_table in columns.chunk_by(|(one, ..), (other, ..)| one == other) {
            let wrong = of_table.iter().map(|(_, column, wrong)| wrong.replace("COLUMN", column));
            let wrong = wrong.collect::<Vec<_>>().join(" OR ");
            let table = &of_table[0].0;
            let query = format!("SELECT 1 FROM {table} WHERE {wrong}");
            if self.db.prepare(&query)?.exists([format::MOST_BYTES])? {
                let text = format!("its table {table} has a text or a blob that no ledger has");
                return Err(LedgerFault::Content(text));
            }
        }
        Ok(())
    }
}

/// Notes that the ledger is opened. Returns the new epoch, which is higher than all before, and its
/// random number.
fn record_epoch(db: &Connection) -> Result<(u32, i64)> {
    Ok(db.query_row(
        "INSERT INTO epochs SELECT coalesce(max(epoch), 0) + 1, ?, ?, random() FROM epochs \
         RETURNING epoch, opening",
        (unix_ms(), env!("CARGO_PKG_VERSION")),
        |row| Ok((row.get(0)?, row.get(1)?)),
    )?)
}

/// The size in bytes of the ledger at `path`, which must exist, with the files that SQLite keeps
/// beside it.
pub fn file_bytes(path: &Path) -> std::io::Result<u64> {
    let journal = std::fs::metadata(place::log(path)).map_or(0, |file| file.len());
    Ok(std::fs::metadata(path)?.len() + journal)
}

impl LedgerLock {
    /// Takes the lock on `FILE-lock` for this process.
    ///
    /// A child process that another thread starts shares our open files until it runs its own
    /// program. Therefore a released lock may seem to be held for some milliseconds, and this
    /// function retries for a second. It also retries if the last holder has removed the lock file,
    /// because a lock on a file without a name excludes nobody.
    ///
    /// # Errors
    ///
    /// [`LedgerFault::Locked`], if another process holds the lock, and [`LedgerFault::FileSystem`],
    /// if nobody can hold one there.
    pub fn of(path: &Path) -> Result<LedgerLock> {
        place::check_name(path, Use::Writes)?;
        const ATTEMPTS: u32 = 50;
        const PAUSE: Duration = Duration::from_millis(20);
        // Two processes never lock one file under two names.
        let name = place::with_suffix(&place::canonical(path), "-lock");
        for attempt in 0..ATTEMPTS {
            if attempt > 0 {
                std::thread::sleep(PAUSE);
            }
            let file = place::private().read(true).create(true).truncate(false).open(&name);
            let file = file.map_err(|error| match name.is_symlink() {
                true => std::io::Error::other(format!("{} is a link: remove it", name.display())),
                false => error,
            })?;
            match file.try_lock() {
                Ok(()) if place::is_named(&file, &name)? => {
                    let lock = LedgerLock { file, name };
                    place::check_locks(&lock.file)?;
                    return Ok(lock);
                }
                Ok(()) | Err(TryLockError::WouldBlock) => {}
                // NFS reports this for a file that another node has removed.
                Err(TryLockError::Error(error))
                    if error.kind() == std::io::ErrorKind::StaleNetworkFileHandle => {}
                Err(TryLockError::Error(error)) => {
                    // Nobody can hold it.
                    let _ = std::fs::remove_file(&name);
                    return Err(place::no_locks(&error));
                }
            }
        }
        Err(LedgerFault::Locked)
    }

    /// Fails with [`LedgerFault::Locked`] if another process holds the lock. Nothing is made.
    pub(crate) fn refuse_held(path: &Path) -> Result<()> {
        let name = place::with_suffix(&place::canonical(path), "-lock");
        match File::open(name).map(|file| file.try_lock()) {
            Ok(Err(TryLockError::WouldBlock)) => Err(LedgerFault::Locked),
            _ => Ok(()),
        }
    }
}

impl Drop for LedgerLock {
    /// Removes the lock file while it is locked. A node that was cut off may have lost the lock to
    /// another node, whose file is not removed. A file that Windows does not allow to be removed
    /// stays, too.
    fn drop(&mut self) {
        let is_named = || place::is_named(&self.file, &self.name).is_ok_and(|is_named| is_named);
        if cfg!(unix) && self.file.try_lock().is_ok() && is_named() {
            let _ = std::fs::remove_file(&self.name);
        }
    }
}
