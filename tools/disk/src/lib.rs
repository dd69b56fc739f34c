//! The disk as it really is, and the real ledger on it.
//!
//! [`Disk`] puts a simulated disk under a folder. SQLite opens its files there through a file system layer of our own
//! (`vfs.rs`), which passes every call on to the real one and strikes as it is told ([`Fault`]): the power fails, and what
//! was not synced is lost, reordered or torn; reads, writes and syncs fail; the disk is full; a write is lost or lands in
//! another place. What rots, and what vanishes, is altered while nobody looks ([`Disk::alter`], [`Disk::lose`]).
//!
//! [`LedgerOnDisk`] is a ledger on such a disk, which is held against a model at every opening. Histories of it are
//! in `tests/disk`; the simulation of the farm (`tools/testkit`) runs over it too.
//!
//! # What the disk is taken for
//!
//! - What was synced survives a power cut, unless the disk lies. Of anything else, any part may survive, in any order; a
//!   sector of 512 bytes is written as a whole or not at all.
//! - Names are durable once their folder was synced, and not before; of what happened to names since, a beginning survives.
//! - A sync that fails may be repeated with success, or may have lost what was to be written.
//! - A process that is killed leaves all that it has told the system.
//!
//! What the ledger reads and writes without SQLite (its lock, the beginning of its file, the names beside it) is on the same
//! files, and never fails here.
//!
//! The disk knows SQLite's interface to a file system, and deliberately nothing about ledgers. `on_disk` knows the
//! ledger and what may become of it, and nothing about who writes it. `unsafe` is in one file, `vfs.rs`.
#![deny(unsafe_code)]

mod disk;
mod fault;
mod image;
mod on_disk;
#[allow(unsafe_code)]
mod vfs;

pub use disk::Disk;
pub use fault::Fault;
pub use image::Losses;
pub use on_disk::{Batch, Content, End, LedgerOnDisk, State, Tally, folder};
