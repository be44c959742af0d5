//! Memory that the kernel shares with this process, unmapped when it goes.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr::{NonNull, null_mut};
use std::sync::atomic::AtomicUsize;

use libc::{MAP_FAILED, MAP_SHARED, PROT_READ, PROT_WRITE, c_void};

/// Pages of memory.
#[derive(Debug)]
pub struct Shared {
    start: NonNull<c_void>,
    size: usize,
}

// SAFETY: the memory belongs to the process, and is accessed by atomic operations only.
unsafe impl Send for Shared {}
// SAFETY: as above.
unsafe impl Sync for Shared {}

impl Shared {
    /// So many pages behind a file descriptor, from one on.
    pub fn new(fd: BorrowedFd, first: usize, pages: usize, write: bool) -> io::Result<Shared> {
        // SAFETY: the call takes a number.
        let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
        let page = usize::try_from(page).map_err(|_| io::ErrorKind::Unsupported)?;
        let size = page * pages.max(1);
        let at = libc::off_t::try_from(first * page).map_err(|_| io::ErrorKind::InvalidInput)?;
        let access = if write { PROT_READ | PROT_WRITE } else { PROT_READ };
        // SAFETY: nothing is mapped at a given address, and the kernel checks the rest.
        let start = unsafe { libc::mmap(null_mut(), size, access, MAP_SHARED, fd.as_raw_fd(), at) };
        match NonNull::new(start) {
            Some(start) if start.as_ptr() != MAP_FAILED => Ok(Shared { start, size }),
            _ => Err(io::Error::last_os_error()),
        }
    }

    /// The word at its start, an `unsigned long`.
    pub fn word(&self) -> &AtomicUsize {
        // SAFETY: a page is mapped as long as `self` is there, larger than a word and aligned.
        unsafe { self.start.cast::<AtomicUsize>().as_ref() }
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        // SAFETY: the memory was mapped with this size, and no reference to it outlives `self`.
        unsafe { libc::munmap(self.start.as_ptr(), self.size) };
    }
}
