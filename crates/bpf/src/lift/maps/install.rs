//! Writes known map content to the memory of the lifted program. The content of arrays becomes the
//! initial content of their regions. Operations before the first instruction store the elements of
//! other maps.

use slowpath_codes as codes;
use std::collections::{BTreeMap, BTreeSet};

use slowpath_ir::{BinaryOp, Emit, Operand};

use crate::lift::content::{EntryValue, InnerContent, MAX_CONTENT_BYTES, MapContent, MapEntry};
use crate::lift::error::LiftError;
use crate::lift::ir::builder::IrBuilder;
use crate::lift::ir::emit::{Emitter, word};
use crate::lift::layout::memory::{Keying, MapLayout, chunks};
use crate::maps::{MapDef, MapKind};

/// Writes the contents that the options give to the memory of the used maps.
pub(in crate::lift) fn install(
    ir: &mut IrBuilder,
    maps: &[MapDef],
    layouts: &BTreeMap<String, MapLayout>,
    contents: &BTreeMap<String, MapContent>,
) -> Result<(), LiftError> {
    let names = MapNumbers::of(maps, contents);
    for (name, content) in contents {
        let Some(layout) = layouts.get(name) else { continue };
        let outer = name.strip_suffix(".inner").filter(|_| layout.inner);
        let Some(def) = maps.iter().find(|map| map.name == outer.unwrap_or(name)) else { continue };
        // Read-only data has the content that the object and its loader give it.
        if def.read_only && def.initial.is_some() {
            continue;
        }
        let def = if layout.inner { def.inner.as_deref().unwrap_or(def) } else { def };
        for entry in &content.entries {
            check(def, entry)?;
        }
        match layout.kind {
            MapKind::LPM_TRIE => in_order(ir, layout, content)?,
            _ if layout.inner => {
                let outer = outer.and_then(|outer| layouts.get(outer));
                elements(ir, layout, content, &names, outer);
                if let Some(outer) = outer {
                    sizes(ir, (def, layout), content, &names, outer);
                }
            }
            MapKind::ARRAY | MapKind::PERCPU_ARRAY => {
                let bytes = array_content(def, layout, content)?;
                ir.regions[layout.values.index()].content = Some(bytes);
            }
            MapKind::QUEUE => in_order(ir, layout, content)?,
            MapKind::STACK => {
                // The oldest element of a stack has number 0.
                let mut entries = content.entries.clone();
                entries.reverse();
                let value = EntryValue::Bytes(Vec::new());
                let other = MapEntry { key: Vec::new(), value };
                let others = usize::try_from(content.others).unwrap_or(usize::MAX);
                if others as u64 > MAX_CONTENT_BYTES >> layout.element_bits {
                    return Err(too_large(layout));
                }
                entries.splice(0..0, std::iter::repeat_n(other, others));
                in_order(ir, layout, &MapContent { entries, ..MapContent::default() })?;
            }
            _ => elements(ir, layout, content, &names, None),
        }
    }
    Ok(())
}

fn check(def: &MapDef, entry: &MapEntry) -> Result<(), LiftError> {
    let name = &def.name;
    if entry.key.len() != def.key_size as usize {
        let text = format!("map {name}: a key has {} bytes, not {}", entry.key.len(), def.key_size);
        return Err(LiftError::content(
            codes::MAPS_DO_NOT_FIT,
            text,
            "write keys of the size that the object states",
        ));
    }
    if let Some(value) = entry.value.bytes()
        && value.len() > def.value_size as usize
    {
        let (given, size) = (value.len(), def.value_size);
        let text = format!("map {name}: a value has {given} bytes, more than {size}");
        return Err(LiftError::content(
            codes::MAPS_DO_NOT_FIT,
            text,
            "write values of the size that the object states",
        ));
    }
    Ok(())
}

/// Returns the bytes of memory that represent an array with this content, without trailing zeros.
///
/// # Errors
/// [`LiftError`] if keys or values do not fit the map.
pub fn array_content(
    def: &MapDef,
    layout: &MapLayout,
    content: &MapContent,
) -> Result<Vec<u8>, LiftError> {
    let mut bytes = Vec::new();
    for entry in &content.entries {
        check(def, entry)?;
        let index = u64::from(index_of(&entry.key));
        let EntryValue::Bytes(value) = &entry.value else { continue };
        let start = index << layout.element_bits;
        let beyond = def.max_entries != 0 && index >= u64::from(def.max_entries);
        if beyond || start.saturating_add(value.len() as u64) > MAX_CONTENT_BYTES {
            let text = format!("map {}: index {index} is out of range", def.name);
            let hint = "write an index below `max_entries`, within the first 64 MiB";
            return Err(LiftError::content(codes::MAPS_DO_NOT_FIT, text, hint));
        }
        let start = start as usize;
        if bytes.len() < start + value.len() {
            bytes.resize(start + value.len(), 0);
        }
        bytes[start..start + value.len()].copy_from_slice(value);
    }
    Ok(bytes)
}

fn too_large(layout: &MapLayout) -> LiftError {
    let text = format!("map {}: too many large values", layout.name);
    LiftError::content(codes::MAPS_DO_NOT_FIT, text, "slowpath keeps at most 64 MiB of a map")
}

/// Stores the values of map entries at positions 0, 1 and so on, in the order of the list. Used for
/// queues, and for tries, in which lookups return the position of an entry.
fn in_order(ir: &mut IrBuilder, layout: &MapLayout, content: &MapContent) -> Result<(), LiftError> {
    let mut bytes = Vec::new();
    for (place, entry) in (0u64..).zip(&content.entries) {
        let Some(value) = entry.value.bytes() else { continue };
        let start = place << layout.element_bits;
        if start.saturating_add(value.len() as u64) > MAX_CONTENT_BYTES {
            return Err(too_large(layout));
        }
        bytes.resize(start as usize, 0);
        bytes.extend(value);
    }
    ir.regions[layout.values.index()].content = Some(bytes);
    Ok(())
}

fn index_of(key: &[u8]) -> u32 {
    let mut bytes = [0; 4];
    let known = key.len().min(4);
    bytes[..known].copy_from_slice(&key[..known]);
    u32::from_le_bytes(bytes)
}

/// Numbers of the maps that maps of maps can contain: first the maps of the object by index, then
/// maps outside the object by name.
pub(in crate::lift) struct MapNumbers<'a> {
    maps: &'a [MapDef],
    others: BTreeSet<&'a str>,
}

impl<'a> MapNumbers<'a> {
    pub(in crate::lift) fn of(
        maps: &'a [MapDef],
        contents: &'a BTreeMap<String, MapContent>,
    ) -> Self {
        let entries = contents.values().flat_map(|content| &content.entries);
        let named = entries.filter_map(|entry| match &entry.value {
            EntryValue::Map(name) | EntryValue::Inner { map: name, .. } => Some(name.as_str()),
            EntryValue::Bytes(_) | EntryValue::Program(_) => None,
        });
        let sized = contents.values().flat_map(|content| content.inner.keys());
        let named = named.chain(sized.map(String::as_str));
        let others = named.filter(|&name| maps.iter().all(|map| map.name != name)).collect();
        MapNumbers { maps, others }
    }

    /// Returns the number of the map with this name; equal names denote the same map.
    pub(in crate::lift) fn number(&self, name: &str) -> u64 {
        let number = self.maps.iter().position(|map| map.name == name).unwrap_or_else(|| {
            self.maps.len() + self.others.iter().take_while(|&&other| other < name).count()
        });
        number as u64
    }
}

/// Emits operations that store the elements of a map. If `layout` represents the inner maps of a
/// map of maps, `outer` is this map of maps.
fn elements(
    ir: &mut IrBuilder,
    layout: &MapLayout,
    content: &MapContent,
    names: &MapNumbers<'_>,
    outer: Option<&MapLayout>,
) {
    if let Some(present) = layout.present {
        ir.regions[present.index()].content = Some(Vec::new());
    }
    ir.regions[layout.values.index()].content = Some(Vec::new());
    for entry in &content.entries {
        let map_address = match (&entry.value, outer) {
            (EntryValue::Inner { map, .. }, Some(outer)) => {
                let place = names.number(map) << outer.element_bits;
                let base = ir.base(outer.values);
                Some(ir.emit.add(base, word(place)))
            }
            _ => None,
        };
        let number = number(&mut ir.emit, layout, map_address, &entry.key);
        let number = ir.emit.zero_extend(number, 64);
        if let Some(present) = layout.present {
            let present = ir.base(present);
            let byte = ir.emit.binary(BinaryOp::Add, present, number);
            ir.emit.store(byte, Operand::constant(8, 1));
        }
        if let Some(value) = entry.value.bytes() {
            let start = ir.item(layout.values, number, layout.element_bits.into());
            for (offset, size) in chunks(value.len() as u32) {
                let mut bytes = [0; 8];
                let piece = &value[offset as usize..][..usize::from(size)];
                if piece.iter().all(|&byte| byte == 0) {
                    continue; // the whole region is zero
                }
                bytes[..piece.len()].copy_from_slice(piece);
                let address = ir.emit.add(start, word(offset));
                let piece = Operand::constant(8 * size, u64::from_le_bytes(bytes));
                ir.emit.store(address, piece);
            }
        }
        if let (EntryValue::Map(name), Some(identity)) = (&entry.value, layout.identity) {
            let address = ir.item(identity, number, 2);
            ir.emit.store(address, Operand::constant(32, names.number(name)));
        }
    }
}

/// Emits operations that store, for each inner map of `outer`, its initial number of elements and
/// its size.
fn sizes(
    ir: &mut IrBuilder,
    (def, layout): (&MapDef, &MapLayout),
    content: &MapContent,
    names: &MapNumbers<'_>,
    outer: &MapLayout,
) {
    let mut listed: BTreeMap<&str, u64> = BTreeMap::new();
    for entry in &content.entries {
        if let EntryValue::Inner { map, .. } = &entry.value {
            *listed.entry(map).or_default() += 1;
        }
    }
    content.inner.keys().for_each(|name| _ = listed.entry(name).or_default());
    for (name, listed) in listed {
        let InnerContent { others: unlisted, max_entries } =
            content.inner.get(name).copied().unwrap_or_default();
        let size = max_entries.unwrap_or(def.max_entries);
        let missing = size.wrapping_sub(def.max_entries);
        let used = (listed.saturating_add(unlisted) as u32).wrapping_sub(missing);
        let stored =
            [(layout.fill.map(|fill| fill.used), used), (layout.sizes, size ^ def.max_entries)];
        for (region, value) in stored {
            let Some(region) = region else { continue };
            let (base, place) = (ir.base(outer.values), names.number(name));
            let map_address = ir.emit.add(base, word(place << outer.element_bits));
            let number = ir.emit.binary(BinaryOp::Intern, map_address, word(0));
            let address = ir.item(region, number, 2);
            ir.emit.store(address, Operand::constant(32, value.into()));
        }
    }
}

/// Returns the number of the element with a known key. If `layout` represents all inner maps of a
/// map of maps, `map_address` is the address of the inner map that contains the element.
fn number(
    emit: &mut Emitter,
    layout: &MapLayout,
    map_address: Option<Operand>,
    key: &[u8],
) -> Operand {
    if layout.keying != Keying::Interned {
        return Operand::constant(32, index_of(key).into());
    }
    let words = key.chunks(8).map(|chunk| {
        let mut bytes = [0; 8];
        bytes[..chunk.len()].copy_from_slice(chunk);
        word(u64::from_le_bytes(bytes))
    });
    emit.interned(map_address, &words.collect::<Vec<_>>())
}
