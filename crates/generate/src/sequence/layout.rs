//! Defines the positions of the arguments and results of sequences, and the key sizes of their
//! maps.

use slowpath_bpf::MapKind;

/// Number of packet bytes that provide arguments, after the Ethernet header.
pub(super) const ARGUMENTS: u8 = 32;
/// Offset of the first argument byte in the packet.
pub(super) const FIRST: u8 = 14;
/// Maximum number of results of calls and reads.
pub(super) const RESULTS: usize = 14;

/// Range of the packet bytes that provide arguments. Sequences mostly use the first quarter.
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
