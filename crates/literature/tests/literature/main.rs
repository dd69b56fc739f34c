//! Tests of the algorithms of the sources.

mod classical;
mod forced;
mod states;
