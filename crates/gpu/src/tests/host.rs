//! A queue that runs the kernel as plain C on this machine, for tests. See `emulate.c`.
//!
//! A page that must not be touched follows each buffer, so that an index beyond the buffer ends the
//! test.

use std::ffi::{c_int, c_void};
use std::process::Command;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use rustix::mm::{MapFlags, MprotectFlags, ProtFlags, mmap_anonymous, mprotect};

use crate::driver::{Argument, Buffer, Commands, DeviceError};

type Launch = unsafe extern "C" fn(u32, *const *const c_void) -> c_int;

/// The compiled text.
fn launch() -> &'static libloading::Symbol<'static, Launch> {
    static LIBRARY: OnceLock<libloading::Library> = OnceLock::new();
    static LAUNCH: OnceLock<libloading::Symbol<'static, Launch>> = OnceLock::new();
    let library = LIBRARY.get_or_init(|| {
        let folder = tempfile::tempdir().expect("a temporary directory");
        let library = folder.path().join("kernels.so");
        let source = concat!(env!("CARGO_MANIFEST_DIR"), "/src/emulate.c");
        let options =
            ["-std=gnu11", "-O2", "-fwrapv", "-fno-strict-aliasing", "-shared", "-fPIC", "-o"];
        let status = Command::new("cc").args(options).arg(&library).arg(source).status();
        assert!(status.expect("there is a C compiler").success(), "the text is plain C");
        // SAFETY: nothing in the library runs when it is loaded.
        unsafe { libloading::Library::new(library) }.expect("it was just made")
    });
    // SAFETY: this is the declaration in `emulate.c`.
    LAUNCH.get_or_init(|| unsafe { library.get(b"launch") }.expect("the text has it"))
}

/// Groups use static memory, so only one queue may be in use at a time.
static IN_USE: Mutex<()> = Mutex::new(());

/// A queue that executes commands immediately.
pub(crate) struct HostQueue {
    buffers: Vec<(*mut u8, usize)>,
    /// The number of calls before the device fails.
    calls_left: u32,
    _alone: MutexGuard<'static, ()>,
}

// SAFETY: the buffers are used only through the queue, and tests do not send it to another thread.
unsafe impl Send for HostQueue {}

const PAGE: usize = 4096;

impl HostQueue {
    /// Waits until no other queue is in use.
    pub(crate) fn new() -> HostQueue {
        HostQueue::failing_after(u32::MAX)
    }

    /// A queue of a device that is lost after this number of calls.
    pub(crate) fn failing_after(calls_left: u32) -> HostQueue {
        let alone = IN_USE.lock().unwrap_or_else(PoisonError::into_inner);
        HostQueue { buffers: Vec::new(), calls_left, _alone: alone }
    }

    fn call(&mut self) -> Result<(), DeviceError> {
        let lost = || DeviceError {
            device: "plain C".into(),
            call: "counting",
            reason: "it was lost".into(),
        };
        self.calls_left = self.calls_left.checked_sub(1).ok_or_else(lost)?;
        Ok(())
    }

    /// The first bytes of a buffer.
    fn bytes(&mut self, buffer: Buffer, len: usize) -> &mut [u8] {
        let (start, size) = self.buffers[buffer.0];
        assert!(len <= size, "{len} bytes of a buffer of {size}");
        // SAFETY: the memory was mapped, and is never unmapped.
        unsafe { std::slice::from_raw_parts_mut(start, len) }
    }
}

impl Commands for HostQueue {
    fn allocate(&mut self, bytes: usize) -> Result<Buffer, DeviceError> {
        self.call()?;
        let pages = bytes.div_ceil(PAGE) + 1;
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: the memory is new, and its last page is not used.
        let start = unsafe {
            let start =
                mmap_anonymous(std::ptr::null_mut(), pages * PAGE, protection, MapFlags::PRIVATE)
                    .expect("there is memory");
            let last = start.byte_add((pages - 1) * PAGE);
            mprotect(last, PAGE, MprotectFlags::empty()).expect("it is ours");
            last.byte_sub(bytes.next_multiple_of(16)).cast()
        };
        self.buffers.push((start, bytes));
        Ok(Buffer(self.buffers.len() - 1))
    }

    fn write(&mut self, to: Buffer, bytes: &[u8]) -> Result<(), DeviceError> {
        self.call()?;
        self.bytes(to, bytes.len()).copy_from_slice(bytes);
        Ok(())
    }

    fn clear(&mut self, buffer: Buffer, bytes: usize) -> Result<(), DeviceError> {
        self.call()?;
        self.bytes(buffer, bytes).fill(0);
        Ok(())
    }

    fn launch(
        &mut self,
        groups: u32,
        _shared: u32,
        arguments: &[Argument<'_>],
    ) -> Result<(), DeviceError> {
        self.call()?;
        let pointer = |argument: &Argument<'_>| match argument {
            Argument::Buffer(buffer) => self.buffers[buffer.0].0.cast_const().cast::<c_void>(),
            Argument::Split(split) => split.as_ptr().cast(),
        };
        let arguments: Vec<*const c_void> = arguments.iter().map(pointer).collect();
        // SAFETY: the kernel has these parameters. An index beyond a buffer ends the process.
        let failed = unsafe { launch()(groups, arguments.as_ptr()) };
        assert_eq!(failed, 0, "all threads come to the same barriers");
        Ok(())
    }

    fn read(&mut self, from: Buffer, bytes: &mut [u8]) -> Result<(), DeviceError> {
        self.call()?;
        let len = bytes.len();
        bytes.copy_from_slice(self.bytes(from, len));
        Ok(())
    }
}
