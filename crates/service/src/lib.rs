//! The running farm: a coordinator, a worker, and both in one process.
//!
//! This crate knows sockets, TLS, sessions, admission and the order in which events reach the farm.
//! It deliberately does not decide what may be leased or accepted (`farm` does), does not count
//! (`executor` does), does not store anything (`ledger` does), and knows neither options nor exit
//! codes (`queens-cli` does).
#![cfg_attr(unix, forbid(unsafe_code))]

pub mod api;
mod client;
pub mod coordinator;
mod endpoint;
mod error;
pub mod local;
mod os;
mod secrets;
pub mod tls;
pub mod wire;
pub mod worker;

pub use axum::http::Method;
pub use client::{ApiError, Client, Download, Events};
pub use endpoint::{Endpoint, PORT, ShowToken, TokenChannel, with_port};
pub use error::{CoordinatorGone, ServiceError};
pub use secrets::{
    HostPort, HostPortError, JoinString, JoinStringError, KeyFolder, Token, TokenError, lease_key,
    note_keys, require_keys, role_token, write_file, write_monitor_folder,
};
pub use tls::Pin;

#[cfg(test)]
mod tests;
