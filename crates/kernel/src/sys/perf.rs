//! Reads the perf events that programs send (perf_event_open(2)). Each reader opens an event on one
//! CPU, with a ring buffer in shared memory.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use super::shared::Shared;

/// Number of pages of the ring buffer, a power of two. One more page in front contains the buffer's
/// positions.
const PAGES: usize = 16;

/// A ring buffer for the events of one CPU. It is never full: the kernel overwrites old events
/// because the mapping is read-only (`perf_output_begin` of the kernel's
/// `kernel/events/ring_buffer.c`).
#[derive(Debug)]
pub struct Listener {
    // Declared first: the memory is unmapped before the event is closed.
    _memory: Shared,
    event: OwnedFd,
}

impl Listener {
    /// Opens a ring buffer for the events that programs send on a CPU. Returns `None` if the CPU is
    /// not online.
    pub fn new(cpu: usize) -> io::Result<Option<Listener>> {
        let event = match open(cpu) {
            Ok(event) => event,
            Err(cause) if cause.raw_os_error() == Some(libc::ENODEV) => return Ok(None),
            Err(cause) => return Err(cause),
        };
        let memory = Shared::new(event.as_fd(), 0, PAGES + 1, false)?;
        Ok(Some(Listener { _memory: memory, event }))
    }

    pub fn fd(&self) -> BorrowedFd<'_> {
        self.event.as_fd()
    }
}

#[cfg(target_os = "linux")]
fn open(cpu: usize) -> io::Result<OwnedFd> {
    use std::os::fd::{FromRawFd, RawFd};

    /// `struct perf_event_attr` in its first version (`PERF_ATTR_SIZE_VER0`).
    #[repr(C)]
    struct EventAttr {
        kind: u32,
        size: u32,
        config: u64,
        period: u64,
        sample: u64,
        read: u64,
        flags: u64,
        watermark: u32,
        breakpoint: u32,
        address: u64,
    }
    const _: () = assert!(size_of::<EventAttr>() == 64);
    /// `PERF_TYPE_SOFTWARE`, the type of events that software raises.
    const SOFTWARE: u32 = 1;
    /// `PERF_COUNT_SW_BPF_OUTPUT`, the event that programs raise with `bpf_perf_event_output`.
    const BPF_OUTPUT: u64 = 10;
    /// `PERF_SAMPLE_RAW`.
    const RAW: u64 = 1 << 10;
    /// `PERF_FLAG_FD_CLOEXEC`.
    const CLOSE_ON_EXEC: libc::c_ulong = 8;
    /// Flag `watermark` of `struct perf_event_attr`: wakes the reader up only after a given number
    /// of bytes.
    const WATERMARK: u64 = 1 << 14;

    let attr = EventAttr {
        kind: SOFTWARE,
        size: size_of::<EventAttr>() as u32,
        config: BPF_OUTPUT,
        period: 1,
        sample: RAW,
        read: 0,
        flags: WATERMARK,
        watermark: u32::MAX,
        breakpoint: 0,
        address: 0,
    };
    let number = libc::c_int::try_from(cpu).map_err(|_| io::ErrorKind::InvalidInput)?;
    // SAFETY: the structure states its own size, and the kernel only reads it.
    let fd = unsafe {
        libc::syscall(
            libc::SYS_perf_event_open,
            std::ptr::from_ref(&attr),
            -1,
            number,
            -1,
            CLOSE_ON_EXEC,
        )
    };
    match RawFd::try_from(fd) {
        // SAFETY: the call returned a new file descriptor.
        Ok(fd @ 0..) => Ok(unsafe { OwnedFd::from_raw_fd(fd) }),
        _ => Err(io::Error::last_os_error()),
    }
}

#[cfg(not(target_os = "linux"))]
fn open(_: usize) -> io::Result<OwnedFd> {
    Err(io::Error::from_raw_os_error(libc::ENOSYS))
}
