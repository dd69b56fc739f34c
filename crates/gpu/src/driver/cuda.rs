//! NVIDIA's driver, version 525 or later. It exists wherever an NVIDIA device can be used.
//!
//! The driver compiles `kernels.ptx` for the device when a queue is opened. `cargo xtask ptx` has
//! made that file from the same text that OpenCL uses.

use std::ffi::{CString, c_void};

use cudarc::driver::result::{self, DriverError};
use cudarc::driver::sys;

use super::{ALLOCATING, Argument, Buffer, DeviceError, Kernel, Queue};
use crate::device::{Device, Driver};

/// All devices that the driver shows, in accordance with CUDA_VISIBLE_DEVICES. The list is empty
/// without a driver.
pub(crate) fn devices() -> Vec<Device> {
    // SAFETY: looking for the library has no conditions.
    if !unsafe { sys::is_culib_present() } || result::init().is_err() {
        return Vec::new();
    }
    let count = result::device::get_count().unwrap_or(0);
    // A device that does not answer is left out.
    (0..count).filter_map(|index| described(index).ok()).collect()
}

fn described(index: i32) -> Result<Device, DriverError> {
    use sys::CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT as UNITS;
    let device = result::device::get(index)?;
    // SAFETY: the driver has named the device.
    let (memory, units) = unsafe {
        (result::device::total_mem(device)?, result::device::get_attribute(device, UNITS)?)
    };
    let mut version = 0;
    // SAFETY: the driver writes one number.
    unsafe { sys::cuDriverGetVersion(&raw mut version) }.result()?;
    Ok(Device {
        driver: Driver::Cuda,
        index: index as usize,
        name: result::device::get_name(device)?,
        version: format!("CUDA {}.{}", version / 1000, version % 1000 / 10),
        memory: memory as u64,
        buffer: memory as u64,
        units: units.unsigned_abs(),
        is_processor: false,
    })
}

/// Opens a queue, and loads the kernels for it.
pub(crate) fn open(device: &Device) -> Result<Box<dyn Queue>, DeviceError> {
    let failed = |call| {
        let device = device.to_string();
        move |error: DriverError| DeviceError { device, call, reason: reason(error) }
    };
    result::init().map_err(failed("starting the driver"))?;
    let handle = result::device::get(device.index as i32).map_err(failed("finding the device"))?;
    let wait = sys::CUctx_flags::CU_CTX_SCHED_BLOCKING_SYNC;
    // SAFETY: the device was found. A context is retained once for each queue, and released with
    // it. The flag lets waiting threads sleep. If another library has set flags before, those stay.
    let context = unsafe {
        let _ = sys::cuDevicePrimaryCtxSetFlags_v2(handle, wait as u32);
        result::primary_ctx::retain(handle)
    };
    let context = context.map_err(failed("opening the device"))?;
    let mut queue = CudaQueue {
        device: device.to_string(),
        handle,
        context,
        stream: std::ptr::null_mut(),
        module: std::ptr::null_mut(),
        kernels: Vec::new(),
        buffers: Vec::new(),
    };
    queue.enter()?;
    let stream = result::stream::create(result::stream::StreamKind::NonBlocking);
    queue.stream = stream.map_err(failed("making a queue"))?;
    let ptx = CString::new(crate::PTX).expect("the text has no zero");
    // SAFETY: the image is a text that ends with a zero.
    let module = unsafe { result::module::load_data(ptx.as_ptr().cast()) };
    queue.module = module.map_err(failed("compiling kernels"))?;
    for kernel in Kernel::ALL {
        let name = CString::new(kernel.name()).expect("a name has no zero");
        // SAFETY: the module was loaded.
        let function = unsafe { result::module::get_function(queue.module, name) };
        queue.kernels.push(function.map_err(failed("loading kernels"))?);
    }
    Ok(Box::new(queue))
}

fn reason(error: DriverError) -> String {
    let DriverError(code) = error;
    match error.error_string() {
        Ok(text) => format!("{} ({code:?})", text.to_string_lossy()),
        Err(_) => format!("{code:?}"),
    }
}

struct CudaQueue {
    /// The device's name, for errors.
    device: String,
    handle: sys::CUdevice,
    context: sys::CUcontext,
    stream: sys::CUstream,
    module: sys::CUmodule,
    /// The kernels, in the order of [`Kernel::ALL`].
    kernels: Vec<sys::CUfunction>,
    buffers: Vec<sys::CUdeviceptr>,
}

// SAFETY: the driver's handles may be used from any thread in which the context is current, and
// `enter` makes it current.
unsafe impl Send for CudaQueue {}

impl CudaQueue {
    /// Makes the context current in this thread.
    fn enter(&self) -> Result<(), DeviceError> {
        // SAFETY: the context is retained.
        self.check("making its context current", unsafe { result::ctx::set_current(self.context) })
    }

    fn check<T>(
        &self,
        call: &'static str,
        result: Result<T, DriverError>,
    ) -> Result<T, DeviceError> {
        result.map_err(|error| DeviceError {
            device: self.device.clone(),
            call,
            reason: reason(error),
        })
    }
}

impl Queue for CudaQueue {
    fn allocate(&mut self, bytes: usize) -> Result<Buffer, DeviceError> {
        self.enter()?;
        // SAFETY: the context is current.
        let buffer = self.check(ALLOCATING, unsafe { result::malloc_sync(bytes) })?;
        self.buffers.push(buffer);
        Ok(Buffer(self.buffers.len() - 1))
    }

    fn write(&mut self, to: Buffer, bytes: &[u8]) -> Result<(), DeviceError> {
        self.enter()?;
        let to = self.buffers[to.0];
        // SAFETY: the driver copies pageable memory before the call returns, and refuses to write
        // beyond the buffer.
        let written = unsafe { result::memcpy_htod_async(to, bytes, self.stream) };
        self.check("writing", written)
    }

    fn clear(&mut self, buffer: Buffer, bytes: usize) -> Result<(), DeviceError> {
        self.enter()?;
        let buffer = self.buffers[buffer.0];
        // SAFETY: the driver refuses to write beyond the buffer.
        let cleared = unsafe { result::memset_d8_async(buffer, 0, bytes, self.stream) };
        self.check("clearing memory", cleared)
    }

    fn launch(
        &mut self,
        kernel: Kernel,
        groups: u32,
        arguments: &[Argument],
    ) -> Result<(), DeviceError> {
        self.enter()?;
        let mut pointers: Vec<*mut c_void> = Vec::with_capacity(arguments.len());
        for argument in arguments {
            pointers.push(match argument {
                Argument::Buffer(buffer) => (&raw const self.buffers[buffer.0]).cast_mut().cast(),
                Argument::Number(number) => (&raw const *number).cast_mut().cast(),
            });
        }
        let threads = (kernel.threads(), 1, 1);
        let function = self.kernels[kernel as usize];
        // SAFETY: kernels have these parameters in this order (see `batch`). The driver copies
        // arguments before the call returns, and the buffers live as long as the queue.
        let launched = unsafe {
            result::launch_kernel(function, (groups, 1, 1), threads, 0, self.stream, &mut pointers)
        };
        self.check(kernel.name(), launched)
    }

    fn read(&mut self, from: Buffer, bytes: &mut [u8]) -> Result<(), DeviceError> {
        self.enter()?;
        let from = self.buffers[from.0];
        if !bytes.is_empty() {
            // SAFETY: the bytes live until the stream is synchronized. The driver refuses to read
            // beyond the buffer.
            let read = unsafe { result::memcpy_dtoh_async(bytes, from, self.stream) };
            self.check("reading", read)?;
        }
        // SAFETY: the stream is the queue's own.
        self.check("counting", unsafe { result::stream::synchronize(self.stream) })
    }
}

impl Drop for CudaQueue {
    fn drop(&mut self) {
        // A device that has failed may fail here, too. Nothing is left to do then.
        if self.enter().is_err() {
            return;
        }
        // SAFETY: everything was made in this context and is used by this queue alone. No command
        // is running after the first call.
        unsafe {
            if !self.stream.is_null() {
                let _ = result::stream::synchronize(self.stream);
            }
            for &buffer in &self.buffers {
                let _ = result::free_sync(buffer);
            }
            if !self.module.is_null() {
                let _ = result::module::unload(self.module);
            }
            if !self.stream.is_null() {
                let _ = result::stream::destroy(self.stream);
            }
            let _ = result::primary_ctx::release(self.handle);
        }
    }
}
