//! What sequences of calls may contain.

use slowpath_bpf::MapKind;

/// What sequences of calls may contain. Everything else always is there.
#[derive(Clone, Debug)]
pub struct Abilities {
    /// Pointers to elements are used after calls that may have replaced or removed them.
    pub stale_pointers: bool,
    /// The tail moves back and forth by numbers from the packet.
    pub variable_tails: bool,
    /// Maps are so small that they get full.
    pub full_maps: bool,
    /// Maps of the LRU kinds are so small that elements have to make room.
    pub evictions: bool,
    /// Updates with `BPF_F_LOCK`.
    pub locks: bool,
    /// `bpf_csum_diff` with sizes from the packet.
    pub checksum_sizes: bool,
    /// Maps of maps.
    pub maps_of_maps: bool,
    /// Tries.
    pub tries: bool,
    /// Queues and stacks.
    pub queues: bool,
}

impl Default for Abilities {
    fn default() -> Self {
        Abilities {
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

impl Abilities {
    /// Types of maps.
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
