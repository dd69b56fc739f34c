//! The devices of this machine and how a person chooses among them.

use std::fmt;
use std::ops::RangeInclusive;
use std::str::FromStr;

use board::colours::{MAX_N, MIN_N};
use thiserror::Error;

use crate::counter::{SHARED_BESIDE_CELLS, cells};

/// A driver of devices.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Driver {
    /// NVIDIA's own driver.
    Cuda,
    /// OpenCL.
    OpenCl,
}

impl Driver {
    /// The name by which a person chooses it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Driver::Cuda => "cuda",
            Driver::OpenCl => "opencl",
        }
    }
}

/// A device that can count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Device {
    /// Its driver.
    pub driver: Driver,
    /// Its number among the devices of its driver.
    pub index: usize,
    /// Its name, according to the driver.
    pub name: String,
    /// The version of the driver.
    pub version: String,
    /// Its memory, in bytes.
    pub memory: u64,
    /// The memory that threads of a group can share, in bytes.
    pub shared: u64,
    /// The number of its multiprocessors, or of the processor's cores.
    pub units: u32,
    /// Its highest clock, according to the driver, in MHz.
    pub clock_mhz: u32,
    /// Whether it is the processor itself, as with PoCL. Such a device is used only if it is asked
    /// for.
    pub is_processor: bool,
}

impl Device {
    /// The sizes of boards that it counts: those whose row of cells fits into the memory that its
    /// groups share. There is none if even the smallest one does not fit.
    #[must_use]
    pub fn boards(&self) -> RangeInclusive<u32> {
        let fits = |n: &u32| cells(*n) + SHARED_BESIDE_CELLS <= self.shared;
        let most = (MIN_N..=MAX_N).take_while(fits).last();
        MIN_N..=most.unwrap_or(MIN_N - 1)
    }

    /// A clause that says what the device lacks for a board of size `n`. `None` if it counts such
    /// boards.
    #[must_use]
    pub fn lacks(&self, n: u32) -> Option<String> {
        (!self.boards().contains(&n)).then(|| {
            let kib = |bytes: u64| bytes >> 10;
            let (has, needs) = (kib(self.shared), kib(cells(n) + SHARED_BESIDE_CELLS));
            format!("a group of threads of {self} shares {has} KiB of memory, and the board needs {needs} KiB")
        })
    }
}

impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{} {}", self.driver.name(), self.index, self.name)
    }
}

/// A choice of devices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeviceChoice {
    /// The driver, or `None` for any.
    pub driver: Option<Driver>,
    /// The [number](Device::index) among the driver's devices, or among those of all drivers.
    /// `None` chooses all of them.
    pub index: Option<usize>,
}

/// The error of a text that names no devices.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("no device is named {name:?}: give gpu, cuda or opencl, or one of them as in gpu:1")]
pub struct UnknownDevice {
    /// The text.
    pub name: String,
}

/// The error of a choice that finds no device.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("this machine has no device {choice}: {}", had(here, choice.driver))]
pub struct MissingDevice {
    /// The choice.
    pub choice: DeviceChoice,
    /// The devices of this machine.
    pub here: Vec<Device>,
}

fn had(here: &[Device], driver: Option<Driver>) -> String {
    if cfg!(target_feature = "crt-static") {
        return "this program is linked statically and cannot load drivers, so take another build"
            .into();
    }
    match here {
        [] => {
            let drivers = match driver {
                None => "CUDA or OpenCL",
                Some(Driver::Cuda) => "CUDA",
                Some(Driver::OpenCl) => "OpenCL",
            };
            format!("it has no driver of {drivers} with a device")
        }
        here => {
            let names: Vec<String> = here.iter().map(Device::to_string).collect();
            format!("it has {}", names.join(", "))
        }
    }
}

impl fmt::Display for DeviceChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.driver.map_or("gpu", Driver::name))?;
        self.index.map_or(Ok(()), |index| write!(f, ":{index}"))
    }
}

impl FromStr for DeviceChoice {
    type Err = UnknownDevice;

    /// Reads `gpu`, `cuda` or `opencl`, with a number as in `gpu:1` or without.
    fn from_str(name: &str) -> Result<DeviceChoice, UnknownDevice> {
        let unknown = || UnknownDevice { name: name.to_owned() };
        let (driver, index) = match name.split_once(':') {
            Some((driver, index)) => (driver, Some(index.parse().map_err(|_| unknown())?)),
            None => (name, None),
        };
        let driver = match driver {
            "gpu" => None,
            "cuda" => Some(Driver::Cuda),
            "opencl" => Some(Driver::OpenCl),
            _ => return Err(unknown()),
        };
        Ok(DeviceChoice { driver, index })
    }
}

impl DeviceChoice {
    /// The graphics processors among all devices.
    pub const ALL: DeviceChoice = DeviceChoice { driver: None, index: None };

    /// The chosen devices among `here`. Without a number, the processor itself is included only if
    /// its driver was chosen and has no other device.
    pub(crate) fn among(self, here: Vec<Device>) -> Result<Vec<Device>, MissingDevice> {
        let found: Vec<Device> = match self.index {
            Some(index) => match self.driver {
                Some(_) => here.iter().filter(|device| device.index == index).cloned().collect(),
                None => here.get(index).cloned().into_iter().collect(),
            },
            None => {
                let others = here.iter().filter(|device| !device.is_processor);
                let others: Vec<Device> = others.cloned().collect();
                if others.is_empty() && self.driver.is_some() { here.clone() } else { others }
            }
        };
        if found.is_empty() { Err(MissingDevice { choice: self, here }) } else { Ok(found) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn device(driver: Driver, index: usize, is_processor: bool) -> Device {
        let (name, version) = (format!("device {index}"), String::new());
        Device {
            driver,
            index,
            name,
            version,
            memory: 0,
            shared: 0,
            units: 1,
            clock_mhz: 0,
            is_processor,
        }
    }

    #[test]
    fn names_are_read_back() {
        for name in ["gpu", "gpu:1", "cuda", "cuda:0", "opencl", "opencl:12"] {
            let choice: DeviceChoice = name.parse().expect("it is a name");
            assert_eq!(choice.to_string(), name);
        }
        for name in ["", "gpu:", "gpu:x", "gpu:-1", "avx2", "GPU", "opencl:1:2"] {
            assert!(name.parse::<DeviceChoice>().is_err(), "{name}");
        }
    }

    #[test]
    fn shared_memory_limits_the_board() {
        let largest = |kib: u64| {
            let device = Device { shared: kib << 10, ..device(Driver::Cuda, 0, false) };
            (*device.boards().end(), device.lacks(32))
        };
        assert_eq!([20, 32, 48, 68, 100].map(|kib| largest(kib).0), [26, 26, 28, 30, 30]);
        assert_eq!(largest(132), (32, None));
        let lack = "a group of threads of cuda:0 device 0 shares 48 KiB of memory, and the board needs 132 KiB";
        assert_eq!(largest(48).1.as_deref(), Some(lack));
        let tiny = Device { shared: 0, ..device(Driver::Cuda, 0, false) };
        assert!(tiny.boards().is_empty() && tiny.lacks(4).is_some());
    }

    #[test]
    fn a_processor_is_used_only_if_it_is_asked_for() {
        let card = device(Driver::OpenCl, 0, false);
        let processor = device(Driver::OpenCl, 1, true);
        let both = vec![card.clone(), processor.clone()];
        let among = |name: &str, here: &[Device]| {
            let choice: DeviceChoice = name.parse().expect("it is a name");
            choice.among(here.to_vec()).map_err(|missing| missing.to_string())
        };
        assert_eq!(among("gpu", &both), Ok(vec![card.clone()]));
        assert_eq!(among("opencl", &both), Ok(vec![card]));
        assert_eq!(among("opencl:1", &both), Ok(vec![processor.clone()]));
        assert_eq!(among("opencl", &both[1..]), Ok(vec![processor]));
        let missing = "this machine has no device gpu: it has opencl:1 device 1";
        assert_eq!(among("gpu", &both[1..]), Err(missing.into()));
        for (name, drivers) in [("gpu", "CUDA or OpenCL"), ("cuda:3", "CUDA"), ("opencl", "OpenCL")]
        {
            let missing = format!(
                "this machine has no device {name}: it has no driver of {drivers} with a device"
            );
            assert_eq!(among(name, &[]), Err(missing));
        }
    }
}
