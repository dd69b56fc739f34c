//! OpenCL 1.2, for devices of AMD, Intel and NVIDIA, and for processors by PoCL.
//!
//! The driver compiles the text when a queue is opened.

use std::sync::{Mutex, PoisonError};

use opencl3::command_queue::CommandQueue;
use opencl3::context::Context;
use opencl3::device::{CL_DEVICE_TYPE_ALL, CL_DEVICE_TYPE_CPU, Device as ClDevice};
use opencl3::error_codes::ClError;
use opencl3::kernel::{ExecuteKernel, Kernel as ClKernel};
use opencl3::memory::{Buffer as ClBuffer, CL_MEM_READ_WRITE, ClMem};
use opencl3::platform::get_platforms;
use opencl3::program::Program;
use opencl3::types::{CL_BLOCKING, cl_device_id};

use super::{ALLOCATING, Argument, Buffer, Commands, DeviceError, KERNEL};
use crate::device::{Device, Driver};
use crate::launch::THREADS;

/// The devices of all platforms. The list is empty without a driver.
pub(crate) fn devices() -> Vec<Device> {
    // While the loader of drivers is working, it shows no drivers to other threads.
    static LOADING: Mutex<()> = Mutex::new(());
    let _loading = LOADING.lock().unwrap_or_else(PoisonError::into_inner);
    // A device that does not answer is left out.
    let ids = ids().unwrap_or_default();
    ids.into_iter().enumerate().filter_map(|(index, id)| described(id, index).ok()).collect()
}

/// All devices, in an order that stays the same while the program runs.
fn ids() -> Result<Vec<cl_device_id>, ClError> {
    let of_platforms = get_platforms()?.into_iter().map(|it| it.get_devices(CL_DEVICE_TYPE_ALL));
    Ok(of_platforms.flat_map(Result::unwrap_or_default).collect())
}

fn described(id: cl_device_id, index: usize) -> Result<Device, ClError> {
    let device = ClDevice::new(id);
    Ok(Device {
        driver: Driver::OpenCl,
        index,
        name: device.name()?.trim().to_owned(),
        version: device.driver_version()?.trim().to_owned(),
        memory: device.global_mem_size()?,
        shared: device.local_mem_size()?,
        units: device.max_compute_units()?,
        clock_mhz: device.max_clock_frequency()?,
        is_processor: device.dev_type()? & CL_DEVICE_TYPE_CPU != 0,
    })
}

/// Opens a queue, and compiles the kernel for it.
pub(crate) fn open(device: &Device) -> Result<Box<dyn Commands>, DeviceError> {
    let failed = |call: &'static str| {
        let device = device.to_string();
        move |error: ClError| DeviceError { device, call, reason: error.to_string() }
    };
    let lost = || ClError(opencl3::error_codes::CL_DEVICE_NOT_FOUND);
    let id = ids().and_then(|ids| ids.get(device.index).copied().ok_or_else(lost));
    let id = id.map_err(failed("finding the device"))?;
    let context = Context::from_device(&ClDevice::new(id)).map_err(failed("opening the device"))?;
    // SAFETY: the context was made from this device.
    let queue = unsafe { CommandQueue::create(&context, id, 0) };
    let queue = queue.map_err(failed("making a queue"))?;
    let program = Program::create_and_build_from_source(&context, crate::TEXT, "-cl-std=CL1.2")
        .map_err(|reason| DeviceError {
            device: device.to_string(),
            call: "compiling the kernel",
            reason,
        })?;
    let kernel = ClKernel::create(&program, KERNEL).map_err(failed("loading the kernel"))?;
    Ok(Box::new(OpenClQueue {
        device: device.to_string(),
        context,
        queue,
        kernel,
        buffers: Vec::new(),
    }))
}

struct OpenClQueue {
    /// The device's name, for errors.
    device: String,
    context: Context,
    queue: CommandQueue,
    kernel: ClKernel,
    buffers: Vec<ClBuffer<u8>>,
}

impl OpenClQueue {
    fn check<T>(&self, call: &'static str, result: Result<T, ClError>) -> Result<T, DeviceError> {
        result.map_err(|error| DeviceError {
            device: self.device.clone(),
            call,
            reason: error.to_string(),
        })
    }
}

impl Commands for OpenClQueue {
    fn allocate(&mut self, bytes: usize) -> Result<Buffer, DeviceError> {
        // SAFETY: without a host pointer nothing is read.
        let buffer = unsafe {
            ClBuffer::create(&self.context, CL_MEM_READ_WRITE, bytes, std::ptr::null_mut())
        };
        let buffer = self.check(ALLOCATING, buffer)?;
        self.buffers.push(buffer);
        Ok(Buffer(self.buffers.len() - 1))
    }

    fn write(&mut self, to: Buffer, bytes: &[u8]) -> Result<(), DeviceError> {
        let buffer = &mut self.buffers[to.0];
        // SAFETY: the call blocks, so the bytes live until they are copied. The driver refuses to
        // write beyond the buffer.
        let written =
            unsafe { self.queue.enqueue_write_buffer(buffer, CL_BLOCKING, 0, bytes, &[]) };
        self.check("writing", written).map(drop)
    }

    fn clear(&mut self, buffer: Buffer, bytes: usize) -> Result<(), DeviceError> {
        let buffer = &mut self.buffers[buffer.0];
        // SAFETY: the driver refuses to write beyond the buffer.
        let cleared = unsafe { self.queue.enqueue_fill_buffer(buffer, &[0_u8], 0, bytes, &[]) };
        self.check("clearing memory", cleared).map(drop)
    }

    fn launch(
        &mut self,
        groups: u32,
        shared: u32,
        arguments: &[Argument<'_>],
    ) -> Result<(), DeviceError> {
        let mut launch = ExecuteKernel::new(&self.kernel);
        for argument in arguments {
            // SAFETY: the kernel has these parameters in this order (see `counter`). The driver
            // copies the task before the call returns.
            unsafe {
                match argument {
                    Argument::Buffer(buffer) => launch.set_arg(&self.buffers[buffer.0].get()),
                    Argument::Split(split) => launch.set_arg(*split),
                };
            }
        }
        // SAFETY: the last parameter is shared memory of a size that the host sets.
        unsafe { launch.set_arg_local_buffer(shared as usize) };
        let threads = THREADS as usize;
        launch.set_global_work_size(groups as usize * threads).set_local_work_size(threads);
        // SAFETY: all arguments were set, and their buffers live as long as the queue.
        let launched = unsafe { launch.enqueue_nd_range(&self.queue) };
        self.check("launching", launched).map(drop)
    }

    fn read(&mut self, from: Buffer, bytes: &mut [u8]) -> Result<(), DeviceError> {
        if bytes.is_empty() {
            return self.check("counting", self.queue.finish());
        }
        let buffer = &self.buffers[from.0];
        // SAFETY: the call blocks, and the driver refuses to read beyond the buffer.
        let read = unsafe { self.queue.enqueue_read_buffer(buffer, CL_BLOCKING, 0, bytes, &[]) };
        self.check("counting", read).map(drop)
    }
}
