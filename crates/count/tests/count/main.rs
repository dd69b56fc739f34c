//! Compares every kernel on every backend with known counts, with the definition, and with each
//! other.

mod bounds;
mod colours;
mod counting;
mod first_rows;
mod stop;
mod variants;
