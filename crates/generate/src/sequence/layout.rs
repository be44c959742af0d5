//! Positions of the arguments and results of sequences, and key sizes of their maps.

use slowpath_bpf::MapKind;

/// Bytes of the packet that provide arguments, after the Ethernet header.
pub(super) const ARGUMENTS: u8 = 32;
/// Offset of the first argument byte in the packet.
pub(super) const FIRST: u8 = 14;
/// Largest number of results of calls and reads.
pub(super) const RESULTS: usize = 14;

/// Range of the packet's bytes that provide arguments. The first quarter is used most.
pub const ARGUMENT_BYTES: std::ops::Range<usize> =
    FIRST as usize..FIRST as usize + ARGUMENTS as usize;

/// Returns the key size in bytes of a map type.
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
