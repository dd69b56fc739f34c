//! The kernel's text in both of its forms, and what counts with it.

#[cfg(unix)]
mod counter;
#[cfg(unix)]
#[allow(unsafe_code)]
mod host;

use crate::{PTX, TEXT, driver};

#[test]
fn what_cuda_loads_was_made_from_this_text() {
    let hash = blake3::hash(TEXT.as_bytes()).to_hex();
    let first = PTX.lines().next().expect("it has a line");
    assert_eq!(first, format!("// kernels.c {hash}"), "run `cargo xtask ptx`");
}

#[test]
fn what_cuda_loads_has_the_kernel() {
    assert!(PTX.contains(&format!(".entry {}(", driver::KERNEL)));
}
