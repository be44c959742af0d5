//! Lists the map types. The class of a map type determines the operations that programs can use on
//! it.

use crate::lift::error::Cause;
use crate::maps::{MapDef, MapKind};
use slowpath_codes as codes;

/// A class of map types: programs can use the same operations on all maps of a class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::lift) enum MapClass {
    /// All elements exist, and keys are indices.
    Array,
    /// Programs insert and delete elements.
    Hash,
    /// Elements are prefixes; lookups find the longest prefix of the key.
    Trie,
    /// Elements are targets of redirection (devices, CPUs or sockets), and keys are indices.
    RedirectTargets,
    /// Elements are targets of redirection, and keys are any numbers.
    RedirectTargetsByKey,
    /// Elements are maps.
    Maps,
    /// Elements are programs.
    Programs,
    /// A stream of records to user space, such as a ring buffer.
    Stream,
    /// A queue or a stack.
    Queue,
}

/// A supported map type, with its class and a note for the documentation.
pub(in crate::lift) struct MapSupport {
    pub kind: MapKind,
    pub class: MapClass,
    pub note: &'static str,
}

const fn support(kind: MapKind, class: MapClass, note: &'static str) -> MapSupport {
    MapSupport { kind, class, note }
}

/// All supported map types.
pub(in crate::lift) const MAP_KINDS: &[MapSupport] = &[
    support(
        MapKind::HASH,
        MapClass::Hash,
        "An insertion fails exactly if the map is full. slowpath follows replaced and deleted elements.",
    ),
    support(MapKind::ARRAY, MapClass::Array, "Lookups of indices below max_entries never fail."),
    support(
        MapKind::PROG_ARRAY,
        MapClass::Programs,
        "slowpath follows calls to slots with a known program.",
    ),
    support(MapKind::PERF_EVENT_ARRAY, MapClass::Stream, "Output may fail."),
    support(
        MapKind::PERCPU_HASH,
        MapClass::Hash,
        "Each CPU that runs the program has its own value.",
    ),
    support(
        MapKind::PERCPU_ARRAY,
        MapClass::Array,
        "Each CPU that runs the program has its own value.",
    ),
    support(MapKind::LRU_HASH, MapClass::Hash, "An insertion may evict any other element."),
    support(MapKind::LRU_PERCPU_HASH, MapClass::Hash, "As lru_hash and percpu_hash."),
    support(
        MapKind::LPM_TRIE,
        MapClass::Trie,
        "Lookups agree with each other. After a change, a lookup finds any element, and a path that depends on the element relies on the model.",
    ),
    support(MapKind::ARRAY_OF_MAPS, MapClass::Maps, "Two slots may hold the same map."),
    support(MapKind::HASH_OF_MAPS, MapClass::Maps, "Two keys may have the same map."),
    support(MapKind::DEVMAP, MapClass::RedirectTargets, "A redirection to an empty slot fails."),
    support(
        MapKind::DEVMAP_HASH,
        MapClass::RedirectTargetsByKey,
        "A redirection to an absent key fails.",
    ),
    support(MapKind::CPUMAP, MapClass::RedirectTargets, "A redirection to an empty slot fails."),
    support(MapKind::XSKMAP, MapClass::RedirectTargets, "A redirection to an empty slot fails."),
    support(
        MapKind::QUEUE,
        MapClass::Queue,
        "First in, first out. slowpath knows exactly if the queue is full or empty.",
    ),
    support(
        MapKind::STACK,
        MapClass::Queue,
        "Last in, first out. slowpath knows exactly if the stack is full or empty.",
    ),
    support(
        MapKind::RINGBUF,
        MapClass::Stream,
        "Reservations and output may fail, and always fail for more bytes than the ring buffer holds.",
    ),
];

/// Maximum size of a key in bytes (`MAX_BPF_STACK`).
const MAX_KEY_BYTES: u32 = 512;

/// Returns the maximum value size, in bytes, that any kernel accepts for a map type; `None` without
/// limit. The limit is the largest allocation of `kmalloc` or of the per-CPU allocator with the
/// largest page size of Linux (`htab_map_alloc_check`, `array_map_alloc_check`,
/// `queue_stack_map_alloc_check`, `trie_alloc`).
fn largest_value(map: &MapSupport) -> Option<u32> {
    /// `KMALLOC_MAX_SIZE` with 64 KiB pages, in bytes.
    const ALLOCATED: u32 = 1 << 29;
    /// `PCPU_MIN_UNIT_SIZE` with 64 KiB pages, in bytes.
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

/// The way in which programs identify an entry of a map.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryKeys {
    /// By an index below `max_entries`: every entry has a fixed position and is never evicted.
    Indices,
    /// By a key of any value.
    Keys,
    /// By position in the order in which entries are removed, as in queues and stacks.
    Order,
    /// Entries have no identity: a program cannot find an entry again.
    None,
}

/// Returns the way in which the entries of a map type are identified, also for unsupported types.
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

/// Returns the class of a map. Fails for unsupported map types, and for key or value sizes that the
/// kernel rejects.
pub(in crate::lift) fn class_of(def: &MapDef) -> Result<MapClass, Cause> {
    let known = known(def.kind).ok_or_else(|| {
        let hint = "docs/reference/support.md lists the types of maps that are";
        Cause::new(
            codes::UNSUPPORTED_MAP_TYPE,
            format!("map {} of type {} is not supported", def.name, def.kind),
            hint,
        )
    })?;
    if let Some(limit) = largest_value(known)
        && def.value_size > limit
    {
        let text = format!("values of map {} have {} bytes", def.name, def.value_size);
        return Err(Cause::new(
            codes::UNSUPPORTED_MAP_TYPE,
            text,
            format!("the kernel takes at most {limit} bytes in a {}", def.kind),
        ));
    }
    if def.key_size > MAX_KEY_BYTES {
        let text = format!("keys of map {} have {} bytes", def.name, def.key_size);
        return Err(Cause::new(
            codes::UNSUPPORTED_MAP_TYPE,
            text,
            "the kernel takes at most 512 bytes",
        ));
    }
    Ok(known.class)
}

/// Returns the binary logarithm of the distance in bytes between neighbouring elements in the
/// memory region of a map.
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
