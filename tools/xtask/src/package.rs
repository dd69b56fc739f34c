//! `cargo xtask package`: the program, and the archive, deb and wheel that carry it.
//!
//! Programs for GNU's C library load it and the drivers of graphics processors from the system. A
//! program that has that library as a part of it would load the system's modules for names all the
//! same, and may crash by them. The library musl has no such modules, so a program may have it.
//!
//! The tools that make packages come from crates.io and PyPI into `target/packages/tools`, at fixed
//! versions.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use crate::{Step, cargo, fault};

const FOLDER: &str = "target/packages";
const TOOLS: &str = "target/packages/tools";
/// What packages hold besides the program, in a folder `data/share`, as wheels name what belongs
/// into `share`.
const TEXTS: &str = "target/packages/texts";
/// Where the documentation is in them.
const DOCUMENTS: &str = "data/share/doc/queens";
/// The documentation, with the scripts and units that it describes and all files that its links
/// lead to.
const DOCUMENTATION: [&str; 22] = [
    "README.md",
    "CHANGELOG.md",
    "ARCHITECTURE.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    "LICENSE-APACHE",
    "LICENSE-MIT",
    "CITATION.cff",
    "crates/board/src/colours/share.rs",
    "crates/count/LABBOOK.md",
    "crates/count/src/colours.rs",
    "crates/count/src/colours/cells.rs",
    "crates/count/src/colours/reference.rs",
    "crates/queens/README.md",
    "deploy",
    "docs",
    "proto",
    "python/README.md",
    "tests/README.md",
    "verify/blake3.py",
    "verify/plans.py",
    "verify/queens_verify.py",
];
/// What makes packages, and the compiler and linker of C for every target: Zig's.
const OF_PYPI: [&str; 3] = ["cargo-zigbuild==0.24.1", "maturin==1.16.0", "ziglang==0.17.1"];
const OF_CRATES_IO: &str = "cargo-deb@3.8.0";

/// The oldest C library of GNU that the programs run with, that of the wheels `manylinux2014`.
const GLIBC: &str = "2.17";

const X86_64: &str = "x86_64-unknown-linux-gnu";
const AARCH64: &str = "aarch64-unknown-linux-gnu";
const X86_64_MUSL: &str = "x86_64-unknown-linux-musl";
const AARCH64_MUSL: &str = "aarch64-unknown-linux-musl";

/// What packages are made for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Target {
    /// 64-bit x86
    #[value(name = X86_64)]
    X86_64,
    /// 64-bit ARM
    #[value(name = AARCH64)]
    Aarch64,
    /// 64-bit x86, with the C library as a part of the program: an archive
    #[value(name = X86_64_MUSL)]
    X86_64Musl,
    /// 64-bit ARM, with the C library as a part of the program: an archive
    #[value(name = AARCH64_MUSL)]
    Aarch64Musl,
}

impl Target {
    fn triple(self) -> &'static str {
        match self {
            Target::X86_64 => X86_64,
            Target::Aarch64 => AARCH64,
            Target::X86_64Musl => X86_64_MUSL,
            Target::Aarch64Musl => AARCH64_MUSL,
        }
    }

    fn is_this_machine(self) -> bool {
        self.triple().starts_with(std::env::consts::ARCH)
    }

    fn is_static(self) -> bool {
        matches!(self, Target::X86_64Musl | Target::Aarch64Musl)
    }

    /// Where the packages go.
    fn folder(self) -> PathBuf {
        absolute(FOLDER).join(self.triple())
    }

    /// Where the program is, once it is built.
    fn built(self) -> PathBuf {
        absolute("target").join(self.triple()).join("dist")
    }

    /// A step that runs the program, under an emulator if it is another machine's.
    fn program(self) -> Step {
        let program = self.built().join("queens");
        match self.is_this_machine() {
            true => Step::new(program),
            false => Step::new(EMULATOR[0]).args(&EMULATOR[1..]).args([program]),
        }
    }

    /// A step that compiles for this target. The program names neither this folder, in which it is
    /// built, nor cargo's, so that it is the same wherever a commit is built.
    fn compiling(self, step: Step) -> Step {
        let home = |name: &str| std::env::var_os(name).map(PathBuf::from);
        let cargo = home("CARGO_HOME").or_else(|| Some(home("HOME")?.join(".cargo")));
        let mut flags = OsString::new();
        for (path, name) in [(Some(absolute(".")), "queens"), (cargo, "cargo")] {
            let Some(path) = path else { continue };
            if !flags.is_empty() {
                flags.push("\x1f");
            }
            flags.push("--remap-path-prefix=");
            flags.push(path);
            flags.push("=/");
            flags.push(name);
        }
        let step = step.env("CARGO_ENCODED_RUSTFLAGS", flags);
        step.env("CARGO_TARGET_DIR", absolute("target")).args(["--locked"])
    }
}

/// What runs programs for 64-bit ARM: Debian's packages `qemu-user-static` and `libc6-arm64-cross`.
const EMULATOR: [&str; 3] = ["qemu-aarch64-static", "-L", "/usr/aarch64-linux-gnu"];

/// Makes the packages for a target, for this machine's if none is named, and lists them with their
/// sizes.
pub(crate) fn run(target: Option<Target>) -> Result<(), u8> {
    let all = [Target::X86_64, Target::Aarch64];
    let own = all.into_iter().find(|target| target.is_this_machine());
    let target =
        target.or(own).ok_or_else(|| fault("there are packages for x86-64 and aarch64 only"))?;
    empty(&target.folder())?;
    tools(target)?;
    let built_for = match target.is_static() {
        true => target.triple().to_owned(),
        false => format!("{}.{GLIBC}", target.triple()),
    };
    let build = target.compiling(tool("cargo-zigbuild").args(["zigbuild"]));
    build.args(["--profile", "dist", "--target", &built_for, "--package", "queens-cli"]).run()?;
    texts(target)?;
    archive(target)?;
    if !target.is_static() {
        deb(target)?;
        wheel(target)?;
    }
    Step::new("ls").args(["-l", "--human-readable", "--si"]).args([target.folder()]).run()
}

/// Makes this folder, or removes all that is in it.
fn empty(folder: &Path) -> Result<(), u8> {
    let removed = if folder.exists() { fs::remove_dir_all(folder) } else { Ok(()) };
    let made = removed.and_then(|()| fs::create_dir_all(folder));
    made.map_err(|error| fault(&format!("{}: {error}", folder.display())))
}

/// What is tested under an emulator if nothing is named: the libraries that count, and the farm
/// core.
const EMULATED: [&str; 8] = [
    "--lib",
    "--tests",
    "--package",
    "queens-board",
    "--package",
    "queens-count",
    "--package",
    "queens-farm",
];

/// Runs tests for 64-bit ARM under an emulator, those that these arguments for `cargo test` name.
pub(crate) fn emulate(arguments: &[String]) -> Result<(), u8> {
    let target = Target::Aarch64;
    tools(target)?;
    let test = target.compiling(tool("cargo-zigbuild").args(["test"]));
    let test = test.args(["--target", target.triple()]);
    let test = match arguments {
        [] => test.args(EMULATED),
        named => test.args(named),
    };
    test.env("CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER", EMULATOR.join(" ")).run()
}

/// Installs what makes packages, and Rust's libraries for a target; a second call finds them.
fn tools(target: Target) -> Result<(), u8> {
    Step::new("rustup").args(["--quiet", "target", "add", target.triple()]).run()?;
    cargo("install").args(["--quiet", "--locked", "--root", TOOLS]).args([OF_CRATES_IO]).run()?;
    if !Path::new(TOOLS).join("bin/pip").exists() {
        Step::new("python3").args(["-m", "venv", TOOLS]).run()?;
    }
    tool("pip").args(["install", "--quiet", "--disable-pip-version-check"]).args(OF_PYPI).run()
}

/// A tool, which finds the others by its path.
fn tool(name: &str) -> Step {
    let folder = absolute(TOOLS).join("bin");
    let mut path = folder.clone().into_os_string();
    if let Some(others) = std::env::var_os("PATH") {
        path.push(":");
        path.push(others);
    }
    Step::new(folder.join(name)).env("PATH", path)
}

/// What the program's texts are in the packages: its documentation, its manual pages, and what
/// completes words in shells, in the folders in which a Linux looks for them.
fn texts(target: Target) -> Result<(), u8> {
    let texts = absolute(TEXTS);
    let documents = texts.join(DOCUMENTS);
    empty(&texts)?;
    empty(&documents)?;
    Step::new("cp").args(["-r", "--parents"]).args(DOCUMENTATION).args([&documents]).run()?;
    for (shell, path) in [
        ("bash", "data/share/bash-completion/completions/queens"),
        ("zsh", "data/share/zsh/vendor-completions/_queens"),
        ("fish", "data/share/fish/vendor_completions.d/queens.fish"),
    ] {
        target.program().args(["completions", shell]).run_into(&texts.join(path))?;
    }
    let manual = texts.join("data/share/man/man1");
    empty(&manual)?;
    // Only users of packages need these pages, so that a test of the program writes them.
    let test = cargo("test").args(["--quiet", "--package", "queens-cli", "--bin", "queens"]);
    test.args(["every_command_has_a_manual_page"]).env("QUEENS_MANUAL", manual).run()
}

/// The program with its texts, as a folder in an archive.
fn archive(target: Target) -> Result<(), u8> {
    let name = format!("queens-{}-{}", env!("CARGO_PKG_VERSION"), target.triple());
    let step = Step::new("tar").args(["--create", "--gzip", "--owner=0", "--group=0"]);
    let step = step.args([format!("--transform=s,^,{name}/,")]).args(["--file"]);
    let step = step.args([target.folder().join(format!("{name}.tar.gz"))]);
    let step = step.args(["--directory"]).args([target.built()]).args(["queens"]);
    let step = step.args(["--directory"]).args([absolute(TEXTS).join(DOCUMENTS)]).args(["."]);
    let step = step.args(["--directory"]).args([absolute(TEXTS).join("data")]);
    step.args(["--exclude=share/doc", "share"]).run()
}

fn deb(target: Target) -> Result<(), u8> {
    let step = tool("cargo-deb").args(["--package", "queens-cli", "--no-build", "--no-strip"]);
    let step = step.args(["--profile", "dist", "--target", target.triple()]).args(["--output"]);
    step.args([target.folder()]).env("CARGO_TARGET_DIR", absolute("target")).run()
}

/// The program is built again. The linkers of maturin and cargo-zigbuild have paths of their own,
/// so that in one folder, each of them would build everything that the other one has built.
fn wheel(target: Target) -> Result<(), u8> {
    let step = target.compiling(tool("maturin").args(["build"]));
    let step = step.env("CARGO_TARGET_DIR", absolute(FOLDER).join("build"));
    let step = step.args(["--profile", "dist", "--target", target.triple(), "--zig", "--out"]);
    step.args([target.folder()]).within("deploy/packages").run()
}

/// A path from the top of the checkout, where `cargo xtask` is called.
fn absolute(path: &str) -> PathBuf {
    std::path::absolute(path).expect("the path is not empty, and there is a current folder")
}
