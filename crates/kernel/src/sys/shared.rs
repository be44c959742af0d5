//! Maps memory that is shared with the kernel. Dropping the mapping unmaps it.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr::{NonNull, null_mut};
use std::sync::atomic::AtomicUsize;

use libc::{MAP_FAILED, MAP_SHARED, PROT_READ, PROT_WRITE, c_void};

/// A mapping of whole pages of shared memory.
#[derive(Debug)]
pub struct Shared {
    start: NonNull<c_void>,
    size: usize,
}

// SAFETY: the memory belongs to the process, and is accessed by atomic operations only.
unsafe impl Send for Shared {}
// SAFETY: the same holds for shared references.
unsafe impl Sync for Shared {}

/// Returns the size of a page in bytes.
pub fn page() -> io::Result<usize> {
    // SAFETY: the call takes no address.
    let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    Ok(usize::try_from(page).map_err(|_| io::ErrorKind::Unsupported)?)
}

impl Shared {
    /// Maps `pages` pages of a file descriptor, starting with page `first`.
    pub fn new(fd: BorrowedFd, first: usize, pages: usize, write: bool) -> io::Result<Shared> {
        let page = page()?;
        let size = page * pages.max(1);
        let at = libc::off_t::try_from(first * page).map_err(|_| io::ErrorKind::InvalidInput)?;
        let access = if write { PROT_READ | PROT_WRITE } else { PROT_READ };
        // SAFETY: the kernel chooses a free address, and checks the other arguments.
        let start = unsafe { libc::mmap(null_mut(), size, access, MAP_SHARED, fd.as_raw_fd(), at) };
        match NonNull::new(start) {
            Some(start) if start.as_ptr() != MAP_FAILED => Ok(Shared { start, size }),
            _ => Err(io::Error::last_os_error()),
        }
    }

    /// Returns the first word of the mapping, which is an `unsigned long`.
    pub fn word(&self) -> &AtomicUsize {
        // SAFETY: at least one page stays mapped while `self` exists; it is aligned and larger than
        // a word.
        unsafe { self.start.cast::<AtomicUsize>().as_ref() }
    }

    /// Returns `count` bytes of the mapping, starting at the offset `from`. Leaves out bytes beyond
    /// the end of the mapping.
    pub fn bytes(&self, from: usize, count: usize) -> Vec<u8> {
        let end = from.saturating_add(count).min(self.size);
        // SAFETY: the bytes are in the mapping, which exists while `self` does.
        (from..end).map(|at| unsafe { self.start.cast::<u8>().add(at).read_volatile() }).collect()
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        // SAFETY: the memory was mapped with this size, and no reference to it outlives `self`.
        unsafe { libc::munmap(self.start.as_ptr(), self.size) };
    }
}
