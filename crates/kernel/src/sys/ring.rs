//! Accesses the positions of reader and writers in a ring buffer, in memory shared with the kernel
//! (`kernel/bpf/ringbuf.c`). Each is on its own page; only the page of the reader's position is
//! writable.

use std::io;
use std::os::fd::BorrowedFd;
use std::sync::atomic::Ordering;

use super::shared::Shared;

/// The positions of the reader and of the writers of a ring buffer.
#[derive(Debug)]
pub struct Positions {
    reader: Shared,
    writers: Shared,
}

impl Positions {
    /// Maps the positions of the ring buffer with this file descriptor.
    pub fn of(ring: BorrowedFd) -> io::Result<Positions> {
        let reader = Shared::new(ring, 0, 1, true)?;
        Ok(Positions { reader, writers: Shared::new(ring, 1, 1, false)? })
    }

    /// Returns how many bytes were ever written to the ring buffer, modulo 2^64.
    pub fn written(&self) -> usize {
        self.writers.word().load(Ordering::Acquire)
    }

    /// Sets the position up to which the kernel regards the buffer as read.
    pub fn set_read(&self, position: usize) {
        self.reader.word().store(position, Ordering::Release);
    }
}
