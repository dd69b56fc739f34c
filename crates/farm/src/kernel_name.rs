//! The names of the kernels that can count for a farm.

use std::fmt;
use std::str::FromStr;

/// The name of the kernel that counted. People read it, and a second count must be made by another
/// kernel.
///
/// The set of names is closed, although the farm does not know what a name means: the text goes
/// into ledgers, logs and terminals, and a worker with a free choice of names could forge a second
/// opinion. The default is empty.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KernelName(&'static str);

impl KernelName {
    /// All kernels.
    pub const ALL: [KernelName; 11] = [
        KernelName("reference"),
        KernelName("portable"),
        KernelName("neon"),
        KernelName("avx2"),
        KernelName("avx512"),
        KernelName("reference mirrored"),
        KernelName("portable mirrored"),
        KernelName("neon mirrored"),
        KernelName("avx2 mirrored"),
        KernelName("avx512 mirrored"),
        KernelName("gpu"),
    ];

    /// The kernel of this name; `None` if this version of the program has no such kernel.
    pub fn new(name: &str) -> Option<KernelName> {
        KernelName::ALL.into_iter().find(|kernel| kernel.0 == name)
    }

    /// Whether a graphics processor counted.
    pub fn is_of_device(self) -> bool {
        self.0 == "gpu"
    }

    /// The name; empty if several kernels counted.
    pub fn as_str(&self) -> &'static str {
        self.0
    }
}

impl FromStr for KernelName {
    type Err = String;

    fn from_str(name: &str) -> Result<KernelName, String> {
        let unknown = || {
            format!("no kernel of this program is named {name:?}; use the version that wrote it")
        };
        KernelName::new(name).ok_or_else(unknown)
    }
}

impl fmt::Display for KernelName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}
