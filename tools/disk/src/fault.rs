//! What a disk does wrong, and when.

/// Something that goes wrong at one call of SQLite to its disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// From this call on, nothing reaches the disk: the process dies, or the power fails.
    Stop,
    /// A read fails.
    ReadError,
    /// A write fails.
    WriteError,
    /// Waiting for the disk fails. What was to be written may still be written later.
    SyncError,
    /// Waiting for the disk fails, and what was to be written never is, although it is read back until the power fails.
    LossySyncError,
    /// The disk is full: so many writes that make a file longer fail.
    Full {
        /// The number of writes.
        writes: u64,
    },
    /// A page is said to be written, and is not.
    LostWrite,
    /// A page is written to another page's place.
    Misdirected,
}

/// What SQLite asks a disk for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Call {
    Read,
    /// Whether it makes the file longer, and whether it writes a whole page.
    Write {
        extends: bool,
        page: bool,
    },
    Truncate,
    Sync,
    /// Makes or removes a name.
    Name,
}

impl Fault {
    /// Whether a disk lies, so that no program can know what it has.
    #[must_use]
    pub fn is_silent(self) -> bool {
        matches!(self, Fault::LossySyncError | Fault::LostWrite | Fault::Misdirected)
    }

    /// Whether it can strike at such a call.
    pub(crate) fn strikes_at(self, call: Call) -> bool {
        match self {
            Fault::Stop => call != Call::Read,
            Fault::ReadError => call == Call::Read,
            Fault::WriteError => matches!(call, Call::Write { .. } | Call::Truncate),
            Fault::SyncError | Fault::LossySyncError => call == Call::Sync,
            Fault::Full { .. } => matches!(call, Call::Write { extends: true, .. }),
            Fault::LostWrite | Fault::Misdirected => matches!(call, Call::Write { page: true, .. }),
        }
    }
}
