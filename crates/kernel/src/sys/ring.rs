//! Accesses the positions of reader and writers in a ring buffer, in memory shared with the kernel
//! (`kernel/bpf/ringbuf.c`). Each is on its own page; only the page of the reader's position is
//! writable.

use std::io;
use std::os::fd::BorrowedFd;
use std::sync::atomic::Ordering;

use super::shared::{Shared, page};

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

    /// Returns the position up to which the kernel regards the buffer as read.
    pub fn read(&self) -> usize {
        self.reader.word().load(Ordering::Acquire)
    }
}

/// Returns the records between two positions of a ring buffer of `size` bytes. A record has 8 bytes
/// in front: its length, and two bits for records that are unfinished or discarded
/// (`kernel/bpf/ringbuf.c`).
pub fn records(ring: BorrowedFd, size: usize, from: usize, to: usize) -> io::Result<Vec<Vec<u8>>> {
    /// `BPF_RINGBUF_BUSY_BIT` and `BPF_RINGBUF_DISCARD_BIT`.
    const UNFINISHED: u32 = 3 << 30;
    const HEADER: usize = 8;
    // The data follows the two pages of positions. The kernel maps it twice, so that each record is
    // in one piece.
    let data = Shared::new(ring, 2, 2 * size / page()?, false)?;
    let (mut at, mut found) = (from, Vec::new());
    while at < to {
        let start = at & (size - 1);
        let Ok(length) = data.bytes(start, 4).try_into().map(u32::from_ne_bytes) else { break };
        let bytes = (length & !UNFINISHED) as usize;
        if length & UNFINISHED == 0 {
            found.push(data.bytes(start + HEADER, bytes));
        }
        at += (HEADER + bytes).next_multiple_of(HEADER);
    }
    Ok(found)
}
