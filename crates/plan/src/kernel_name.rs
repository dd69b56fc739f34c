//! The names of the kernels that can count for a farm.

use std::fmt;

/// The name of the kernel that counted, for strangers, and so that a second count can be another's. What
/// a name means is none of the farm's business, but there are no others: the text goes into ledgers, logs
/// and terminals, and whoever could choose it freely could forge a second opinion. The default is empty.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KernelName(&'static str);

impl KernelName {
    /// All kernels.
    pub const ALL: [KernelName; 12] = [
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
        KernelName("search"),
        KernelName("gpu"),
    ];

    /// The kernel of this name; `None` if this version of the program has no such kernel.
    #[must_use]
    pub fn new(name: &str) -> Option<KernelName> {
        KernelName::ALL.into_iter().find(|kernel| kernel.0 == name)
    }

    /// Whether a graphics processor counted.
    #[must_use]
    pub fn is_of_device(self) -> bool {
        self.0 == "gpu"
    }

    /// The name; empty if several kernels counted.
    #[must_use]
    pub fn as_str(&self) -> &'static str {
        self.0
    }
}

impl fmt::Display for KernelName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}
