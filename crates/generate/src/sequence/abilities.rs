//! Defines the optional features of generated sequences of helper calls.

use slowpath_bpf::MapKind;

/// Optional features that generated sequences of helper calls may use. All other features are
/// always enabled.
#[derive(Clone, Debug)]
pub struct SequenceFeatures {
    /// Uses of pointers to map elements after calls that may have replaced or removed these
    /// elements.
    pub stale_pointers: bool,
    /// Moves of the packet's end in both directions, by distances read from the packet.
    pub variable_tails: bool,
    /// Maps that are small enough to become full.
    pub full_maps: bool,
    /// LRU maps that are small enough to evict elements when new ones are inserted.
    pub evictions: bool,
    /// Updates of map elements with the flag `BPF_F_LOCK`.
    pub locks: bool,
    /// Calls of `bpf_csum_diff` with sizes that are read from the packet.
    pub checksum_sizes: bool,
    /// Maps of maps, whose elements are inner maps.
    pub maps_of_maps: bool,
    /// Maps of type `BPF_MAP_TYPE_LPM_TRIE` (longest-prefix match).
    pub tries: bool,
    /// Maps of type `BPF_MAP_TYPE_QUEUE` and `BPF_MAP_TYPE_STACK`.
    pub queues: bool,
}

impl Default for SequenceFeatures {
    fn default() -> Self {
        SequenceFeatures {
            stale_pointers: true,
            variable_tails: true,
            full_maps: true,
            evictions: true,
            locks: true,
            checksum_sizes: true,
            maps_of_maps: true,
            tries: true,
            queues: true,
        }
    }
}

impl SequenceFeatures {
    /// Returns the map types from which sequences choose. A type that occurs several times is more
    /// likely.
    pub(super) fn kinds(&self) -> Vec<MapKind> {
        let mut kinds = vec![
            MapKind::HASH,
            MapKind::HASH,
            MapKind::HASH,
            MapKind::PERCPU_HASH,
            MapKind::LRU_HASH,
            MapKind::LRU_PERCPU_HASH,
            MapKind::ARRAY,
            MapKind::PERCPU_ARRAY,
            MapKind::DEVMAP,
            MapKind::DEVMAP_HASH,
        ];
        if self.maps_of_maps {
            kinds.extend([MapKind::ARRAY_OF_MAPS, MapKind::HASH_OF_MAPS]);
        }
        if self.tries {
            kinds.push(MapKind::LPM_TRIE);
        }
        if self.queues {
            kinds.extend([MapKind::QUEUE, MapKind::STACK]);
        }
        kinds
    }
}
