//! Where sequences have their arguments and results, and how long the keys of their maps are.

use slowpath_bpf::MapKind;

/// Bytes of the packet that arguments are taken from, behind the Ethernet header.
pub(super) const ARGUMENTS: u8 = 32;
/// Where they start.
pub(super) const FIRST: u8 = 14;
/// Most results of calls and reads.
pub(super) const RESULTS: usize = 14;

/// Bytes of a packet that the arguments are in; the first quarter of them is used most.
pub const ARGUMENT_BYTES: std::ops::Range<usize> =
    FIRST as usize..FIRST as usize + ARGUMENTS as usize;

/// Bytes of keys of this type.
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
