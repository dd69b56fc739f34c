//! Tests the packages of `cargo xtask package`. They are installed as by their users, into Debian's
//! releases from the oldest C library to the newest.

use std::env::consts::ARCH;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

use tempfile::TempDir;

use crate::docker::{TOP, run};

#[test]
#[ignore = "needs root and Debian's packages: .ci/nightly packages"]
fn a_farm_is_joined_by_name_on_debian_11() {
    Root::debian("bullseye", "").has_a_farm();
}

#[test]
#[ignore = "needs root and Debian's packages: .ci/nightly packages"]
fn a_farm_is_joined_by_name_on_debian_12() {
    Root::debian("bookworm", "").has_a_farm();
}

#[test]
#[ignore = "needs root and Debian's packages: .ci/nightly packages"]
fn a_farm_is_joined_by_name_on_debian_13_and_a_device_counts() {
    let root = Root::debian("trixie", ",ocl-icd-libopencl1,pocl-opencl-icd");
    root.has_a_farm();

    let devices = root.run(&["queens", "bench", "--list"]);
    assert!(devices.contains("\nopencl:0 "), "{devices}");
    let count = ["queens", "count", "14", "--method", "colours", "--backend", "opencl"];
    assert_eq!(root.run(&count), format!("{}\n", testkit::vectors::total(14)));
}

#[test]
#[ignore = "needs root and Debian's packages: .ci/nightly packages"]
fn a_farm_is_joined_by_name_on_debian_sid() {
    Root::debian("sid", "").has_a_farm();
}

#[test]
#[ignore = "needs root and Debian's packages: .ci/nightly packages"]
fn the_program_with_musl_needs_no_library_of_the_system() {
    let root = Root::new();
    let folder = packages(&format!("{ARCH}-unknown-linux-musl"));
    root.unpacks(&with_end(&folder, ".tar.gz"));

    let headers = run(Command::new("readelf")
        .args(["--program-headers", "--dynamic", "--version-info"])
        .arg(root.path().join("queens")));
    assert!(headers.contains("LOAD"), "{headers}");
    let is_free = !["INTERP", "NEEDED", "GLIBC"].iter().any(|word| headers.contains(word));
    assert!(is_free, "{headers}");
    root.counts("/queens");
    root.has_texts("share", ".");
}

#[test]
#[ignore = "needs root and Debian's packages: .ci/nightly packages"]
fn the_archive_holds_the_program_and_its_texts() {
    let root = Root::new();
    root.unpacks(&package(".tar.gz"));

    let mut count = Command::new(root.path().join("queens"));
    let total = run(count.args(["count", "12"]));
    assert_eq!(total, format!("{}\n", testkit::vectors::total(12)));
    root.has_texts("share", ".");
}

#[test]
#[ignore = "needs root and Debian's packages: .ci/nightly packages"]
fn dpkg_installs_and_removes_the_deb() {
    let root = Root::debian("bookworm", "");

    root.counts("/usr/bin/queens");
    root.has_texts("usr/share", "usr/share/doc/queens");
    let units = root.path().join("usr/lib/systemd/system");
    for name in ["queens-coordinator.service", "queens-worker@.service", "queens-backup.timer"] {
        assert!(units.join(name).exists(), "{name}");
    }
    run(Command::new("sh").arg("-n").arg(root.path().join("usr/bin/queens-backup")));

    root.run(&["dpkg", "--remove", "queens"]);
    assert!(!root.path().join("usr/bin/queens").exists());
}

#[test]
#[ignore = "needs root and Debian's packages: .ci/nightly packages"]
fn pip_installs_the_wheel_for_a_user() {
    let root = Root::new();
    // This Python has pip, and leaves the system's Python unchanged.
    run(Command::new("python3")
        .args(["-m", "venv", "--system-site-packages"])
        .arg(root.path().join("venv")));
    let pip = root.path().join("venv/bin/pip");

    let args = ["install", "--quiet", "--user", "--no-index", "--no-cache-dir"];
    let wheel = package(".whl");
    assert!(wheel.to_string_lossy().contains("manylinux2014"), "{}", wheel.display());
    run(Command::new(pip).args(args).arg(wheel).env("PYTHONUSERBASE", root.path()));

    let mut count = Command::new(root.path().join("bin/queens"));
    assert_eq!(run(count.args(["count", "12"])), format!("{}\n", testkit::vectors::total(12)));
    root.has_texts("share", "share/doc/queens");
}

#[test]
#[ignore = "needs root and Debian's packages: .ci/nightly packages"]
fn the_program_for_the_other_processor_counts_under_an_emulator() {
    if ARCH != "x86_64" {
        return;
    }
    let folder = packages("aarch64-unknown-linux-gnu");
    let made = [".tar.gz", ".deb", ".whl"].map(|end| with_end(&folder, end));
    let root = Root::new();
    root.unpacks(&made[0]);

    let mut emulated = Command::new("qemu-aarch64-static");
    emulated
        .args(["-L", "/usr/aarch64-linux-gnu"])
        .arg(root.path().join("queens"))
        .args(["count", "12"]);
    assert_eq!(run(&mut emulated), format!("{}\n", testkit::vectors::total(12)));
    assert!(run(Command::new("dpkg-deb").args(["--field"]).arg(&made[1])).contains("arm64"));
}

/// The package for this machine whose name has this ending.
fn package(end: &str) -> PathBuf {
    static OWN: LazyLock<PathBuf> =
        LazyLock::new(|| packages(&format!("{ARCH}-unknown-linux-gnu")));
    with_end(&OWN, end)
}

/// Makes the packages for a target. Returns their folder.
fn packages(target: &str) -> PathBuf {
    let args = ["xtask", "package", "--target", target];
    run(Command::new(env!("CARGO")).args(args).current_dir(TOP));
    Path::new(TOP).join("target/packages").join(target)
}

fn with_end(folder: &Path, end: &str) -> PathBuf {
    let entries = fs::read_dir(folder).expect("the packages were made");
    let mut paths = entries.map(|entry| entry.expect("it can be read").path());
    let found = paths.find(|path| path.to_string_lossy().ends_with(end));
    found.unwrap_or_else(|| panic!("there is no {end} in {}", folder.display()))
}

/// A farm of two processes and a client, which look its name up. Of the modules for names, only
/// `myhostname` knows it. `resolve` is asked before, and has no service here.
const FARM: &str = r"
set -eu
queens coordinator --listen 127.0.0.1:0 --ledger /tmp/farm.db 2>/tmp/log &
coordinator=$!
until grep -q '127\.0\.0\.1:' /tmp/log; do kill -0 $coordinator; sleep 0.1; done
farm=http://farm.localhost:$(sed -n 's/.*127\.0\.0\.1:\([0-9]*\).*/\1/p' /tmp/log | head -n 1)
queens worker --coordinator $farm 2>/tmp/worker.log &
queens submit 12 --wait --coordinator $farm
";

/// A folder to install into.
struct Root(TempDir);

impl Root {
    fn new() -> Root {
        Root(TempDir::new().expect("a folder can be made"))
    }

    /// A release of Debian, with these packages and the deb of the program.
    fn debian(suite: &str, packages: &str) -> Root {
        let root = Root::new();
        // Mirrors of the newest release may be older than it allows.
        run(Command::new("mmdebstrap")
            .args([
                "--quiet",
                "--variant=essential",
                "--aptopt=Acquire::Check-Valid-Until \"false\"",
            ])
            .arg(format!("--include=libnss-myhostname,libnss-resolve{packages}"))
            // Mirrors of Debian's security archive may lack packages that its lists name.
            .arg("--setup-hook=sed -i /security/d \"$1/etc/apt/sources.list\"")
            .args([suite.as_ref(), root.path().as_os_str()]));
        let names = "hosts: files resolve [!UNAVAIL=return] myhostname dns\n";
        fs::write(root.path().join("etc/nsswitch.conf"), names).expect("it can be written");
        fs::copy(package(".deb"), root.path().join("queens.deb")).expect("it can be copied");
        root.run(&["dpkg", "--install", "/queens.deb"]);
        root
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn unpacks(&self, archive: &Path) {
        let mut tar = Command::new("tar");
        tar.args(["--strip-components=1", "-xf"]).arg(archive);
        run(tar.current_dir(self.path()));
    }

    /// What a command prints that sees this folder, with `/proc` and `/sys`, and this machine's
    /// network. All processes that it leaves are killed.
    fn run(&self, command: &[&str]) -> String {
        const ENTER: &str = "mount -t proc proc \"$0/proc\" && mount --rbind /sys \"$0/sys\" && exec chroot \"$0\" \"$@\"";
        let mut unshare = Command::new("unshare");
        unshare.args(["--mount", "--pid", "--fork", "--kill-child", "sh", "-c", ENTER]);
        run(unshare.arg(self.path()).args(command))
    }

    /// Asserts that a worker and a client find a coordinator by its name.
    fn has_a_farm(&self) {
        fs::write(self.path().join("farm.sh"), FARM).expect("it can be written");
        let total = self.run(&["sh", "/farm.sh"]);
        assert_eq!(total, format!("{}\n", testkit::vectors::total(12)));
    }

    /// Asserts that `share` has the completions and the manual, and that `documents` has Slurm's
    /// scripts and pages. All links of the pages must lead to files of the package.
    fn has_texts(&self, share: &str, documents: &str) {
        let share = self.path().join(share);
        let bash = share.join("bash-completion/completions/queens");
        assert!(fs::read_to_string(bash).expect("it is there").contains("complete"));
        let manual = share.join("man/man1/queens-count.1");
        assert!(manual.exists() || manual.with_extension("1.gz").exists(), "{}", manual.display());

        let documents = self.path().join(documents);
        assert!(documents.join("deploy/slurm/worker.sbatch").exists());
        let found = run(Command::new("find").arg(&documents).args(["-name", "*.md"]));
        let pages: Vec<&Path> = found.lines().map(Path::new).collect();
        assert!(pages.len() > 30, "{pages:?}");
        let dead: Vec<PathBuf> = pages.into_iter().flat_map(dead_links).collect();
        assert!(dead.is_empty(), "{dead:?}");
    }

    /// Asserts that the program at this path counts when it can only see this folder, `/proc` and
    /// the kernel's random numbers.
    fn counts(&self, program: &str) {
        let root = format!("--root={}", self.path().display());
        for folder in ["proc", "dev"] {
            fs::create_dir_all(self.path().join(folder)).expect("it can be made");
        }
        for (device, minor) in [("dev/random", "8"), ("dev/urandom", "9")] {
            if self.path().join(device).exists() {
                continue;
            }
            run(Command::new("mknod").arg(self.path().join(device)).args(["c", "1", minor]));
        }
        let mut command = Command::new("unshare");
        command.args(["--mount", "--pid", "--fork", "--mount-proc", &root]);
        let total = run(command.args([program, "count", "12"]));
        assert_eq!(total, format!("{}\n", testkit::vectors::total(12)));
    }
}

/// The targets of a page's links that are no files. Links to the net are left out.
fn dead_links(page: &Path) -> Vec<PathBuf> {
    let text = fs::read_to_string(page).expect("the page can be read");
    let ends = text.split("](").skip(1).filter_map(|rest| rest.split([')', '#']).next());
    let files = ends.filter(|end| !end.is_empty() && !end.starts_with("http"));
    let folder = page.parent().expect("a page is in a folder");
    files.map(|file| folder.join(file)).filter(|file| !file.exists()).collect()
}
