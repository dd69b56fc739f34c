//! A worker's runtime: the tasks and threads around the agent.
//!
//! ```text
//!   coordinator ◄──► link ◄──► work loop: Agent ◄──parts──  executor: one thread per core
//!                                      └────────blocks of tasks────►┘
//! ```
//!
//! A count without a server runs the same loop, over a link that is a pair of channels.

mod departure;
mod link;
mod outage;
mod work;

use farm::Maker;

pub use departure::LeaveRules;
pub use link::{Connect, GrpcConnector, Link, LinkEnd};
pub use work::{Parts, start_executor, work};

/// The machine that this process runs on, by the number that Linux draws at each start: containers of one host have
/// different names, but this in common. [`Maker::UNKNOWN`] where there is no such number.
#[must_use]
pub fn machine() -> String {
    let drawn = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let digits: String = drawn.chars().filter(char::is_ascii_hexdigit).take(12).collect();
    match digits.len() {
        12 => format!("{}{digits}", Maker::BOOT),
        _ => Maker::UNKNOWN.into(),
    }
}

/// The host's name, as far as it can be the name of a machine or a part of a worker's.
#[must_use]
pub fn host_name() -> String {
    let system = rustix::system::uname();
    let visible = |c: char| if c.is_ascii_graphic() { c } else { '-' };
    system.nodename().to_string_lossy().chars().take(64).map(visible).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(target_os = "linux")]
    fn a_machine_is_its_start_and_not_its_name() {
        let drawn =
            std::fs::read_to_string("/proc/sys/kernel/random/boot_id").expect("it is Linux");
        let digits = machine().strip_prefix(Maker::BOOT).expect("it is known").to_owned();
        assert!(drawn.replace('-', "").starts_with(&digits) && digits.len() == 12, "{digits}");
    }
}
