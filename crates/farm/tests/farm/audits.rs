//! Accepted ranges are counted again.
