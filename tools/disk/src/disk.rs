//! A simulated disk under one folder.
//!
//! The files are real ones, and hold what a running system would read. Beside them, the disk knows what was synced: after
//! a power cut, the files become what is left of that and of anything that was written since.
//!
//! ```text
//!   SQLite ──write──► real file (what is read back) ─┐
//!      │                                             ├─ power cut ──► real file := durable + some of pending
//!      └────────────► image: durable, pending ───────┘
//! ```

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use histories::{Random, mix};

use crate::fault::Call;
use crate::image::{Image, Losses};
use crate::{Fault, vfs};

/// A disk under a folder. Dropping it leaves the folder to itself.
#[derive(Debug)]
pub struct Disk {
    folder: PathBuf,
    state: Shared,
}

/// What the calls of SQLite change.
pub(crate) type Shared = Arc<Mutex<State>>;

/// A number of a file, which outlives its name.
pub(crate) type FileId = usize;

#[derive(Debug)]
pub(crate) struct State {
    random: Random,
    images: Vec<Image>,
    /// The names as a running system sees them.
    names: BTreeMap<PathBuf, FileId>,
    /// The names that the disk has for certain.
    durable_names: BTreeMap<PathBuf, FileId>,
    /// What happened to names since, in order.
    pending_names: Vec<(PathBuf, Option<FileId>)>,
    planned: Option<Planned>,
    has_stopped: bool,
    struck: Vec<Fault>,
}

#[derive(Debug)]
struct Planned {
    fault: Fault,
    /// Calls at which it could strike and does not.
    spared: u64,
}

/// What a call shall do.
pub(crate) enum Verdict {
    /// What it is to do.
    Proceed,
    /// It fails with this code of SQLite.
    Fail(i32),
    /// It fails with this code although a part is done.
    FailInPart(i32),
    /// It does nothing and says that it did.
    Pretend,
    /// It writes to the place of another page.
    Misdirect,
}

impl Disk {
    /// Puts a disk under `folder`, which must be empty, for all files that SQLite opens there.
    ///
    /// # Panics
    ///
    /// If there is no such folder.
    #[must_use]
    pub fn under(folder: &Path, seed: u64) -> Disk {
        let folder = folder.canonicalize().expect("the folder is there");
        let state = Arc::new(Mutex::new(State {
            random: Random::new(mix(seed)),
            images: Vec::new(),
            names: BTreeMap::new(),
            durable_names: BTreeMap::new(),
            pending_names: Vec::new(),
            planned: None,
            has_stopped: false,
            struck: Vec::new(),
        }));
        vfs::mount(&folder, &state);
        Disk { folder, state }
    }

    /// Plans a fault for the next call at which it can strike, but for `spared` ones.
    pub fn plan(&self, fault: Fault, spared: u64) {
        self.lock().planned = Some(Planned { fault, spared });
    }

    /// Takes back what is planned and has not struck.
    pub fn calm(&self) {
        self.lock().planned = None;
    }

    /// The faults that have struck since the last time, in order.
    pub fn struck(&self) -> Vec<Fault> {
        std::mem::take(&mut self.lock().struck)
    }

    /// Nothing that SQLite does from now on reaches the disk.
    pub fn stop(&self) {
        self.lock().has_stopped = true;
    }

    /// Starts again after a process was killed: the system has kept all that it was told.
    pub fn restart(&self) {
        self.lock().has_stopped = false;
    }

    /// Starts again after the power has failed: of what was not synced, anything or nothing is left. Returns what has
    /// become of it. Nothing may have a file of the disk open.
    ///
    /// # Panics
    ///
    /// If the folder cannot be written.
    pub fn restart_after_power_cut(&self) -> Losses {
        let mut state = self.lock();
        let state = &mut *state;
        state.has_stopped = false;
        let known: Vec<PathBuf> = state.names.keys().cloned().collect();
        let kept = state.random.below(state.pending_names.len() as u64 + 1) as usize;
        for (path, id) in state.pending_names.drain(..).take(kept) {
            set(&mut state.durable_names, path, id);
        }
        for path in known {
            if !state.durable_names.contains_key(&path) {
                fs::remove_file(&path).expect("it is there");
            }
        }
        state.names = state.durable_names.clone();
        let mut losses = Losses::default();
        for (path, &id) in &state.names {
            let image = std::mem::take(&mut state.images[id]);
            let content = image.after_power_cut(&mut state.random, &mut losses);
            write(path, &content);
            state.images[id] = Image::of(content);
        }
        for entry in fs::read_dir(&self.folder).expect("the folder is there") {
            let path = entry.expect("it can be read").path();
            if path.to_string_lossy().ends_with("-shm") {
                fs::remove_file(path).expect("it is there");
            }
        }
        losses
    }

    /// Changes what the disk has of a file, behind everybody's back.
    ///
    /// # Panics
    ///
    /// If there is no such file.
    pub fn alter(&self, path: &Path, how: impl FnOnce(&mut Vec<u8>)) {
        let path = path.canonicalize().expect("the file is there");
        let mut content = fs::read(&path).expect("it can be read");
        how(&mut content);
        write(&path, &content);
        let mut state = self.lock();
        let id = state.names[&path];
        state.images[id] = Image::of(content);
    }

    /// Loses a file, and returns what was in it, if there was one.
    pub fn lose(&self, path: &Path) -> Option<Vec<u8>> {
        let path = path.canonicalize().ok()?;
        let content = fs::read(&path).ok()?;
        fs::remove_file(&path).ok()?;
        self.lock().forget(&path);
        Some(content)
    }

    /// Brings a file back that was lost.
    ///
    /// # Panics
    ///
    /// If the folder cannot be written.
    pub fn bring_back(&self, path: &Path, content: &[u8]) {
        write(path, content);
        let path = path.canonicalize().expect("it is there now");
        let mut state = self.lock();
        // Whoever looked for it may have made an empty one.
        state.forget(&path);
        state.know(path, content.to_vec(), true);
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        vfs::unmount(&self.folder);
    }
}

/// A seed that has failed has told so, and its disk is of no more use.
pub(crate) fn lock(state: &Shared) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

impl State {
    /// The number of the file of this name, which was opened just now.
    pub(crate) fn opened(&mut self, path: &Path) -> FileId {
        if let Some(&id) = self.names.get(path) {
            return id;
        }
        let content = fs::read(path).unwrap_or_default();
        let is_durable = !content.is_empty();
        self.know(path.to_path_buf(), content, is_durable)
    }

    fn know(&mut self, path: PathBuf, content: Vec<u8>, is_durable: bool) -> FileId {
        let id = self.images.len();
        self.images.push(Image::of(content));
        self.names.insert(path.clone(), id);
        if is_durable {
            self.durable_names.insert(path, id);
        } else {
            self.pending_names.push((path, Some(id)));
        }
        id
    }

    /// Nothing is left of a name, and of what happened to it.
    fn forget(&mut self, path: &Path) {
        self.names.remove(path);
        self.durable_names.remove(path);
        self.pending_names.retain(|(of, _)| of != path);
    }

    pub(crate) fn removed(&mut self, path: &Path) {
        if self.names.remove(path).is_some() {
            self.pending_names.push((path.to_path_buf(), None));
        }
    }

    /// All names are durable from now on.
    pub(crate) fn sync_names(&mut self) {
        for (path, id) in self.pending_names.drain(..) {
            set(&mut self.durable_names, path, id);
        }
    }

    pub(crate) fn image(&mut self, id: FileId) -> &mut Image {
        &mut self.images[id]
    }

    pub(crate) fn has_stopped(&self) -> bool {
        self.has_stopped
    }

    pub(crate) fn random(&mut self) -> &mut Random {
        &mut self.random
    }

    /// What becomes of a call, and what becomes of a file that is synced.
    pub(crate) fn judge(&mut self, call: Call, file: Option<FileId>) -> Verdict {
        use rusqlite::ffi;
        let failure = match call {
            Call::Read => ffi::SQLITE_IOERR_READ,
            Call::Write { .. } => ffi::SQLITE_IOERR_WRITE,
            Call::Truncate => ffi::SQLITE_IOERR_TRUNCATE,
            Call::Sync => ffi::SQLITE_IOERR_FSYNC,
            Call::Name => ffi::SQLITE_IOERR_DELETE,
        };
        if self.has_stopped {
            return Verdict::Fail(failure);
        }
        let Some(planned) = &mut self.planned else { return Verdict::Proceed };
        if !planned.fault.strikes_at(call) {
            return Verdict::Proceed;
        }
        if planned.spared > 0 {
            planned.spared -= 1;
            return Verdict::Proceed;
        }
        let fault = planned.fault;
        match &mut planned.fault {
            Fault::Full { writes } if *writes > 1 => *writes -= 1,
            _ => self.planned = None,
        }
        self.struck.push(fault);
        match fault {
            Fault::Stop => {
                self.has_stopped = true;
                match self.random.percent(50) {
                    true => Verdict::Fail(failure),
                    false => Verdict::FailInPart(failure),
                }
            }
            Fault::ReadError | Fault::SyncError => Verdict::Fail(failure),
            Fault::WriteError => match self.random.percent(50) {
                true => Verdict::Fail(failure),
                false => Verdict::FailInPart(failure),
            },
            Fault::LossySyncError => {
                if let Some(file) = file {
                    self.images[file].forget_pending();
                }
                Verdict::Fail(failure)
            }
            Fault::Full { .. } => Verdict::Fail(ffi::SQLITE_FULL),
            Fault::LostWrite => Verdict::Pretend,
            Fault::Misdirected => Verdict::Misdirect,
        }
    }
}

fn set(names: &mut BTreeMap<PathBuf, FileId>, path: PathBuf, id: Option<FileId>) {
    match id {
        Some(id) => names.insert(path, id),
        None => names.remove(&path),
    };
}

/// Writes into the file of that name, which stays the same file if there is one.
fn write(path: &Path, content: &[u8]) {
    fs::write(path, content).expect("the folder can be written");
}
