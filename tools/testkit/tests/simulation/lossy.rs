//! A disk that loses what was not synced when its power is cut, and tears it.
//!
//! SQLite writes through a copy of its own VFS. Whatever it writes reaches the file at once, as
//! always. Before that, the old content of each sector is kept until the file is synced. When the
//! power is cut, each sector that was not synced is kept or gets its old content back, by chance.
//! Names of files are not lost: SQLite syncs folders by itself.
//!
//! Each history runs on a thread of its own, and so does its disk.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::fs::OpenOptions;
use std::io::{Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use rusqlite::ffi;
use testkit::Random;

/// A disk writes as much at once.
const SECTOR: usize = 512;
/// After so many pages, SQLite moves the log into the ledger, instead of 1,000.
const CHECKPOINT_PAGES: c_int = 20;

thread_local! {
    static DISK: RefCell<Disk> = RefCell::default();
}

#[derive(Default)]
struct Disk {
    files: BTreeMap<PathBuf, Unsynced>,
    fails: Fails,
}

/// Which syncs fail, because the power will be cut before they end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Fails {
    #[default]
    None,
    /// Those of the ledger itself, so that a checkpoint is never complete.
    Checkpoints,
    /// Those of the log, too, so that no commit is complete.
    Commits,
}

/// What of a file was not synced.
#[derive(Default)]
struct Unsynced {
    /// The synced content of each sector that was changed; shorter where the file ended.
    sectors: BTreeMap<u64, Vec<u8>>,
    /// The synced length, if something was changed.
    length: Option<u64>,
}

/// An open file's methods. SQLite knows the first field alone.
#[repr(C)]
struct Methods {
    lossy: ffi::sqlite3_io_methods,
    own: *const ffi::sqlite3_io_methods,
    name: PathBuf,
}

/// The address of SQLite's own VFS.
static REAL: OnceLock<usize> = OnceLock::new();

/// Has SQLite write all files of this process through this disk.
pub fn install() {
    REAL.get_or_init(|| {
        // SAFETY: SQLite's own VFS lives as long as the process. The copy is never freed, and
        // differs from it in the call that opens files.
        unsafe {
            let real = ffi::sqlite3_vfs_find(std::ptr::null());
            let lossy = ffi::sqlite3_vfs { zName: c"lossy".as_ptr(), xOpen: Some(open), ..*real };
            let lossy = Box::leak(Box::new(lossy));
            assert_eq!(ffi::sqlite3_vfs_register(lossy, 1), ffi::SQLITE_OK);
            ffi::sqlite3_auto_extension(Some(checkpoint_often));
            real as usize
        }
    });
}

/// From now on, these syncs of this thread fail, until the power is cut.
pub fn fail(fails: Fails) {
    DISK.with_borrow_mut(|disk| disk.fails = fails);
}

/// Loses of this file by chance what was not synced, while no connection is open. Returns how many
/// sectors were lost.
pub fn cut_power(path: &Path, random: &mut Random) -> u64 {
    let unsynced = DISK.with_borrow_mut(|disk| {
        disk.fails = Fails::None;
        disk.files.remove(path)
    });
    let Unsynced { sectors, length: Some(length) } = unsynced.unwrap_or_default() else { return 0 };
    let Ok(mut file) = OpenOptions::new().write(true).open(path) else { return 0 };
    let mut lost = 0;
    let last = sectors.keys().last().copied();
    for (sector, old) in sectors {
        // A commit whose sync failed is never whole.
        if Some(sector) == last || random.per_mille(500) {
            let zeros = vec![0; SECTOR - old.len()];
            let content = [old, zeros].concat();
            file.seek(SeekFrom::Start(sector * SECTOR as u64)).expect("it is a file");
            file.write_all(&content).expect("it can be written");
            lost += 1;
        }
    }
    if random.per_mille(500) {
        file.set_len(length).expect("it can be cut");
    }
    lost
}

unsafe extern "C" fn checkpoint_often(
    db: *mut ffi::sqlite3,
    _: *mut *mut c_char,
    _: *const ffi::sqlite3_api_routines,
) -> c_int {
    // SAFETY: SQLite calls this with a connection that was just opened.
    unsafe { ffi::sqlite3_wal_autocheckpoint(db, CHECKPOINT_PAGES) }
}

unsafe extern "C" fn open(
    _: *mut ffi::sqlite3_vfs,
    name: ffi::sqlite3_filename,
    file: *mut ffi::sqlite3_file,
    flags: c_int,
    out: *mut c_int,
) -> c_int {
    let real = *REAL.get().expect("it was installed") as *mut ffi::sqlite3_vfs;
    // SAFETY: the arguments are SQLite's, and go on to its own VFS. A file that it has opened
    // begins with its methods.
    unsafe {
        let opened = (*real).xOpen.expect("it has one")(real, name, file, flags, out);
        let kept = ffi::SQLITE_OPEN_MAIN_DB | ffi::SQLITE_OPEN_WAL | ffi::SQLITE_OPEN_MAIN_JOURNAL;
        if opened == ffi::SQLITE_OK && flags & kept != 0 && !name.is_null() {
            let own = (*file).pMethods;
            let lossy = ffi::sqlite3_io_methods {
                xClose: Some(close),
                xWrite: Some(write),
                xTruncate: Some(truncate),
                xSync: Some(sync),
                ..*own
            };
            let name = CStr::from_ptr(name).to_str().expect("it is text").into();
            (*file).pMethods = Box::into_raw(Box::new(Methods { lossy, own, name })).cast();
        }
        opened
    }
}

/// The methods of a file that [`open`] has opened.
unsafe fn methods<'a>(file: *mut ffi::sqlite3_file) -> (&'a ffi::sqlite3_io_methods, &'a Path) {
    // SAFETY: `open` has put them there, and only `close` frees them.
    unsafe {
        let methods = &*(*file).pMethods.cast::<Methods>();
        (&*methods.own, &methods.name)
    }
}

unsafe extern "C" fn close(file: *mut ffi::sqlite3_file) -> c_int {
    // SAFETY: `open` has boxed these methods, and the file has no others after this.
    unsafe {
        let methods = Box::from_raw((*file).pMethods.cast_mut().cast::<Methods>());
        (*file).pMethods = methods.own;
        (*methods.own).xClose.expect("it has one")(file)
    }
}

unsafe extern "C" fn write(
    file: *mut ffi::sqlite3_file,
    bytes: *const c_void,
    length: c_int,
    at: i64,
) -> c_int {
    // SAFETY: the arguments are SQLite's.
    unsafe {
        keep(file, at, at + i64::from(length));
        methods(file).0.xWrite.expect("it has one")(file, bytes, length, at)
    }
}

unsafe extern "C" fn truncate(file: *mut ffi::sqlite3_file, length: i64) -> c_int {
    // SAFETY: the arguments are SQLite's.
    unsafe {
        keep(file, length, i64::MAX);
        methods(file).0.xTruncate.expect("it has one")(file, length)
    }
}

unsafe extern "C" fn sync(file: *mut ffi::sqlite3_file, flags: c_int) -> c_int {
    // SAFETY: the file is open.
    let (own, name) = unsafe { methods(file) };
    let fails = DISK.with_borrow_mut(|disk| {
        let fails = match disk.fails {
            Fails::None => false,
            Fails::Checkpoints => !name.to_string_lossy().ends_with("-wal"),
            Fails::Commits => true,
        };
        if !fails {
            disk.files.remove(name);
        }
        fails
    });
    if fails {
        return ffi::SQLITE_IOERR_FSYNC;
    }
    // SAFETY: the arguments are SQLite's.
    unsafe { own.xSync.expect("it has one")(file, flags) }
}

/// Keeps the synced content of the sectors between two offsets.
unsafe fn keep(file: *mut ffi::sqlite3_file, start: i64, end: i64) {
    const LENGTH: i64 = SECTOR as i64;
    // SAFETY: the file is open.
    let (own, name) = unsafe { methods(file) };
    let mut length = 0;
    // SAFETY: the file is open.
    assert_eq!(unsafe { own.xFileSize.expect("it has one")(file, &mut length) }, ffi::SQLITE_OK);
    DISK.with_borrow_mut(|disk| {
        let unsynced = disk.files.entry(name.into()).or_default();
        unsynced.length.get_or_insert(length as u64);
        let end = if end == i64::MAX { length } else { end };
        for sector in start / LENGTH..(end + LENGTH - 1) / LENGTH {
            unsynced.sectors.entry(sector as u64).or_insert_with(|| {
                let mut old = vec![0; (length - sector * LENGTH).clamp(0, LENGTH) as usize];
                let (bytes, count) = (old.as_mut_ptr().cast(), old.len() as c_int);
                let read = own.xRead.expect("it has one");
                // SAFETY: the buffer and the file have as many bytes as are read.
                let read = unsafe { read(file, bytes, count, sector * LENGTH) };
                assert_eq!(read, ffi::SQLITE_OK, "it can be read");
                old
            });
        }
    });
}
