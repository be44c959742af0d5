//! Converts the memory of a witness to map content for reports.

use super::support::FILL;
use crate::contents::{WHOLE, digits};
use crate::result::{
    self, ElementValue, Fill, HeldMap, MapContent, MapElement, Others, QueueElement,
};
use indexmap::IndexMap;
use slowpath_bpf::MapKind;
use slowpath_bpf::lift::{Element, EntryKeys, Layout, MapLayout, PartialValue, entry_keys};
use slowpath_exec::Executor;
use slowpath_exec::concrete::ByteMap;
use slowpath_ir::{InputId, RegionId, RegionKind};
use std::collections::{BTreeMap, HashMap};

type Bytes = BTreeMap<(RegionId, u64), u8>;

/// Memory that a witness depends on, with the data that is needed to read map entries from it.
pub(super) struct Memory<'a> {
    /// Bytes of memory before the run.
    pub bytes: &'a Bytes,
    /// Numbers by which the replay represents pairs of words (interned pairs), by pair.
    pub interned: &'a HashMap<(u64, u64), u32>,
    /// Inputs of the program that the witness depends on, with their values.
    pub inputs: &'a BTreeMap<InputId, u64>,
    /// Bytes that the program wrote in the replay.
    pub written: &'a ByteMap,
    /// Function that returns the address of a memory region in the replay.
    pub base: &'a dyn Fn(RegionId) -> u64,
}

/// Returns the content of maps of a BPF object as entries with keys and values, in the format of
/// `--maps`. Omits maps whose content the analysis already knew.
pub(super) fn of_layout(
    executor: &Executor,
    layout: &Layout,
    memory: &Memory<'_>,
) -> IndexMap<String, Vec<MapContent>> {
    let known = |region: RegionId| executor.program().regions[region.index()].content.is_some();
    let mut maps = IndexMap::new();
    let mut names = InnerNames::default();
    for map in outer_first(layout) {
        if known(map.present.or(map.prefix_lengths).unwrap_or(map.values)) {
            continue;
        }
        let elements = map.elements(&with_notes(map, memory), memory.interned);
        let outer = outer_of(layout, map);
        let free = map.free_elements.and_then(|room| memory.inputs.get(&room.free).copied());
        let mut entries: Vec<MapContent> = if is_queue(map) {
            in_order(map, &elements, free)
        } else {
            elements.iter().filter_map(|e| entry(map, e, outer, &mut names, memory)).collect()
        };
        if let Some(outer) = outer {
            entries.extend(whole_maps(map, &elements, outer, &mut names, memory));
        }
        if let (Some(room), Some(free)) = (map.free_elements, free) {
            let listed = if is_queue(map) {
                entries.len()
            } else {
                elements.iter().filter(|e| e.present == Some(true)).count()
            };
            let listed = listed as u64;
            let others = u64::from(room.max_entries).saturating_sub(free + listed);
            entries.push(MapContent::Others(Others { others }));
        }
        if !entries.is_empty() {
            maps.insert(map.name.clone(), entries);
        }
    }
    maps
}

/// Orders maps of maps before the inner maps that they contain.
fn outer_first(layout: &Layout) -> impl Iterator<Item = &MapLayout> {
    let (inner, outer): (Vec<_>, Vec<_>) = layout.maps.iter().partition(|map| map.inner);
    outer.into_iter().chain(inner)
}

/// Returns the map of maps that contains the inner maps whose layout is `inner`. Returns `None` if
/// `inner` is the layout of an ordinary map.
fn outer_of<'a>(layout: &'a Layout, inner: &MapLayout) -> Option<&'a MapLayout> {
    let name = inner.name.strip_suffix(".inner").filter(|_| inner.inner)?;
    layout.maps.iter().find(|map| map.name == name)
}

/// Returns the bytes of a map that the path depends on. Adds what the replay recorded about
/// accessed keys. If the bytes describe more elements than the map has room for, these records
/// decide which elements exist.
fn with_notes(map: &MapLayout, memory: &Memory<'_>) -> Bytes {
    let regions = [Some(map.values), map.present, map.identity];
    let mut bytes = Bytes::new();
    for region in regions.into_iter().flatten() {
        let inside = memory.bytes.range((region, 0)..=(region, u64::MAX));
        bytes.extend(inside.map(|(&place, &byte)| (place, byte)));
    }
    if let (Some(seen), Some(present)) = (map.first_access, map.present) {
        for (&(_, number), _) in memory.bytes.range((present, 0)..=(present, u64::MAX)) {
            if let Some(&note) = memory.written.get(&(seen, number)) {
                bytes.insert((seen, number), note);
            }
        }
    }
    if let (Some(seen), Some(_)) = (map.first_access, map.prefix_lengths) {
        // The notes say which entries of a trie look-ups have found.
        let notes = memory.written.iter().filter(|((region, _), _)| *region == seen);
        bytes.extend(notes.map(|(&place, &note)| (place, note)));
    }
    bytes
}

fn is_queue(map: &MapLayout) -> bool {
    entry_keys(map.kind) == EntryKeys::Order
}

/// Returns the values of a queue or stack in the order in which a program pops them. Leaves out the
/// values that the program pops after the last value that the path depends on.
fn in_order(map: &MapLayout, elements: &[Element], free: Option<u64>) -> Vec<MapContent> {
    let count = map.free_elements.map_or(0, |room| u64::from(room.max_entries) - free.unwrap_or(0));
    let of = |number: u64| elements.iter().find(|element| element.number == number);
    let known = || elements.iter().map(|element| element.number).filter(|&n| n < count);
    let numbers: Vec<u64> = if map.kind == MapKind::STACK {
        known().min().map_or_else(Vec::new, |first| (first..count).rev().collect())
    } else {
        known().max().map_or_else(Vec::new, |last| (0..=last).collect())
    };
    let unknown = || match map.value_size {
        0..=WHOLE => ElementValue::Whole("--".repeat(map.value_size as usize)),
        _ => ElementValue::Pieces(IndexMap::new()),
    };
    let value = |number| {
        let value = of(number).map_or_else(unknown, |element| value(&element.value));
        MapContent::Queued(QueueElement { value })
    };
    numbers.into_iter().map(value).collect()
}

/// Returns, for each inner map of a map of maps, the number of elements and the capacity that a
/// witness requires.
fn whole_maps(
    map: &MapLayout,
    elements: &[Element],
    outer: &MapLayout,
    names: &mut InnerNames,
    memory: &Memory<'_>,
) -> Vec<MapContent> {
    let mut numbers: BTreeMap<u64, u64> = BTreeMap::new();
    for (&(map_address, second), &number) in memory.interned {
        if second == 0 {
            numbers.insert(number.into(), map_address);
        }
    }
    // Bytes that the path does not depend on have the fill value of the replay.
    let noted = |region: RegionId, number: u64| {
        let byte = |n| memory.bytes.get(&(region, (number << 2) + n)).copied();
        (0..4)
            .any(|n| byte(n).is_some())
            .then(|| u32::from_le_bytes(std::array::from_fn(|n| byte(n as u64).unwrap_or(FILL))))
    };
    let mut entries = Vec::new();
    for (&number, &map_address) in &numbers {
        let (mut others, mut max_entries) = (None, None);
        if let Some(fill) = map.fill
            && let Some(noted) = noted(fill.used, number)
        {
            let inside =
                |e: &&Element| e.map_address == Some(map_address) && e.present == Some(true);
            let listed = elements.iter().filter(inside).count() as u32;
            // For this many free places, the map may have to be larger than in the object.
            let free = fill.max_entries.wrapping_sub(fill.elements(noted));
            let most = free.saturating_add(listed).max(fill.max_entries);
            others = Some(most - free - listed);
            max_entries = (most != fill.max_entries).then_some(most);
        }
        if let Some(noted) = map.sizes.and_then(|region| noted(region, number)) {
            max_entries = Some((noted ^ map.max_entries).max(1));
        }
        if others.is_some() || max_entries.is_some() {
            let place = map_address.wrapping_sub((memory.base)(outer.values)) >> outer.element_bits;
            let map = names.of(outer, Some(place));
            entries.push(MapContent::Fill(Fill { others, max_entries, map }));
        }
    }
    entries
}

/// Names of the inner maps of maps of maps, by memory region of the outer map and index of the
/// inner map.
#[derive(Default)]
struct InnerNames {
    known: BTreeMap<(RegionId, u64), String>,
    count: usize,
}

impl InnerNames {
    fn of(&mut self, outer: &MapLayout, number: Option<u64>) -> String {
        if let Some(name) = number.and_then(|number| self.known.get(&(outer.values, number))) {
            return name.clone();
        }
        self.count += 1;
        let name = format!("{}#{}", outer.name, self.count);
        if let Some(number) = number {
            self.known.insert((outer.values, number), name.clone());
        }
        name
    }
}

/// Converts an element of a map to an entry of the witness. The entry has a null value if the path
/// requires that the element is absent. Returns `None` if the path does not depend on the element.
fn entry(
    map: &MapLayout,
    element: &Element,
    outer: Option<&MapLayout>,
    names: &mut InnerNames,
    memory: &Memory<'_>,
) -> Option<MapContent> {
    let key = digits(element.key.as_ref()?);
    element.present?;
    let inside = element.map_address.zip(outer).map(|(address, outer)| {
        let number = address.wrapping_sub((memory.base)(outer.values)) >> outer.element_bits;
        names.of(outer, Some(number))
    });
    let exists = element.present == Some(true);
    Some(if exists && map.holds_maps() {
        MapContent::Held(HeldMap { key, map: names.of(map, element.inner_map) })
    } else {
        let value = exists.then(|| value(&element.value));
        MapContent::Element(MapElement { map: inside, key, value })
    })
}

/// Converts the value of an element. For a large value, the result has only the known bytes, by
/// their offsets.
fn value(value: &PartialValue) -> ElementValue {
    if value.size() > WHOLE {
        let pieces = value.runs().into_iter().map(|(at, bytes)| (at.to_string(), digits(&bytes)));
        return ElementValue::Pieces(pieces.collect());
    }
    let byte = |byte: Option<u8>| byte.map_or_else(|| "--".into(), |byte| format!("{byte:02x}"));
    ElementValue::Whole(value.iter().map(byte).collect())
}

/// Converts required bytes of memory without keys to map content: for each region, ranges of
/// adjacent bytes.
pub(super) fn of_regions(executor: &Executor, bytes: &Bytes) -> IndexMap<String, Vec<MapContent>> {
    let mut maps = IndexMap::new();
    for (index, region) in executor.program().regions.iter().enumerate() {
        if region.kind == RegionKind::Map {
            let stretches = stretches(RegionId::from(index), bytes);
            if !stretches.is_empty() {
                maps.insert(region.name.clone(), stretches);
            }
        }
    }
    maps
}

fn stretches(region: RegionId, bytes: &Bytes) -> Vec<MapContent> {
    let mut stretches: Vec<(u64, String, u64)> = Vec::new();
    for (&(_, offset), byte) in bytes.iter().filter(|((r, _), _)| *r == region) {
        match stretches.last_mut() {
            Some((_, hex, end)) if *end == offset => {
                hex.push_str(&format!("{byte:02x}"));
                *end += 1;
            }
            _ => stretches.push((offset, format!("{byte:02x}"), offset + 1)),
        }
    }
    let entry = |(offset, bytes, _)| MapContent::Memory(result::Memory { offset, bytes });
    stretches.into_iter().map(entry).collect()
}
