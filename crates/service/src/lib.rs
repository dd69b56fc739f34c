//! The running farm: a coordinator, a worker, and both in one process.
//!
//! This crate knows sockets, TLS, sessions, admission and the order in which events reach the farm. It
//! deliberately does not decide what may be leased or accepted (`farm` does), does not count (`executor`
//! does), does not store anything (`ledger` does), and knows neither options nor exit codes (`queens`
//! does).
#![cfg_attr(unix, forbid(unsafe_code))]

pub mod coordinator;
mod endpoint;
mod error;
mod files;
mod join_string;
pub mod local;
mod os;
pub mod tls;
mod token;
pub mod worker;

pub use endpoint::{Endpoint, PORT, ShowToken, TokenChannel, with_port};
pub use error::{CoordinatorGone, ServiceError};
pub use files::{KeyFolder, write_file};
pub use join_string::{HostPort, HostPortError, JoinString, JoinStringError};
pub use tls::Pin;
pub use token::Token;

#[cfg(test)]
mod tests;
