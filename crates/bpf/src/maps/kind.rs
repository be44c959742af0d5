//! Defines the map types (`enum bpf_map_type` of the kernel's `uapi/linux/bpf.h`).

use std::fmt;

/// Map type, given by its number in the kernel (`enum bpf_map_type`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MapKind(pub u32);

macro_rules! kinds {
    ($($name:ident = $number:literal $text:literal,)*) => {
        impl MapKind {
            $(#[doc = concat!("`", $text, "`")] pub const $name: MapKind = MapKind($number);)*

            /// All known map types.
            pub const ALL: &[MapKind] = &[$(MapKind::$name),*];

            /// Returns the name that `bpftool` prints; `None` for an unknown type.
            pub fn name(self) -> Option<&'static str> {
                match self.0 {
                    $($number => Some($text),)*
                    _ => None,
                }
            }
        }
    };
}

kinds! {
    HASH = 1 "hash",
    ARRAY = 2 "array",
    PROG_ARRAY = 3 "prog_array",
    PERF_EVENT_ARRAY = 4 "perf_event_array",
    PERCPU_HASH = 5 "percpu_hash",
    PERCPU_ARRAY = 6 "percpu_array",
    STACK_TRACE = 7 "stack_trace",
    CGROUP_ARRAY = 8 "cgroup_array",
    LRU_HASH = 9 "lru_hash",
    LRU_PERCPU_HASH = 10 "lru_percpu_hash",
    LPM_TRIE = 11 "lpm_trie",
    ARRAY_OF_MAPS = 12 "array_of_maps",
    HASH_OF_MAPS = 13 "hash_of_maps",
    DEVMAP = 14 "devmap",
    SOCKMAP = 15 "sockmap",
    CPUMAP = 16 "cpumap",
    XSKMAP = 17 "xskmap",
    SOCKHASH = 18 "sockhash",
    CGROUP_STORAGE = 19 "cgroup_storage",
    REUSEPORT_SOCKARRAY = 20 "reuseport_sockarray",
    PERCPU_CGROUP_STORAGE = 21 "percpu_cgroup_storage",
    QUEUE = 22 "queue",
    STACK = 23 "stack",
    SK_STORAGE = 24 "sk_storage",
    DEVMAP_HASH = 25 "devmap_hash",
    STRUCT_OPS = 26 "struct_ops",
    RINGBUF = 27 "ringbuf",
    INODE_STORAGE = 28 "inode_storage",
    TASK_STORAGE = 29 "task_storage",
    BLOOM_FILTER = 30 "bloom_filter",
    USER_RINGBUF = 31 "user_ringbuf",
    CGRP_STORAGE = 32 "cgrp_storage",
    ARENA = 33 "arena",
}

impl MapKind {
    /// Returns true if a full map evicts elements to make room for new ones.
    pub fn evicts(self) -> bool {
        matches!(self, MapKind::LRU_HASH | MapKind::LRU_PERCPU_HASH)
    }

    /// Returns true if user space can look up elements by key and read their values as plain bytes.
    pub fn is_readable(self) -> bool {
        matches!(
            self,
            MapKind::HASH
                | MapKind::ARRAY
                | MapKind::PERCPU_HASH
                | MapKind::PERCPU_ARRAY
                | MapKind::LRU_HASH
                | MapKind::LRU_PERCPU_HASH
                | MapKind::LPM_TRIE
        )
    }

    /// Returns true if the elements of maps of this type are maps.
    pub fn holds_maps(self) -> bool {
        matches!(self, MapKind::ARRAY_OF_MAPS | MapKind::HASH_OF_MAPS)
    }
}

impl fmt::Display for MapKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => f.write_str(name),
            None => write!(f, "type {}", self.0),
        }
    }
}
