//! The running farm: a coordinator, a worker, and both in one process.
//!
//! This crate knows sockets, sessions, admission and the order in which events reach the farm. It
//! deliberately decides nothing about what may be lent or accepted (that is `farm`'s), counts nothing
//! (`executor`), stores nothing (`ledger`), and speaks to no person (`queens`).
#![forbid(unsafe_code)]

pub mod coordinator;
mod endpoint;
mod error;
pub mod local;
mod token;
pub mod worker;

pub use endpoint::{Endpoint, ShowToken, TokenChannel};
pub use error::ServiceError;
pub use token::Token;
