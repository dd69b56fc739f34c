//! Tests of graphics processors, or of the processor itself as a device by PoCL. Without an OpenCL
//! device, the tests that need one print that they were left out.

use crate::support::process::{queens, run};
use crate::support::{Farm, Scratch};

/// Whether there is an OpenCL device.
fn has_device() -> bool {
    let listed = run(&mut queens(&["bench", "--list"])).success();
    let has_device = listed.lines().any(|line| line.starts_with("opencl:0 "));
    if !has_device {
        eprintln!("left out: this machine has no OpenCL device, such as PoCL's");
    }
    has_device
}

#[test]
fn a_missing_device_is_refused() {
    let count = |backend: &str| run(&mut queens(&["count", "8", "--backend", backend]));
    for name in ["gpu:", "cuda:x", "opencl:-1", "gpus"] {
        count(name).refusal(2, &["--backend", "gpu, cuda or opencl"]);
    }
    for name in ["cuda:99", "opencl:99"] {
        count(name).refusal(18, &["no device", name, "queens bench --list"]);
    }
    let of = ["worker", "--coordinator", "http://127.0.0.1:1", "--backend", "gpu:99"];
    run(&mut queens(&of)).refusal(18, &["no device gpu:99"]);
    run(&mut queens(&["bench", "--backend", "opencl:99"])).refusal(18, &["no device opencl:99"]);
}

#[test]
fn a_count_by_a_device_says_so() {
    if !has_device() {
        return;
    }
    // The processor searches `rows`.
    for (n, method, is_by_device) in [(12, "colours", true), (10, "rows", false)] {
        let n_arg = n.to_string();
        let args = ["count", &n_arg, "--method", method, "--backend", "opencl:0", "--json"];
        let counted = crate::object(&run(&mut queens(&args)).success());
        assert_eq!(counted["total"], testkit::vectors::total(n).to_string());
        assert_eq!(counted["backend"] == "gpu", is_by_device, "{counted}");
    }
}

/// The driver of a device may set handlers of signals, as LLVM does.
#[cfg(target_os = "linux")]
#[test]
fn a_worker_with_a_device_leaves_at_the_signals_of_batch_systems() {
    if !has_device() {
        return;
    }
    let farm = Farm::new("", "");
    let _coordinator = farm.start_coordinator();
    for signal in ["USR1", "TERM"] {
        let mut worker = farm.start_worker_with("--backend opencl:0");
        worker.wait_for_line("welcomes");
        worker.signal(signal);
        assert_eq!(worker.wait().code(), Some(0), "{signal}: {}", worker.said());
    }
}

/// A processor counts again what a device has counted, and the other way round.
#[test]
fn a_device_and_a_processor_confirm_each_other() {
    if !has_device() {
        return;
    }
    let farm = Farm::new("", "--report-ms 0");
    let _coordinator = farm.start_coordinator();
    let _device = farm.start_worker_with("--backend opencl:0 --machine one");
    let _processor = farm.start_worker_with("--machine two");
    farm.client(&["submit", "11", "--method", "colours", "--certified", "--wait"]).success();
    let scratch = Scratch::new();
    let bundle = scratch.path("bundle");
    let path = bundle.to_str().expect("it is text");
    farm.client(&["export", "1", path]).success();
    let verified = run(&mut queens(&["verify", path, "--all"])).success();
    let total = format!("\ntotal     {}\n", testkit::vectors::total(11));
    assert!(verified.starts_with("verdict   holds\n") && verified.contains(&total), "{verified}");
    let text = std::fs::read_to_string(&bundle).expect("it was written");
    assert!(text.contains("\"gpu\""), "a device has counted some of it");
    let refused = run(&mut queens(&["verify", path, "--backend", "gpu"]));
    refused.refusal(2, &["by the processor", "no backend is named \"gpu\""]);
}
