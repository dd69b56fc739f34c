//! NVIDIA's driver, version 525 or later. It exists wherever an NVIDIA device can be used.
//!
//! The driver compiles `kernels.ptx` for the device when a queue is opened. `cargo xtask ptx` has
//! made that file from the same text that OpenCL uses.

use std::ffi::{CString, c_void};

use cudarc::driver::result::{self, DriverError};
use cudarc::driver::sys;

use super::{ALLOCATING, Argument, Buffer, Commands, DeviceError, KERNEL};
use crate::counter::cells;
use crate::device::{Device, Driver};
use crate::launch::THREADS;

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
    use sys::CUdevice_attribute::{
        CU_DEVICE_ATTRIBUTE_CLOCK_RATE as KILOHERTZ,
        CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN as SHARED,
        CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT as UNITS,
    };
    let device = result::device::get(index)?;
    let attribute = |attribute| {
        // SAFETY: the driver has named the device.
        unsafe { result::device::get_attribute(device, attribute) }.map(i32::unsigned_abs)
    };
    // SAFETY: the driver has named the device.
    let memory = unsafe { result::device::total_mem(device)? };
    let mut version = 0;
    // SAFETY: the driver writes one number.
    unsafe { sys::cuDriverGetVersion(&raw mut version) }.result()?;
    Ok(Device {
        driver: Driver::Cuda,
        index: index as usize,
        name: result::device::get_name(device)?,
        version: format!("CUDA {}.{}", version / 1000, version % 1000 / 10),
        memory: memory as u64,
        shared: attribute(SHARED)?.into(),
        units: attribute(UNITS)?,
        clock_mhz: attribute(KILOHERTZ)? / 1000,
        is_processor: false,
    })
}

/// Opens a queue, and loads the kernel for it.
pub(crate) fn open(device: &Device) -> Result<Box<dyn Commands>, DeviceError> {
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
        kernel: std::ptr::null_mut(),
        buffers: Vec::new(),
    };
    queue.enter()?;
    let stream = result::stream::create(result::stream::StreamKind::NonBlocking);
    queue.stream = stream.map_err(failed("making a queue"))?;
    let ptx = CString::new(crate::PTX).expect("the text has no zero");
    // SAFETY: the image is a text that ends with a zero.
    let module = unsafe { result::module::load_data(ptx.as_ptr().cast()) };
    queue.module = module.map_err(failed("compiling the kernel"))?;
    let name = CString::new(KERNEL).expect("a name has no zero");
    // SAFETY: the module was loaded.
    let kernel = unsafe { result::module::get_function(queue.module, name) };
    queue.kernel = kernel.map_err(failed("loading the kernel"))?;
    // SAFETY: the kernel was loaded. `Device::boards` has only boards whose cells fit into the
    // memory that a group shares.
    let allowed = unsafe {
        use sys::CUfunction_attribute_enum::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES as SIZE;
        let most = cells(*device.boards().end()) as i32;
        result::function::set_function_attribute(queue.kernel, SIZE, most)
    };
    allowed.map_err(failed("setting the size of shared memory"))?;
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
    kernel: sys::CUfunction,
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

impl Commands for CudaQueue {
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
        groups: u32,
        shared: u32,
        arguments: &[Argument<'_>],
    ) -> Result<(), DeviceError> {
        self.enter()?;
        let mut pointers: Vec<*mut c_void> = Vec::with_capacity(arguments.len());
        for argument in arguments {
            pointers.push(match argument {
                Argument::Buffer(buffer) => (&raw const self.buffers[buffer.0]).cast_mut().cast(),
                Argument::Split(split) => split.as_ptr().cast_mut().cast(),
            });
        }
        // SAFETY: the kernel has these parameters in this order (see `counter`). The driver copies
        // arguments before the call returns, and the buffers live as long as the queue.
        let launched = unsafe {
            let (groups, threads) = ((groups, 1, 1), (THREADS, 1, 1));
            let (kernel, stream) = (self.kernel, self.stream);
            result::launch_kernel(kernel, groups, threads, shared, stream, &mut pointers)
        };
        self.check("launching", launched)
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
