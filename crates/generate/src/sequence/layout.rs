//! Defines the packet bytes that generated helper calls take as arguments, the number of stored
//! results, and the key sizes of maps.

use slowpath_bpf::MapKind;

/// Number of packet bytes after the Ethernet header that serve as arguments of helper calls.
pub(super) const ARGUMENTS: u8 = 32;
/// Offset in the packet of the first byte that serves as an argument of helper calls.
pub(super) const FIRST: u8 = 14;
/// Maximum number of results of calls and reads that a sequence stores.
pub(super) const RESULTS: usize = 14;

/// Range of the packet bytes that serve as arguments of helper calls. Sequences mostly use the
/// first quarter.
pub const ARGUMENT_BYTES: std::ops::Range<usize> =
    FIRST as usize..FIRST as usize + ARGUMENTS as usize;

/// Returns the key size of a map type in bytes; `wide` selects the larger of two possible sizes.
pub(super) fn key_size(kind: MapKind, wide: bool) -> u32 {
    match kind {
        MapKind::QUEUE | MapKind::STACK => 0,
        MapKind::LPM_TRIE => 8,
        MapKind::HASH | MapKind::PERCPU_HASH | MapKind::LRU_HASH | MapKind::LRU_PERCPU_HASH
            if wide =>
        {
            8
        }
        _ => 4,
    }
}
