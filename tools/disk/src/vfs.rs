//! The file system layer that SQLite sees: <https://www.sqlite.org/vfs.html>.
//!
//! It is registered once as the default of the process, over the default that SQLite has by itself. Files under a folder
//! with a [`crate::Disk`] are watched, all others are only passed on.
//!
//! ```text
//!   memory of an open file:   │ File: methods, handle │ the real layer's own │
//! ```

use std::collections::BTreeMap;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::mem::size_of;
use std::path::{Path, PathBuf};
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};
use std::sync::{Mutex, MutexGuard, Once, PoisonError};

use rusqlite::ffi;

use crate::disk::{FileId, Shared, Verdict, lock};
use crate::fault::Call;
use crate::image::SECTOR;

/// The disks by their folders.
static DISKS: Mutex<BTreeMap<PathBuf, Shared>> = Mutex::new(BTreeMap::new());
/// The layer that SQLite has by itself.
static REAL: AtomicPtr<ffi::sqlite3_vfs> = AtomicPtr::new(ptr::null_mut());
static ONCE: Once = Once::new();

/// What is smaller than a page is a header.
const LEAST_PAGE: usize = 512;

fn disks() -> MutexGuard<'static, BTreeMap<PathBuf, Shared>> {
    DISKS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Watches the files under a folder.
pub(crate) fn mount(folder: &Path, disk: &Shared) {
    ONCE.call_once(register);
    disks().insert(folder.to_path_buf(), disk.clone());
}

/// Ends that.
pub(crate) fn unmount(folder: &Path) {
    disks().remove(folder);
}

fn register() {
    // SAFETY: SQLite is initialised by the first call, and layers that are registered are never freed. The copy of the
    // real layer keeps its functions, which look at nothing of their layer but its `pAppData`, and that is copied too.
    unsafe {
        // Threads would wait for each other to count their memory. It is too late for that if SQLite is in use already.
        ffi::sqlite3_config(ffi::SQLITE_CONFIG_MEMSTATUS, 0);
        assert_eq!(ffi::sqlite3_initialize(), ffi::SQLITE_OK);
        let real = ffi::sqlite3_vfs_find(ptr::null());
        assert!(!real.is_null(), "SQLite has a layer by itself");
        REAL.store(real, Ordering::Release);
        let mut ours = *real;
        ours.szOsFile = size_of::<File>() as c_int + (*real).szOsFile;
        ours.pNext = ptr::null_mut();
        ours.zName = c"simulated disk".as_ptr();
        ours.xOpen = Some(open);
        ours.xDelete = Some(delete);
        let ours = Box::leak(Box::new(ours));
        assert_eq!(ffi::sqlite3_vfs_register(ours, 1), ffi::SQLITE_OK);
    }
}

fn real() -> *mut ffi::sqlite3_vfs {
    REAL.load(Ordering::Acquire)
}

/// The beginning of the memory of an open file. The real layer's file is behind it.
#[repr(C)]
struct File {
    base: ffi::sqlite3_file,
    handle: *mut Handle,
}

/// What is known about an open file. `None` if it is only passed on.
struct Handle(Option<Watched>);

struct Watched {
    disk: Shared,
    id: FileId,
    /// Whether the next sync makes names durable too: SQLite syncs the folder of a journal that it has made.
    syncs_names: bool,
}

static METHODS: ffi::sqlite3_io_methods = ffi::sqlite3_io_methods {
    // Without memory-mapped pages, which would be written behind our back.
    iVersion: 2,
    xClose: Some(close),
    xRead: Some(read),
    xWrite: Some(write),
    xTruncate: Some(truncate),
    xSync: Some(sync),
    xFileSize: Some(file_size),
    xLock: Some(take_lock),
    xUnlock: Some(unlock),
    xCheckReservedLock: Some(check_reserved_lock),
    xFileControl: Some(file_control),
    xSectorSize: Some(sector_size),
    xDeviceCharacteristics: Some(device_characteristics),
    xShmMap: Some(shm_map),
    xShmLock: Some(shm_lock),
    xShmBarrier: Some(shm_barrier),
    xShmUnmap: Some(shm_unmap),
    xFetch: None,
    xUnfetch: None,
};

/// The disk that has a file, and the file's path.
///
/// # Safety
///
/// `name` is null or ends with a zero.
unsafe fn place(name: *const c_char) -> Option<(Shared, PathBuf)> {
    if name.is_null() {
        return None;
    }
    // SAFETY: the caller's promise.
    let name = unsafe { CStr::from_ptr(name) };
    let path = Path::new(name.to_str().ok()?);
    let disk = disks().get(path.parent()?).cloned()?;
    Some((disk, path.to_path_buf()))
}

unsafe extern "C" fn open(
    _: *mut ffi::sqlite3_vfs,
    name: ffi::sqlite3_filename,
    file: *mut ffi::sqlite3_file,
    flags: c_int,
    out_flags: *mut c_int,
) -> c_int {
    // SAFETY: SQLite hands over `szOsFile` bytes for the file, and a name that ends with a zero or none.
    unsafe {
        (*file).pMethods = ptr::null();
        let place = place(name);
        if place.as_ref().is_some_and(|(disk, _)| lock(disk).has_stopped()) {
            return ffi::SQLITE_CANTOPEN;
        }
        let inner = inner(file);
        (*inner).pMethods = ptr::null();
        let xopen = (*real()).xOpen.expect("every layer opens files");
        let code = xopen(real(), name, inner, flags, out_flags);
        if code != ffi::SQLITE_OK {
            return code;
        }
        const JOURNALS: c_int =
            ffi::SQLITE_OPEN_WAL | ffi::SQLITE_OPEN_MAIN_JOURNAL | ffi::SQLITE_OPEN_SUPER_JOURNAL;
        let syncs_names = flags & JOURNALS != 0 && flags & ffi::SQLITE_OPEN_CREATE != 0;
        let watched = place.map(|(disk, path)| {
            let id = lock(&disk).opened(&path);
            Watched { disk, id, syncs_names }
        });
        let file = file.cast::<File>();
        (*file).handle = Box::into_raw(Box::new(Handle(watched)));
        (*file).base.pMethods = &METHODS;
        code
    }
}

unsafe extern "C" fn delete(
    _: *mut ffi::sqlite3_vfs,
    name: *const c_char,
    sync_folder: c_int,
) -> c_int {
    // SAFETY: SQLite hands over a name that ends with a zero.
    unsafe {
        let xdelete = (*real()).xDelete.expect("every layer removes files");
        let Some((disk, path)) = place(name) else { return xdelete(real(), name, sync_folder) };
        let mut state = lock(&disk);
        match state.judge(Call::Name, None) {
            Verdict::Fail(code) => return code,
            Verdict::FailInPart(code) => {
                if xdelete(real(), name, 0) == ffi::SQLITE_OK {
                    state.removed(&path);
                }
                return code;
            }
            Verdict::Proceed | Verdict::Pretend | Verdict::Misdirect => {}
        }
        let code = xdelete(real(), name, 0);
        if code == ffi::SQLITE_OK {
            state.removed(&path);
            if sync_folder != 0 {
                state.sync_names();
            }
        }
        code
    }
}

/// The real layer's file.
///
/// # Safety
///
/// `file` has the bytes of a [`File`] and those of the real layer's behind them.
unsafe fn inner(file: *mut ffi::sqlite3_file) -> *mut ffi::sqlite3_file {
    // SAFETY: the caller's promise. The size of `File` is a multiple of the alignment of pointers.
    unsafe { file.cast::<u8>().add(size_of::<File>()).cast() }
}

/// Calls a method of the real layer's file.
macro_rules! pass_on {
    ($file:ident . $method:ident ( $($argument:expr),* )) => {{
        let inner = inner($file);
        ((*(*inner).pMethods).$method.expect("the real layer has it"))(inner $(, $argument)*)
    }};
}

/// What is known about a watched file.
///
/// # Safety
///
/// `file` was opened by [`open`] and is not closed yet; nobody else uses its handle meanwhile, because SQLite uses a file
/// from one thread at a time.
unsafe fn watched<'a>(file: *mut ffi::sqlite3_file) -> Option<&'a mut Watched> {
    // SAFETY: the caller's promise.
    unsafe { (*(*file.cast::<File>()).handle).0.as_mut() }
}

unsafe extern "C" fn close(file: *mut ffi::sqlite3_file) -> c_int {
    // SAFETY: `open` has made the handle, and SQLite closes a file once.
    unsafe {
        let code = pass_on!(file.xClose());
        drop(Box::from_raw((*file.cast::<File>()).handle));
        (*file).pMethods = ptr::null();
        code
    }
}

unsafe extern "C" fn read(
    file: *mut ffi::sqlite3_file,
    to: *mut c_void,
    bytes: c_int,
    offset: i64,
) -> c_int {
    // SAFETY: the arguments are SQLite's, and `open` has opened the file.
    unsafe {
        if let Some(Watched { disk, id, .. }) = watched(file)
            && let Verdict::Fail(code) = lock(disk).judge(Call::Read, Some(*id))
        {
            return code;
        }
        pass_on!(file.xRead(to, bytes, offset))
    }
}

unsafe extern "C" fn write(
    file: *mut ffi::sqlite3_file,
    from: *const c_void,
    bytes: c_int,
    offset: i64,
) -> c_int {
    // SAFETY: the arguments are SQLite's: `from` has so many bytes; and `open` has opened the file.
    unsafe {
        let Some(Watched { disk, id, .. }) = watched(file) else {
            return pass_on!(file.xWrite(from, bytes, offset));
        };
        let content = std::slice::from_raw_parts(from.cast::<u8>(), bytes as usize);
        let mut size = 0;
        let code = pass_on!(file.xFileSize(&mut size));
        if code != ffi::SQLITE_OK {
            return code;
        }
        let call = Call::Write {
            extends: offset + i64::from(bytes) > size,
            page: content.len() >= LEAST_PAGE,
        };
        let mut state = lock(disk);
        let (bytes, offset, failure) = match state.judge(call, Some(*id)) {
            Verdict::Proceed => (bytes, offset, None),
            Verdict::Fail(code) => return code,
            Verdict::FailInPart(code) => {
                // A sector is written as a whole or not at all.
                let end = offset + state.random().below(bytes as u64) as i64;
                let part = (end - end % SECTOR as i64 - offset).max(0) as c_int;
                (part, offset, Some(code))
            }
            Verdict::Pretend => return ffi::SQLITE_OK,
            Verdict::Misdirect => {
                // The places of other pages lie whole pages before and behind this one, and there is one at least.
                let stride = i64::from(bytes) + if offset % i64::from(bytes) == 0 { 0 } else { 24 };
                let first = offset % stride;
                let places = ((size - first) / stride).max(1) as u64;
                (bytes, first + stride * state.random().below(places) as i64, None)
            }
        };
        let code = pass_on!(file.xWrite(from, bytes, offset));
        if code == ffi::SQLITE_OK {
            state.image(*id).write(offset as usize, &content[..bytes as usize]);
        }
        failure.unwrap_or(code)
    }
}

unsafe extern "C" fn truncate(file: *mut ffi::sqlite3_file, size: i64) -> c_int {
    // SAFETY: the arguments are SQLite's, and `open` has opened the file.
    unsafe {
        let Some(Watched { disk, id, .. }) = watched(file) else {
            return pass_on!(file.xTruncate(size));
        };
        let mut state = lock(disk);
        let failure = match state.judge(Call::Truncate, Some(*id)) {
            Verdict::Fail(code) => return code,
            Verdict::FailInPart(code) => Some(code),
            Verdict::Proceed | Verdict::Pretend | Verdict::Misdirect => None,
        };
        let code = pass_on!(file.xTruncate(size));
        if code == ffi::SQLITE_OK {
            state.image(*id).truncate(size as usize);
        }
        failure.unwrap_or(code)
    }
}

unsafe extern "C" fn sync(file: *mut ffi::sqlite3_file, flags: c_int) -> c_int {
    // SAFETY: the arguments are SQLite's, and `open` has opened the file.
    unsafe {
        let Some(watched) = watched(file) else { return pass_on!(file.xSync(flags)) };
        let mut state = lock(&watched.disk);
        let failure = match state.judge(Call::Sync, Some(watched.id)) {
            Verdict::Fail(code) => return code,
            Verdict::FailInPart(code) => code,
            Verdict::Proceed | Verdict::Pretend | Verdict::Misdirect => ffi::SQLITE_OK,
        };
        state.image(watched.id).sync();
        if std::mem::take(&mut watched.syncs_names) {
            state.sync_names();
        }
        failure
    }
}

unsafe extern "C" fn file_size(file: *mut ffi::sqlite3_file, size: *mut i64) -> c_int {
    // SAFETY: the arguments are SQLite's, and `open` has opened the file.
    unsafe { pass_on!(file.xFileSize(size)) }
}

unsafe extern "C" fn take_lock(file: *mut ffi::sqlite3_file, level: c_int) -> c_int {
    // SAFETY: the arguments are SQLite's, and `open` has opened the file.
    unsafe { pass_on!(file.xLock(level)) }
}

unsafe extern "C" fn unlock(file: *mut ffi::sqlite3_file, level: c_int) -> c_int {
    // SAFETY: the arguments are SQLite's, and `open` has opened the file.
    unsafe { pass_on!(file.xUnlock(level)) }
}

unsafe extern "C" fn check_reserved_lock(
    file: *mut ffi::sqlite3_file,
    is_held: *mut c_int,
) -> c_int {
    // SAFETY: the arguments are SQLite's, and `open` has opened the file.
    unsafe { pass_on!(file.xCheckReservedLock(is_held)) }
}

unsafe extern "C" fn file_control(
    file: *mut ffi::sqlite3_file,
    what: c_int,
    argument: *mut c_void,
) -> c_int {
    // SAFETY: the arguments are SQLite's, and `open` has opened the file.
    unsafe { pass_on!(file.xFileControl(what, argument)) }
}

unsafe extern "C" fn sector_size(file: *mut ffi::sqlite3_file) -> c_int {
    // SAFETY: `open` has opened the file.
    unsafe { pass_on!(file.xSectorSize()) }
}

unsafe extern "C" fn device_characteristics(file: *mut ffi::sqlite3_file) -> c_int {
    // SAFETY: `open` has opened the file.
    unsafe { pass_on!(file.xDeviceCharacteristics()) }
}

unsafe extern "C" fn shm_map(
    file: *mut ffi::sqlite3_file,
    region: c_int,
    bytes: c_int,
    extend: c_int,
    memory: *mut *mut c_void,
) -> c_int {
    // SAFETY: the arguments are SQLite's, and `open` has opened the file.
    unsafe { pass_on!(file.xShmMap(region, bytes, extend, memory)) }
}

unsafe extern "C" fn shm_lock(
    file: *mut ffi::sqlite3_file,
    offset: c_int,
    number: c_int,
    flags: c_int,
) -> c_int {
    // SAFETY: the arguments are SQLite's, and `open` has opened the file.
    unsafe { pass_on!(file.xShmLock(offset, number, flags)) }
}

unsafe extern "C" fn shm_barrier(file: *mut ffi::sqlite3_file) {
    // SAFETY: `open` has opened the file.
    unsafe { pass_on!(file.xShmBarrier()) }
}

unsafe extern "C" fn shm_unmap(file: *mut ffi::sqlite3_file, delete: c_int) -> c_int {
    // SAFETY: `open` has opened the file.
    unsafe { pass_on!(file.xShmUnmap(delete)) }
}
