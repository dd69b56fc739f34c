//! `cargo xtask ptx`: compiles the kernel of `crates/gpu` for NVIDIA's devices with NVIDIA's
//! compiler from PyPI. The result is committed, so neither a build nor a run of the program needs a
//! toolkit.

use std::fs;
use std::process::Command;

use crate::{Step, fault};

const TEXT: &str = "crates/gpu/src/kernels.c";
const PTX: &str = "crates/gpu/src/kernels.ptx";
const TOOLS: &str = "target/nvrtc";
/// The oldest compiler whose result today's devices accept: PTX 8.0, for drivers since version 525.
const COMPILER: &str = "nvidia-cuda-nvrtc-cu12==12.0.*";

/// Compiles the text, and writes its hash into the first line of the result.
pub(crate) fn run() -> Result<(), u8> {
    let python = format!("{TOOLS}/bin/python");
    Step::new("python3").args(["-m", "venv", TOOLS]).run()?;
    Step::new(&python).args(["-m", "pip", "install", "--quiet", COMPILER]).run()?;
    let ptx = Command::new(&python).args(["tools/gpu/ptx.py", TEXT]).output();
    let ptx = ptx.map_err(|error| fault(&format!("{python}: {error}")))?;
    if !ptx.status.success() {
        return Err(fault(&String::from_utf8_lossy(&ptx.stderr)));
    }
    let text = fs::read(TEXT).map_err(|error| fault(&format!("{TEXT}: {error}")))?;
    let hash = blake3::hash(&text).to_hex();
    let ptx = format!("// kernels.c {hash}\n{}", String::from_utf8_lossy(&ptx.stdout));
    fs::write(PTX, ptx).map_err(|error| fault(&format!("{PTX}: {error}")))
}
