//! Bundles: honest, forged, and those of the corpus.

mod bundles;
mod corpus;
