//! What counts: the program and the machine, as one short text for the evidence.
//!
//! ```text
//!   version/commit/compiler/target/processor/microcode/memory
//!   0.1.0/3f2a9c1d0b2e/rustc-1.95.0/x86_64-unknown-linux-gnu/AMD-EPYC-9B14-96-Core-Processor/0xa101148/ecc
//! ```
//!
//! Each part is what the program or the system says of itself, and `unknown` where neither says it.
//! It helps to find what miscounts have in common, and proves nothing. The counting loop is not in
//! it, because every count names its own.

use std::fs;
use std::path::Path;

use sysinfo::{CpuRefreshKind, RefreshKind, System};

use crate::devices::Devices;

/// How a program was made.
#[derive(Clone, Copy, Debug)]
pub struct Program {
    /// The commit of its source.
    pub commit: &'static str,
    /// The compiler, with its version.
    pub compiler: &'static str,
    /// The target for which it was compiled.
    pub target: &'static str,
}

/// A program of this version, and the machine on which it runs: at most 128 visible ASCII
/// characters without spaces. Where devices count, the first one of them and its driver stand in
/// the place of the processor.
pub fn provenance(Program { commit, compiler, target }: Program, devices: &Devices) -> String {
    let processor = match devices.iter().next() {
        Some(device) => format!("{} {}", device.name, device.version),
        None => processor(),
    };
    // With the slashes between them they have 128 bytes at most.
    [
        part(crate::BUILD, 12),
        part(commit, 12),
        part(compiler, 14),
        part(target, 28),
        part(&processor, 36),
        part(&microcode(Path::new("/proc/cpuinfo")), 12),
        part(memory(Path::new("/sys/devices/system/edac/mc")), 8),
    ]
    .join("/")
}

/// The host's name, in a form in which it can be the name of a machine or a part of a worker's
/// name: at most 64 characters, with a hyphen for each one that is not visible ASCII. It is empty
/// if the system has no name.
pub fn host_name() -> String {
    let visible = |c: char| if c.is_ascii_graphic() { c } else { '-' };
    System::host_name().unwrap_or_default().chars().take(64).map(visible).collect()
}

/// The mean clock of the `busy` fastest processors at this moment, in MHz; 0 if the system does not
/// tell.
pub fn clock_mhz(busy: usize) -> f64 {
    let refresh = RefreshKind::nothing().with_cpu(CpuRefreshKind::nothing().with_frequency());
    let Ok(system) = System::new_with_specifics(refresh) else { return 0.0 };
    let mut clocks: Vec<u64> =
        system.cpus().iter().map(|processor| processor.frequency()).collect();
    clocks.sort_by_key(|&clock| std::cmp::Reverse(clock));
    clocks.truncate(busy);
    clocks.iter().sum::<u64>() as f64 / clocks.len().max(1) as f64
}

/// A part of the text: its words joined by hyphens, at most `most` bytes. Words end at slashes and
/// at anything that is not visible ASCII.
fn part(text: &str, most: usize) -> String {
    let is_word = |c: char| c.is_ascii_graphic() && c != '/';
    let words: Vec<&str> = text.split(|c| !is_word(c)).filter(|word| !word.is_empty()).collect();
    let mut text = words.join("-");
    text.truncate(most);
    if text.is_empty() { "unknown".into() } else { text }
}

/// The processor's name for itself.
fn processor() -> String {
    let cpu = RefreshKind::nothing().with_cpu(CpuRefreshKind::nothing());
    let system = System::new_with_specifics(cpu);
    let cpu = system.as_ref().ok().and_then(|system| system.cpus().first());
    cpu.map_or(String::new(), |cpu| cpu.brand().replace("(R)", ""))
}

/// The version of the processor's microcode, which Linux has on x86.
fn microcode(cpuinfo: &Path) -> String {
    let text = fs::read_to_string(cpuinfo).unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("microcode")?.split_once(':'));
    line.map_or(String::new(), |(_, version)| version.into())
}

/// Whether the memory corrects errors: Linux has a controller in this folder if it does and a
/// driver watches it.
fn memory(controllers: &Path) -> &'static str {
    let mut names = fs::read_dir(controllers).into_iter().flatten().flatten();
    let is_controller =
        |name: &str| name.strip_prefix("mc").is_some_and(|n| n.parse::<u32>().is_ok());
    if names.any(|entry| entry.file_name().to_str().is_some_and(is_controller)) {
        "ecc"
    } else {
        "unknown"
    }
}

#[cfg(test)]
mod tests {
    use tempfile::TempDir;

    use super::*;

    #[test]
    fn a_text_has_seven_parts_that_a_hello_may_have() {
        let long = "much longer than any/compiler, target or commit: naïve";
        for said in ["", "3f2a9c1d0b2e", long] {
            let text = provenance(
                Program { commit: said, compiler: said, target: said },
                &Devices::default(),
            );
            assert!(text.len() <= 128, "{text}");
            assert!(text.bytes().all(|byte| byte.is_ascii_graphic()), "{text}");
            assert_eq!(text.split('/').count(), 7, "{text}");
            assert!(text.starts_with(crate::BUILD), "{text}");
        }
    }

    #[test]
    fn what_linux_writes_is_read_and_what_nobody_says_is_unknown() {
        let machine = TempDir::new().expect("a temporary directory");
        let cpuinfo = machine.path().join("cpuinfo");
        assert_eq!(microcode(&cpuinfo), "");
        assert_eq!((part("", 8).as_str(), memory(machine.path())), ("unknown", "unknown"));

        let lines = "vendor_id\t: GenuineIntel\nmicrocode\t: 0xa1\nmicrocode\t: 0xb2\n";
        fs::write(&cpuinfo, lines).expect("it is new");
        assert_eq!(part(&microcode(&cpuinfo), 12), "0xa1");

        fs::create_dir(machine.path().join("power")).expect("it is new");
        assert_eq!(memory(machine.path()), "unknown");
        fs::create_dir(machine.path().join("mc0")).expect("it is new");
        assert_eq!(memory(machine.path()), "ecc");
    }
}
