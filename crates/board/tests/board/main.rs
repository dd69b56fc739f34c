//! The tasks of each method, against symmetries, closed forms and enumerations of another kind.

mod first_rows;
mod halves;
mod ring;
mod rows;
#[cfg(feature = "serde")]
mod serde;
