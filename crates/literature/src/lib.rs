//! The algorithms of the literature on N queens: one file for each algorithm of textbooks and
//! articles, their comparison with the farm's methods, an explanation of the methods on one small
//! board, and reproduced figures of the sources.
//!
//! This crate knows sources and their claims. It deliberately knows nothing of farms, options,
//! files and terminals. Only the program depends on it.

#![forbid(unsafe_code)]

pub mod classical;
pub mod compare;
pub mod explain;
pub mod forced;
pub mod reproduce;
pub mod sources;
pub mod states;
pub mod times;
