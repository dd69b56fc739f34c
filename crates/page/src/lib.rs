//! The live page of a farm.
//!
//! Each page is a function of what is seen of the farm at one moment. The first load, the updates and the
//! pages for browsers without script all come from the same functions.
//!
//! This crate knows HTML and what is seen of a farm. It deliberately knows no sockets, no credentials and no
//! database: who may see what, and how often it is looked at, is up to `service`.
#![forbid(unsafe_code)]

mod assets;
mod frame;

pub use assets::assets;
pub use frame::{Reader, fault, front, login};
