//! What the literature on N queens did: the algorithms of textbooks and articles, a file each with its source,
//! their comparison with the farm's methods, the methods explained on one small board, and the sources' figures
//! reproduced.
//!
//! This crate knows sources and what they claim. It deliberately knows nothing of farms, options, files and
//! terminals, and nothing else rests on it but the program.

#![forbid(unsafe_code)]

pub mod classical;
pub mod compare;
pub mod explain;
pub mod forced;
pub mod reproduce;
pub mod states;
