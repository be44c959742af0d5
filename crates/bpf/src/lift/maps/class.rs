//! Types of maps: one table. What programs can do with a type is its class.

use crate::lift::error::Cause;
use crate::maps::{MapDef, MapKind};

/// What a map is to programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::lift) enum MapClass {
    /// All elements exist.
    Array,
    /// Elements come and go.
    Hash,
    /// Elements that stand for ranges of keys.
    Trie,
    /// Elements are devices, CPUs or sockets to send packets to, by index.
    RedirectTargets,
    /// The same by key.
    RedirectTargetsByKey,
    /// Elements are maps.
    Maps,
    /// Elements are programs.
    Programs,
    /// A stream to user space.
    Stream,
    /// First in or last in, first out.
    Queue,
}

/// A map type and what programs can do with it.
pub(in crate::lift) struct MapSupport {
    pub kind: MapKind,
    pub class: MapClass,
    pub note: &'static str,
}

const fn support(kind: MapKind, class: MapClass, note: &'static str) -> MapSupport {
    MapSupport { kind, class, note }
}

/// Every supported type of map. A new one goes here.
pub(in crate::lift) const MAP_KINDS: &[MapSupport] = &[
    support(
        MapKind::HASH,
        MapClass::Hash,
        "an insertion fails exactly when the map is full; elements that are replaced or deleted are followed",
    ),
    support(MapKind::ARRAY, MapClass::Array, "look-ups below max_entries never fail"),
    support(MapKind::PROG_ARRAY, MapClass::Programs, "slots that are known are followed"),
    support(MapKind::PERF_EVENT_ARRAY, MapClass::Stream, "output may fail"),
    support(MapKind::PERCPU_HASH, MapClass::Hash, "the value of the CPU that runs the program"),
    support(MapKind::PERCPU_ARRAY, MapClass::Array, "the value of the CPU that runs the program"),
    support(MapKind::LRU_HASH, MapClass::Hash, "an insertion may evict any other element"),
    support(MapKind::LRU_PERCPU_HASH, MapClass::Hash, "as lru_hash and percpu_hash"),
    support(
        MapKind::LPM_TRIE,
        MapClass::Trie,
        "look-ups agree with each other; what a call finds behind a change is any element, which a path that depends on it relies on",
    ),
    support(MapKind::ARRAY_OF_MAPS, MapClass::Maps, "two slots may hold the same map"),
    support(MapKind::HASH_OF_MAPS, MapClass::Maps, "two keys may hold the same map"),
    support(MapKind::DEVMAP, MapClass::RedirectTargets, "redirection to an empty slot fails"),
    support(
        MapKind::DEVMAP_HASH,
        MapClass::RedirectTargetsByKey,
        "redirection to an absent key fails",
    ),
    support(MapKind::CPUMAP, MapClass::RedirectTargets, "redirection to an empty slot fails"),
    support(MapKind::XSKMAP, MapClass::RedirectTargets, "redirection to an empty slot fails"),
    support(
        MapKind::QUEUE,
        MapClass::Queue,
        "first in, first out; full and empty exactly when it is",
    ),
    support(
        MapKind::STACK,
        MapClass::Queue,
        "last in, first out; full and empty exactly when it is",
    ),
    support(
        MapKind::RINGBUF,
        MapClass::Stream,
        "reservation and output may fail, and always for more than the ring has",
    ),
];

/// Most bytes of a key (`MAX_BPF_STACK`).
const MAX_KEY_BYTES: u32 = 512;

/// Most bytes of a value that any kernel takes, where the type of map limits them: what `kmalloc`
/// and the allocator of per-CPU memory give out at most, with the largest pages that Linux has
/// (`htab_map_alloc_check`, `array_map_alloc_check`, `queue_stack_map_alloc_check`, `trie_alloc`).
fn largest_value(map: &MapSupport) -> Option<u32> {
    /// `KMALLOC_MAX_SIZE` with pages of 64 KiB.
    const ALLOCATED: u32 = 1 << 29;
    /// `PCPU_MIN_UNIT_SIZE` with pages of 64 KiB.
    const PER_CPU: u32 = 1 << 16;
    match (map.kind, map.class) {
        (MapKind::PERCPU_ARRAY | MapKind::PERCPU_HASH | MapKind::LRU_PERCPU_HASH, _) => {
            Some(PER_CPU)
        }
        (_, MapClass::Array) => Some(i32::MAX as u32),
        (_, MapClass::Hash | MapClass::Trie | MapClass::Queue) => Some(ALLOCATED),
        (
            _,
            MapClass::RedirectTargets
            | MapClass::RedirectTargetsByKey
            | MapClass::Maps
            | MapClass::Programs,
        ) => Some(8),
        (_, MapClass::Stream) => None,
    }
}

fn known(kind: MapKind) -> Option<&'static MapSupport> {
    MAP_KINDS.iter().find(|known| known.kind == kind)
}

/// What tells the entries of a map apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryKeys {
    /// Numbers below `max_entries`: an entry has its place, and none makes room for another.
    Indices,
    /// Keys.
    Keys,
    /// The order in which they come out.
    Order,
    /// There are no entries that a program could find again.
    None,
}

/// What tells the entries of maps of a type apart, of types that are not supported too.
pub fn entry_keys(kind: MapKind) -> EntryKeys {
    match known(kind).map(|known| known.class) {
        Some(MapClass::Maps) if kind == MapKind::HASH_OF_MAPS => EntryKeys::Keys,
        Some(MapClass::Array | MapClass::RedirectTargets | MapClass::Programs | MapClass::Maps) => {
            EntryKeys::Indices
        }
        Some(MapClass::Hash | MapClass::Trie | MapClass::RedirectTargetsByKey) => EntryKeys::Keys,
        Some(MapClass::Queue) => EntryKeys::Order,
        Some(MapClass::Stream) => EntryKeys::None,
        None => match kind {
            MapKind::USER_RINGBUF
            | MapKind::BLOOM_FILTER
            | MapKind::ARENA
            | MapKind::STACK_TRACE => EntryKeys::None,
            _ => EntryKeys::Keys,
        },
    }
}

/// The class of a map whose type is supported, and whose keys and values the kernel would take.
pub(in crate::lift) fn class_of(def: &MapDef) -> Result<MapClass, Cause> {
    let known = known(def.kind).ok_or_else(|| {
        let hint = "docs/support.md lists the types of maps that are";
        Cause::new(format!("map {} of type {} is not supported", def.name, def.kind), hint)
    })?;
    if let Some(limit) = largest_value(known)
        && def.value_size > limit
    {
        let what = format!("values of map {} have {} bytes", def.name, def.value_size);
        return Err(Cause::new(what, format!("the kernel takes up to {limit} in a {}", def.kind)));
    }
    if def.key_size > MAX_KEY_BYTES {
        let what = format!("keys of map {} have {} bytes", def.name, def.key_size);
        return Err(Cause::new(what, "the kernel takes up to 512"));
    }
    Ok(known.class)
}

/// The distance between elements as a power of two.
pub(in crate::lift) fn element_bits(def: &MapDef, class: MapClass) -> u8 {
    let bytes = match class {
        MapClass::Maps | MapClass::Programs => 8,
        MapClass::Array
        | MapClass::Hash
        | MapClass::Trie
        | MapClass::RedirectTargets
        | MapClass::RedirectTargetsByKey
        | MapClass::Stream
        | MapClass::Queue => u64::from(def.value_size.max(8)),
    };
    bytes.next_power_of_two().trailing_zeros() as u8
}
