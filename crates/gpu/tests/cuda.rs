//! Checks the calls of CUDA's driver against `cuda.c`, a driver without a device. Another process
//! loads it as its `libcuda.so`.
#![cfg(target_os = "linux")]

use std::process::Command;

use board::{Method, PlanIndex, Problem};
use count::{Backend, Kernel};
use gpu::{Counter, Device, Driver};

/// The variable that marks this process as the other one.
const CHILD: &str = "QUEENS_TEST_OF_CUDA";

#[test]
fn the_cuda_driver_is_called_correctly() {
    if std::env::var_os(CHILD).is_some() {
        return counts_by_the_driver();
    }
    let folder = tempfile::tempdir().expect("a temporary directory");
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cuda.c");
    let options = [
        "-std=gnu11",
        "-O2",
        "-fwrapv",
        "-fno-strict-aliasing",
        "-pthread",
        "-shared",
        "-fPIC",
        "-o",
    ];
    let library = folder.path().join("libcuda.so");
    let status = Command::new("cc").args(options).arg(&library).arg(source).status();
    assert!(status.expect("there is a C compiler").success());
    let this = std::env::current_exe().expect("it runs");
    let arguments = ["--exact", "the_cuda_driver_is_called_correctly", "--nocapture"];
    let child = Command::new(this)
        .args(arguments)
        .env(CHILD, "1")
        .env("LD_LIBRARY_PATH", folder.path())
        .output()
        .expect("it starts");
    assert!(child.status.success(), "{}", String::from_utf8_lossy(&child.stderr));
}

fn counts_by_the_driver() {
    let devices = Device::of(Driver::Cuda);
    let [device] = &devices[..] else { panic!("the driver has one device: {devices:?}") };
    assert_eq!(device.to_string(), "cuda:0 plain C");
    assert_eq!((device.version.as_str(), device.memory, device.units), ("CUDA 12.4", 1 << 30, 2));
    assert_eq!((device.clock_mhz, device.boards()), (1980, 4..=32));
    assert_eq!(device.self_test(), Ok(()));
    let n = 9;
    let plan = PlanIndex::new(Problem::Total { n }, Method::Colours).expect("the size is in range");
    let tasks = plan.tasks(0..plan.len()).expect("it is the whole plan");
    let mut kernel = Kernel::new(Backend::Portable, n, Method::Colours).expect("it is available");
    let mut expected = Vec::new();
    kernel.count_each(&tasks, |count| expected.push(count)).expect("they are tasks");
    // Counters are made in one thread and used in another, as an executor does.
    let counters = [(); 2].map(|()| Counter::new(device, n).expect("it opens"));
    std::thread::scope(|scope| {
        for mut counter in counters {
            let (tasks, expected) = (&tasks, &expected);
            scope.spawn(move || {
                let mut counts = Vec::new();
                let each = |count| counts.push(count);
                counter.count_each(tasks, each).expect("the driver is content");
                assert_eq!(&counts, expected);
            });
        }
    });
}
