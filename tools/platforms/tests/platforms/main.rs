//! Tests the farm on each platform that `deploy` has files for, as its README page describes: real
//! containers, kills, volumes, secrets and packages.
//!
//! Needs root, a Docker engine, the compose tool, the image's base image
//! (deploy/offline/base-images) and Debian's packages, so a plain `cargo test` leaves these tests
//! out:
//!
//! ```text
//! cargo build
//! cargo test -p platforms --test platforms -- --ignored            # all of them
//! cargo test -p platforms --test platforms compose -- --ignored    # or one platform
//! ```

#[path = "../../../../crates/queens-cli/tests/support/process.rs"]
#[allow(dead_code)]
mod process;

mod client;
mod compose;
mod docker;
mod farm;
mod kubernetes;
mod packages;
