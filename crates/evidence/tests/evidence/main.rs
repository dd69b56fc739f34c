//! Tests of bundles: honest ones, forged ones, and those of the corpus.

mod bundles;
mod corpus;
