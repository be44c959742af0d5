//! The positions of a ring buffer, in memory that the kernel shares (`kernel/bpf/ringbuf.c`): a page
//! with the reader's, which may be written, and one with the writers', which may not.

use std::io;
use std::os::fd::BorrowedFd;
use std::sync::atomic::Ordering;

use super::shared::Shared;

/// How far a ring was read and written.
#[derive(Debug)]
pub struct Positions {
    reader: Shared,
    writers: Shared,
}

impl Positions {
    /// Those of the ring with this file descriptor.
    pub fn of(ring: BorrowedFd) -> io::Result<Positions> {
        let reader = Shared::new(ring, 0, 1, true)?;
        Ok(Positions { reader, writers: Shared::new(ring, 1, 1, false)? })
    }

    /// Bytes that were ever written, modulo the size of a word.
    pub fn written(&self) -> usize {
        self.writers.word().load(Ordering::Acquire)
    }

    /// From now on the kernel takes it that so many were read.
    pub fn set_read(&self, position: usize) {
        self.reader.word().store(position, Ordering::Release);
    }
}
