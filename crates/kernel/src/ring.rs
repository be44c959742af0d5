//! Simulates a reader of a ring buffer. A program notices only how much room the reader leaves in
//! the buffer.

use slowpath_bpf::MapKind;

use crate::error::MapError;
use crate::loaded::LoadedProgram;
use crate::map::Map;
use crate::sys::{Positions, records};

/// Number of bytes that stay unread when the ring buffer is drained. The sizes of records are
/// multiples of this number. If a reader has read everything, a program wakes it up
/// (`bpf_ringbuf_commit` of `kernel/bpf/ringbuf.c`). The unread bytes prevent this, and thus
/// simulate a busy reader that keeps up and never sleeps.
const UNREAD: usize = 8;

/// A simulated reader of a ring buffer.
#[derive(Debug)]
pub struct Ring {
    name: String,
    positions: Positions,
    size: usize,
}

impl Ring {
    fn new(map: &Map) -> Result<Ring, MapError> {
        let name = map.definition().name.clone();
        let Some(size) = map.ring_size() else { return Err(MapError::NoRing { map: name }) };
        match Positions::of(map.fd()) {
            Ok(positions) => Ok(Ring { name, positions, size }),
            Err(cause) => Err(MapError::Shared { map: name, cause }),
        }
    }

    /// Returns the name of the ring buffer's map.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Marks everything as read, except for the last 8 bytes, which are shorter than any record.
    pub fn drain(&self) {
        self.positions.set_read(self.positions.written().wrapping_sub(UNREAD));
    }

    /// Marks the whole buffer as unread, so that no record fits into it.
    pub fn fill(&self) {
        self.positions.set_read(self.positions.written().wrapping_sub(self.size));
    }

    /// Returns the position of the next record. This is the number of bytes ever written, modulo
    /// 2^64.
    pub fn position(&self) -> usize {
        self.positions.written()
    }

    /// Returns how many records of `bytes` bytes fit into the buffer after [`Ring::drain`].
    pub fn fits(&self, bytes: usize) -> usize {
        // One byte always stays free (`__bpf_ringbuf_reserve`).
        (self.size - 1 - UNREAD) / bytes.max(1)
    }
}

impl Map {
    /// Returns a simulated reader of this ring buffer.
    ///
    /// # Errors
    /// If the map is not a ring buffer, or the kernel does not give access to its positions.
    pub fn ring(&self) -> Result<Ring, MapError> {
        Ring::new(self)
    }

    /// Returns the records of this ring buffer that no reader has read.
    ///
    /// # Errors
    /// As [`Map::ring`].
    pub fn unread(&self) -> Result<Vec<Vec<u8>>, MapError> {
        let Ring { name, positions, size } = self.ring()?;
        let (from, to) = (positions.read(), positions.written());
        records(self.fd(), size, from, to).map_err(|cause| MapError::Shared { map: name, cause })
    }

    fn ring_size(&self) -> Option<usize> {
        let definition = self.definition();
        let size = usize::try_from(definition.max_entries).ok()?;
        // The kernel accepts whole pages only.
        (definition.kind == MapKind::RINGBUF && size > UNREAD).then_some(size)
    }
}

impl LoadedProgram {
    /// Returns simulated readers of all ring buffers that the program can reach.
    ///
    /// # Errors
    /// If the kernel does not give access to the positions of a ring buffer.
    pub fn rings(&self) -> Result<Vec<Ring>, MapError> {
        let rings = self.maps().filter(|map| map.definition().kind == MapKind::RINGBUF);
        rings.map(Map::ring).collect()
    }
}
