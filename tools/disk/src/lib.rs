//! The disk as it really is, under the real ledger.
//!
//! [`Disk`] puts a simulated disk under a folder. SQLite opens its files there through a file system layer of our own
//! ([`vfs`]), which passes every call on to the real one and strikes as it is told ([`Fault`]): the power fails, and what
//! was not synced is lost, reordered or torn; reads, writes and syncs fail; the disk is full; a write is lost or lands in
//! another place. What rots, and what vanishes, is altered while nobody looks ([`Disk::alter`], [`Disk::lose`]).
//!
//! The histories of the ledger on it are in `tests/ledger`.
//!
//! This crate knows SQLite's interface to a file system. It deliberately knows nothing about ledgers. `unsafe` is in
//! one file, `vfs.rs`.
#![deny(unsafe_code)]

mod disk;
mod fault;
mod image;
mod random;
#[allow(unsafe_code)]
mod vfs;

pub use disk::Disk;
pub use fault::Fault;
pub use random::{Random, mix};
