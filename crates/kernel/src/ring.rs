//! The reader of a ring buffer, as far as programs notice one: how much room there is.

use slowpath_bpf::MapKind;

use crate::error::MapError;
use crate::loaded::Loaded;
use crate::map::Map;
use crate::sys::Positions;

/// Bytes that look unread when all are. Whoever finds that the reader has read all before its own
/// record wakes it up (`bpf_ringbuf_commit` of `kernel/bpf/ringbuf.c`), and under load none has:
/// this is a reader that keeps up, and is at work. Records take multiples of this.
const BEHIND: usize = 8;

/// The reader of a ring buffer.
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

    /// The name of its map.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Reads all that is there, but for less than a record.
    pub fn drain(&self) {
        self.positions.set_read(self.positions.written().wrapping_sub(BEHIND));
    }

    /// Leaves no room, however short a record is.
    pub fn fill(&self) {
        self.positions.set_read(self.positions.written().wrapping_sub(self.size));
    }

    /// Where the next record will be written: how far it moves is what records take.
    pub fn position(&self) -> usize {
        self.positions.written()
    }

    /// How often so many bytes fit into it after [`Ring::drain`].
    pub fn fits(&self, bytes: usize) -> usize {
        // One byte always stays free (`__bpf_ringbuf_reserve`).
        (self.size - 1 - BEHIND) / bytes.max(1)
    }
}

impl Map {
    /// Its reader, if it is a ring buffer.
    ///
    /// # Errors
    /// If it is none, or the kernel does not share where it is.
    pub fn ring(&self) -> Result<Ring, MapError> {
        Ring::new(self)
    }

    fn ring_size(&self) -> Option<usize> {
        let definition = self.definition();
        let size = usize::try_from(definition.max_entries).ok()?;
        // The kernel takes whole pages only.
        (definition.kind == MapKind::RINGBUF && size > BEHIND).then_some(size)
    }
}

impl Loaded {
    /// The readers of all ring buffers that the program can reach.
    ///
    /// # Errors
    /// If the kernel does not share where they are.
    pub fn rings(&self) -> Result<Vec<Ring>, MapError> {
        let rings = self.maps().filter(|map| map.definition().kind == MapKind::RINGBUF);
        rings.map(Map::ring).collect()
    }
}
