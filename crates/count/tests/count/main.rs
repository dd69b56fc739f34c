//! Every kernel on every backend, against known counts, the definition and each other.

mod backends;
mod bounds;
mod counting;
mod first_rows;
mod halves;
mod ring;
mod variants;
