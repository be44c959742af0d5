//! Maps as memory regions.
//!
//! The values of a map are one region; an element's number is its place in it. Numbers are indices
//! (arrays), the keys themselves (keys of up to 4 bytes), or stand for the key's words
//! ([`BinaryOp::Intern`]): equal keys have equal numbers, different ones have different ones.
//! Elements are a power of two apart, so that addresses say which element and which byte in it.
//! Whether an element exists is a byte in a second region. What user space may have put into a map
//! is the unknown initial content of both.

use slowpath_ir::{BinaryOp, Emit, InputKind, Op, Operand, Reading, RegionId, RegionKind};

use super::emit::word;
use super::error::Cause;
use super::lifter::Lifter;
use super::value::Known;
use crate::insn::Register;
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
    support(MapKind::HASH, Class::Hash, "an insertion may find the map full"),
    support(MapKind::ARRAY, Class::Array, "look-ups below max_entries never fail"),
    support(MapKind::PROG_ARRAY, Class::Programs, "slots that are known are followed"),
    support(MapKind::PERF_EVENT_ARRAY, Class::Stream, "output may fail"),
    support(MapKind::PERCPU_HASH, Class::Hash, "the value of the CPU that runs the program"),
    support(MapKind::PERCPU_ARRAY, Class::Array, "the value of the CPU that runs the program"),
    support(MapKind::LRU_HASH, Class::Hash, "elements that a run has used are not evicted in it"),
    support(MapKind::LRU_PERCPU_HASH, Class::Hash, "as lru_hash and percpu_hash"),
    support(MapKind::LPM_TRIE, Class::Trie, "two keys may find the same element; look-ups only"),
    support(MapKind::ARRAY_OF_MAPS, Class::Maps, "two slots may hold the same map"),
    support(MapKind::HASH_OF_MAPS, Class::Maps, "two keys may hold the same map"),
    support(MapKind::DEVMAP, Class::Places, "redirection to an empty slot fails"),
    support(MapKind::DEVMAP_HASH, Class::PlacesByKey, "redirection to an absent key fails"),
    support(MapKind::CPUMAP, Class::Places, "redirection to an empty slot fails"),
    support(MapKind::XSKMAP, Class::Places, "redirection to an empty slot fails"),
    support(MapKind::QUEUE, Class::Queue, "what comes out is any value"),
    support(MapKind::STACK, Class::Queue, "what comes out is any value"),
    support(MapKind::RINGBUF, Class::Stream, "reservation and output may fail"),
];

/// Where a map's elements are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MapLayout {
    /// Its name; maps out of a map of maps are called `OUTER.inner` together.
    pub name: String,
    /// Its type.
    pub kind: MapKind,
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
    which: Option<Operand>,
}

impl MapUse {
    /// How many elements it can hold, if the object says that.
    pub fn fixed_size(&self) -> Option<u32> {
        /// Flag of arrays that need not be as large as others in the same map of maps
        /// (`BPF_F_INNER_MAP`).
        const INNER_MAP: u32 = 1 << 12;
        let differs = self.class != Class::Array || self.def.flags & INNER_MAP != 0;
        let open = self.def.max_entries == 0 || (self.which.is_some() && differs);
        (!open).then_some(self.def.max_entries)
    }
}

/// An element of a map.
#[derive(Clone, Copy, Debug)]
pub(super) struct Element {
    /// Whether there can be such an element; `None` if there always can.
    pub in_range: Option<Operand>,
    /// Its number, 32 bits.
    pub number: Operand,
}

/// Most bytes of a key (`MAX_BPF_STACK`).
const MAX_KEY_BYTES: u32 = 512;

fn class_of(def: &MapDef) -> Result<Class, Cause> {
    let known = MAP_KINDS.iter().find(|known| known.kind == def.kind);
    let known = known.ok_or_else(|| {
        let hint = "docs/support.md lists the types of maps that are";
        Cause::new(format!("map {} of type {} is not supported", def.name, def.kind), hint)
    })?;
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

/// How many low bits tell the indices below `max_entries` apart.
fn index_bits(max_entries: u32) -> u8 {
    (32 - max_entries.saturating_sub(1).leading_zeros()) as u8
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
                Ok(MapUse { def, class, layout, which: None })
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
                Ok(MapUse { def, class, layout, which: Some(value) })
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
        let values = self.machine.region(name, RegionKind::Map);
        let present = (class != Class::Array)
            .then(|| self.machine.region(&format!("{name}.present"), RegionKind::Map));
        let identity = matches!(class, Class::Trie | Class::Maps)
            .then(|| self.machine.region(&format!("{name}.identity"), RegionKind::Map));
        let layout = MapLayout {
            name: name.to_owned(),
            kind: def.kind,
            key_size: def.key_size,
            value_size: def.value_size,
            keying,
            values,
            element_bits: element_bits(def, class),
            present,
            identity,
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

    /// The element for the key at an address.
    pub(super) fn element(&mut self, map: &MapUse, key: Operand) -> Element {
        let indexed = map.layout.keying == Keying::Index
            || (map.which.is_some() && matches!(map.class, Class::Array | Class::Places));
        if indexed {
            let index = self.machine.emit.load(key, 4);
            return self.element_at(map, index);
        }
        let words = self.words(key, map.def.key_size);
        let number = match (map.layout.keying, &words[..]) {
            (Keying::Number, [word]) => self.machine.emit.extract(*word, 0, 32),
            _ => self.interned(map.which, &words),
        };
        Element { in_range: None, number }
    }

    /// The element with an index of 32 bits, for maps with indices as keys.
    pub(super) fn element_at(&mut self, map: &MapUse, index: Operand) -> Element {
        let size = self.size(map);
        let emit = &mut self.machine.emit;
        let in_range = emit.ult(index, size);
        // In range, the bits above are zero.
        let bits = map.fixed_size().map_or(32, index_bits);
        let number = match bits {
            0 => Operand::constant(32, 0),
            _ => {
                let low = emit.extract(index, 0, bits);
                emit.zero_extend(low, 32)
            }
        };
        let number = match map.which {
            None => number,
            Some(which) => {
                let word = self.machine.emit.zero_extend(number, 64);
                self.interned(Some(which), &[word])
            }
        };
        Element { in_range: Some(in_range), number }
    }

    /// How many elements a map can hold, 32 bits: what its loader chooses, if the object does not
    /// say it.
    pub(super) fn size(&mut self, map: &MapUse) -> Operand {
        const MAX_ENTRIES: u64 = u32::MAX as u64;
        if let Some(size) = map.fixed_size() {
            return Operand::constant(32, size.into());
        }
        if map.which.is_some() {
            // Different ones have different sizes.
            let what = format!("max_entries of the map out of {}", map.def.name);
            return self.machine.emit.draw(&what, Reading::Number, 32, MAX_ENTRIES);
        }
        let name = format!("max_entries of {}", map.def.name);
        let size = self.machine.input(&name, 32, 1, MAX_ENTRIES, InputKind::Unknown);
        self.machine.emit.unknown_input(size, 32)
    }

    /// The element whose key is a number of at most 4 bytes, or an index.
    pub(super) fn element_of_number(&mut self, map: &MapUse, number: Operand) -> Element {
        match map.layout.keying {
            Keying::Index => self.element_at(map, number),
            _ => Element { in_range: None, number },
        }
    }

    /// The number that stands for words, and for the map they are a key of.
    fn interned(&mut self, which: Option<Operand>, words: &[Operand]) -> Operand {
        let emit = &mut self.machine.emit;
        let all: Vec<Operand> = which.into_iter().chain(words.iter().copied()).collect();
        let second = all.get(1).copied().unwrap_or(word(0));
        let first = all.first().copied().unwrap_or(word(0));
        let mut number = emit.binary(BinaryOp::Intern, first, second);
        for &next in all.iter().skip(2) {
            let so_far = emit.zero_extend(number, 64);
            number = emit.binary(BinaryOp::Intern, so_far, next);
        }
        number
    }

    /// The 8-byte words of some bytes in memory; the last one is filled up with zeros.
    fn words(&mut self, address: Operand, bytes: u32) -> Vec<Operand> {
        let mut words = Vec::new();
        for (offset, size) in chunks(bytes) {
            let at = self.machine.emit.add(address, word(offset));
            let part = self.machine.emit.load(at, size);
            words.push(self.machine.emit.zero_extend(part, 64));
        }
        words
    }

    /// Whether an element exists.
    pub(super) fn exists(&mut self, map: &MapUse, element: Element) -> Operand {
        let emit = &mut self.machine.emit;
        let Some(present) = map.layout.present else {
            return element.in_range.unwrap_or(Operand::constant(1, 1));
        };
        let offset = emit.zero_extend(element.number, 64);
        let base = self.machine.regions[present.index()].base;
        let address = emit.binary(BinaryOp::Add, base, offset);
        let byte = emit.load(address, 1);
        let absent = emit.eq(byte, Operand::constant(8, 0));
        let exists = emit.not(absent);
        match element.in_range {
            Some(in_range) => emit.and(in_range, exists),
            None => exists,
        }
    }

    /// Makes an element exist, or not, if the condition holds.
    pub(super) fn set_exists(
        &mut self,
        map: &MapUse,
        element: Element,
        cond: Operand,
        exists: bool,
    ) {
        let Some(present) = map.layout.present else { return };
        let offset = self.machine.emit.zero_extend(element.number, 64);
        let base = self.machine.base(present);
        let address = self.machine.emit.add(base, offset);
        let value = Operand::constant(8, exists.into());
        self.machine.emit.store_if(cond, address, value);
    }

    /// The address of an element's value.
    pub(super) fn value_address(&mut self, map: &MapUse, number: Operand) -> Operand {
        let base = self.machine.base(map.layout.values);
        let emit = &mut self.machine.emit;
        if let Operand::Const { value, .. } = number {
            return emit.add(base, word(value << map.layout.element_bits));
        }
        let wide = emit.zero_extend(number, 64);
        let bits = word(map.layout.element_bits.into());
        let offset = emit.binary(BinaryOp::Shl, wide, bits);
        emit.add(base, offset)
    }

    /// The place of an element's value: the element's own, unless different elements may be the
    /// same.
    pub(super) fn place(&mut self, map: &MapUse, element: Element) -> Operand {
        let Some(identity) = map.layout.identity else { return element.number };
        let base = self.machine.base(identity);
        let emit = &mut self.machine.emit;
        let wide = emit.zero_extend(element.number, 64);
        let offset = emit.binary(BinaryOp::Shl, wide, word(2));
        let address = emit.add(base, offset);
        emit.load(address, 4)
    }

    /// Copies bytes if the condition holds.
    pub(super) fn copy_if(&mut self, cond: Operand, to: Operand, from: Operand, bytes: u32) {
        for (offset, size) in chunks(bytes) {
            let emit = &mut self.machine.emit;
            let source = emit.add(from, word(offset));
            let value = emit.load(source, size);
            let destination = emit.add(to, word(offset));
            emit.store_if(cond, destination, value);
        }
    }

    /// Bytes, which the current instruction writes to what is called so, become anything.
    pub(super) fn havoc(&mut self, address: Operand, bytes: u32, what: &str) {
        for (offset, size) in chunks(bytes) {
            let last = offset + u64::from(size) - 1;
            let part = match bytes {
                0..=8 => what.to_owned(),
                _ => format!("bytes {offset} to {last} of {what}"),
            };
            let destination = self.machine.emit.add(address, word(offset));
            self.havoc_as(destination, size, &part, Reading::Bytes);
        }
    }

    /// At most 8 bytes, which the current instruction writes to what is called so, become anything,
    /// which is written so in reports.
    pub(super) fn havoc_as(&mut self, address: Operand, size: u8, what: &str, reading: Reading) {
        let max = u64::MAX >> (64 - 8 * u32::from(size));
        let any = self.machine.emit.draw(what, reading, 8 * size, max);
        self.machine.emit.store(address, any);
    }

    /// Sets `r0`.
    pub(super) fn result(&mut self, value: Operand, known: Known) {
        let reg = self.machine.reg(Register::R0.number());
        self.machine.emit.push(Op::Copy { dst: reg, src: value });
        self.state.regs[0] = known;
    }
}

/// Offsets and sizes of the pieces of at most 8 bytes that some bytes consist of.
pub(super) fn chunks(bytes: u32) -> impl Iterator<Item = (u64, u8)> {
    (0..bytes).step_by(8).map(move |offset| (offset.into(), (bytes - offset).min(8) as u8))
}
