//! Maps as memory regions.
//!
//! The values of a map are one region; an element's number is its place in it. Numbers are indices
//! (arrays), the keys themselves (keys of up to 4 bytes), or stand for the key's words
//! ([`BinaryOp::Intern`]): equal keys have equal numbers, different ones have different ones.
//! Elements are a power of two apart, so that addresses say which element and which byte in it.
//! Whether an element exists is a byte in a second region. What user space may have put into a map
//! is the unknown initial content of both.

use slowpath_ir::{Operand, RegionId, RegionKind};

pub(super) use super::elements::{Element, chunks};
use super::error::Cause;
use super::lifter::Lifter;
use super::plan::Follow;
use super::prefixes::Compared;
use super::room::{Fill, Room};
use super::value::{Known, MapId};
use crate::maps::{MapDef, MapKind};

/// How the elements of a map are numbered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keying {
    /// By the key, which is an index below `max_entries`.
    Index,
    /// By the key of up to 4 bytes.
    Number,
    /// By [`BinaryOp::Intern`] of the key's 8-byte words.
    Interned,
}

/// What a map is to programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    /// All elements exist.
    Array,
    /// Elements come and go.
    Hash,
    /// Elements that stand for ranges of keys.
    Trie,
    /// Elements are places to send packets to, by index.
    Places,
    /// Elements are places to send packets to, by key.
    PlacesByKey,
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
pub(super) struct MapSupport {
    pub kind: MapKind,
    pub class: Class,
    pub note: &'static str,
}

const fn support(kind: MapKind, class: Class, note: &'static str) -> MapSupport {
    MapSupport { kind, class, note }
}

/// Every supported type of map. A new one goes here.
pub(super) const MAP_KINDS: &[MapSupport] = &[
    support(
        MapKind::HASH,
        Class::Hash,
        "an insertion fails exactly when the map is full; elements that are replaced or deleted are followed",
    ),
    support(MapKind::ARRAY, Class::Array, "look-ups below max_entries never fail"),
    support(MapKind::PROG_ARRAY, Class::Programs, "slots that are known are followed"),
    support(MapKind::PERF_EVENT_ARRAY, Class::Stream, "output may fail"),
    support(MapKind::PERCPU_HASH, Class::Hash, "the value of the CPU that runs the program"),
    support(MapKind::PERCPU_ARRAY, Class::Array, "the value of the CPU that runs the program"),
    support(MapKind::LRU_HASH, Class::Hash, "an insertion may evict any other element"),
    support(MapKind::LRU_PERCPU_HASH, Class::Hash, "as lru_hash and percpu_hash"),
    support(MapKind::LPM_TRIE, Class::Trie, "look-ups only, which agree with each other"),
    support(MapKind::ARRAY_OF_MAPS, Class::Maps, "two slots may hold the same map"),
    support(MapKind::HASH_OF_MAPS, Class::Maps, "two keys may hold the same map"),
    support(MapKind::DEVMAP, Class::Places, "redirection to an empty slot fails"),
    support(MapKind::DEVMAP_HASH, Class::PlacesByKey, "redirection to an absent key fails"),
    support(MapKind::CPUMAP, Class::Places, "redirection to an empty slot fails"),
    support(MapKind::XSKMAP, Class::Places, "redirection to an empty slot fails"),
    support(MapKind::QUEUE, Class::Queue, "first in, first out; full and empty exactly when it is"),
    support(MapKind::STACK, Class::Queue, "last in, first out; full and empty exactly when it is"),
    support(
        MapKind::RINGBUF,
        Class::Stream,
        "reservation and output may fail, and always for more than the ring has",
    ),
];

/// Where a map's elements are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MapLayout {
    /// Its name; maps out of a map of maps are called `OUTER.inner` together.
    pub name: String,
    /// Its type.
    pub kind: MapKind,
    /// How many elements it can have, as the object says.
    pub max_entries: u32,
    /// In bytes.
    pub key_size: u32,
    /// In bytes.
    pub value_size: u32,
    /// How elements are numbered.
    pub keying: Keying,
    /// The values; element `n` starts at byte `n << element_bits`.
    pub values: RegionId,
    /// See [`MapLayout::values`].
    pub element_bits: u8,
    /// One byte an element: whether it exists. `None` if all do.
    pub present: Option<RegionId>,
    /// Where different elements may be the same (entries of a trie that a key finds, maps in a map
    /// of maps): four bytes an element, the number of its place in [`MapLayout::values`].
    pub identity: Option<RegionId>,
    /// Where elements are moved when they are replaced: eight bytes an element, exclusive-or of its
    /// number and the number of its place; zero at the start.
    pub moved: Option<RegionId>,
    /// Where a run notes what it finds at the start: a byte an element, 1 for an absent one, 2 for
    /// one that exists. More than `max_entries` never do, whatever [`MapLayout::present`] says.
    pub seen: Option<RegionId>,
    /// Of a trie in which several look-ups are made: two bytes a key, one more than the length in
    /// bits of the longest entry that is a prefix of it, zero if there is none. Elements are the
    /// entries then.
    pub lengths: Option<RegionId>,
    /// How many more elements there is room for at the start, where that is followed.
    pub room: Option<Room>,
    /// How full it is at the start, for maps out of a map of maps, where that is followed.
    pub fill: Option<Fill>,
    /// How many elements arrays out of an array of maps have, where they differ: four bytes a map,
    /// as in [`Fill`], the exclusive-or of that and `max_entries` of the object.
    pub sizes: Option<RegionId>,
    /// Whether it stands for all maps out of a map of maps, whose address is the first word then.
    pub inner: bool,
}

/// A map that an instruction uses.
#[derive(Clone, Debug)]
pub(super) struct MapUse {
    pub def: MapDef,
    pub class: Class,
    pub layout: MapLayout,
    /// For a map out of a map of maps: which one.
    pub which: Option<Operand>,
    pub id: MapId,
    pub follow: Follow,
}

impl MapUse {
    /// How many elements it can hold, if the object says that: of maps in maps of maps, arrays alone
    /// have to be as large as the object says (`array_map_meta_equal`, `bpf_map_meta_equal`).
    pub fn fixed_size(&self) -> Option<u32> {
        let same = self.def.kind == MapKind::ARRAY && self.def.flags & INNER_MAP == 0;
        let open = self.def.max_entries == 0 || (self.which.is_some() && !same);
        (!open).then_some(self.def.max_entries)
    }

    /// How many elements there can be at the same time, if the object says that.
    pub fn most_elements(&self) -> Option<u32> {
        let size = self.fixed_size()?;
        Some(if self.per_cpu_lists() { size.saturating_add(MAX_CPUS - 1) } else { size })
    }

    /// Whether each CPU has a list of elements of its own (`BPF_F_NO_COMMON_LRU`): the number of
    /// elements is then rounded up to a multiple of the number of CPUs (`htab_map_alloc`).
    pub fn per_cpu_lists(&self) -> bool {
        const NO_COMMON_LRU: u32 = 1 << 1;
        self.evicts() && self.def.flags & NO_COMMON_LRU != 0
    }
}

/// Flag of arrays that need not be as large as others in the same map of maps (`BPF_F_INNER_MAP`).
const INNER_MAP: u32 = 1 << 12;

/// Largest `CONFIG_NR_CPUS`.
pub(super) const MAX_CPUS: u32 = 8192;

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
        (_, Class::Array) => Some(i32::MAX as u32),
        (_, Class::Hash | Class::Trie | Class::Queue) => Some(ALLOCATED),
        (_, Class::Places | Class::PlacesByKey | Class::Maps | Class::Programs) => Some(8),
        (_, Class::Stream) => None,
    }
}

fn class_of(def: &MapDef) -> Result<Class, Cause> {
    let known = MAP_KINDS.iter().find(|known| known.kind == def.kind);
    let known = known.ok_or_else(|| {
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
fn element_bits(def: &MapDef, class: Class) -> u8 {
    let bytes = match class {
        Class::Maps | Class::Programs => 8,
        _ => u64::from(def.value_size.max(8)),
    };
    bytes.next_power_of_two().trailing_zeros() as u8
}

impl Lifter<'_> {
    /// The map in an argument register of a call.
    pub(super) fn map_in(&mut self, register: u8) -> Result<MapUse, Cause> {
        let value = self.machine.value(register);
        match self.state.regs[usize::from(register)] {
            Known::Map(map) => {
                let def = self.map_def(map)?.clone();
                let class = class_of(&def)?;
                let name = def.name.clone();
                let layout = self.layout_of(&name, &def, class, false);
                let follow = self.plan.get(&name).cloned().unwrap_or_default();
                let id = MapId::of_object(map);
                Ok(MapUse { def, class, layout, which: None, id, follow })
            }
            Known::Inner(outer) => {
                let outer_def = self.map_def(outer)?;
                let Some(def) = outer_def.inner.as_deref().cloned() else {
                    let what =
                        format!("nothing says what the maps in {} look like", outer_def.name);
                    let hint = "define the inner map's type in the object (`__array(values, ...)`)";
                    return Err(Cause::new(what, hint));
                };
                let name = format!("{}.inner", outer_def.name);
                let class = class_of(&def)?;
                let layout = self.layout_of(&name, &def, class, true);
                let follow = self.plan.get(&name).cloned().unwrap_or_default();
                let id = MapId::out_of(outer);
                Ok(MapUse { def, class, layout, which: Some(value), id, follow })
            }
            _ => {
                let what = format!("which map the call uses (r{register}) differs between paths");
                let hint = "call the helper in each branch, with the map written out";
                Err(Cause::new(what, hint))
            }
        }
    }

    pub(super) fn map_def(&self, map: u32) -> Result<&MapDef, Cause> {
        let found = self.object.maps.get(map as usize);
        found.ok_or_else(|| Cause::new(format!("there is no map number {map}"), "is it damaged?"))
    }

    /// The address of the data of a section of global variables.
    pub(super) fn map_data(&mut self, map: u32) -> Result<Operand, Cause> {
        let def = self.map_def(map)?.clone();
        let class = class_of(&def)?;
        let layout = self.layout_of(&def.name, &def, class, false);
        if def.read_only
            && let Some(initial) = &def.initial
        {
            self.machine.regions[layout.values.index()].content = Some(initial.clone());
        }
        Ok(self.machine.base(layout.values))
    }

    fn layout_of(&mut self, name: &str, def: &MapDef, class: Class, inner: bool) -> MapLayout {
        let keying = match (class, def.key_size) {
            (_, _) if inner => Keying::Interned,
            (Class::Array | Class::Places, _) => Keying::Index,
            (Class::Maps, _) if def.kind == MapKind::ARRAY_OF_MAPS => Keying::Index,
            (_, 0..=4) => Keying::Number,
            _ => Keying::Interned,
        };
        let follow = self.plan.get(name).cloned().unwrap_or_default();
        let compared = matches!(&follow.prefixes, Some(Compared::Sites(_) | Compared::Last(_)));
        let values = self.machine.region(name, RegionKind::Map);
        let present = (!compared && !matches!(class, Class::Array | Class::Queue | Class::Stream))
            .then(|| self.machine.region(&format!("{name}.present"), RegionKind::Map));
        let identity = (!compared && matches!(class, Class::Trie | Class::Maps))
            .then(|| self.machine.region(&format!("{name}.identity"), RegionKind::Map));
        let moved = follow.places.then(|| self.zeroed(name, "moved"));
        let seen = (follow.seen || compared).then(|| self.zeroed(name, "seen"));
        let lengths =
            compared.then(|| self.machine.region(&format!("{name}.lengths"), RegionKind::Map));
        let fill = if inner { self.start_fill(def, name, &follow) } else { None };
        let differ = def.max_entries == 0 || def.flags & INNER_MAP != 0;
        let sizes = (inner && class == Class::Array && differ).then(|| self.start_sizes(name));
        let room = if class == Class::Queue {
            self.start_queue(def, name)
        } else if follow.seen || (follow.room.is_some() && !inner) {
            self.start_room(def, name, &follow)
        } else {
            None
        };
        let layout = MapLayout {
            name: name.to_owned(),
            kind: def.kind,
            max_entries: def.max_entries,
            key_size: def.key_size,
            value_size: def.value_size,
            keying,
            values,
            element_bits: element_bits(def, class),
            present,
            identity,
            moved,
            seen,
            lengths,
            room,
            fill,
            sizes,
            inner,
        };
        self.layouts.entry(name.to_owned()).or_insert(layout).clone()
    }

    /// Notes which maps are taken not to be reached through a map of maps as well: the two ways
    /// lead to different memory here.
    pub(super) fn assume_distinct_maps(&mut self) {
        let shape = |map: &MapLayout| (map.kind, map.key_size, map.value_size);
        let outer = |map: &MapLayout| map.name.trim_end_matches(".inner").to_owned();
        let mut inners = self.layouts.values().filter(|map| map.inner);
        while let Some(inner) = inners.next() {
            for other in inners.clone().filter(|other| shape(other) == shape(inner)) {
                let sentence =
                    format!("no map is both in {} and in {}", outer(inner), outer(other));
                self.assumptions.insert(sentence);
            }
            let alike = |map: &&MapLayout| !map.inner && shape(map) == shape(inner);
            for map in self.layouts.values().filter(alike) {
                let sentence = format!("map {} is not in {} as well", map.name, outer(inner));
                self.assumptions.insert(sentence);
            }
        }
    }
}
