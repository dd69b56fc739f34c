//! Compares the tasks of each method with symmetries, closed forms and other enumerations.

mod first_rows;
mod halves;
mod ring;
mod rows;
