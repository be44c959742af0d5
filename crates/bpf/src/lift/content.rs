//! What is known about the content of maps before the run: from `--maps`.

use std::collections::BTreeMap;

use slowpath_ir::{BinaryOp, Emit, Operand};

use super::emit::{Emitter, word};
use super::error::LiftError;
use super::machine::Machine;
use super::maps::{Keying, MapLayout, chunks};
use crate::maps::{MapDef, MapKind};

/// What a slot of a map holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EntryValue {
    /// A value; for per-CPU maps that of the CPU that runs the program.
    Bytes(Vec<u8>),
    /// A program of the object, by name.
    Program(String),
    /// A map of the object, by name.
    Map(String),
}

/// An element of a map.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MapEntry {
    /// As many bytes as the map's keys have.
    pub key: Vec<u8>,
    /// What it holds.
    pub value: EntryValue,
}

/// All elements of a map. Elements of arrays that are not here are zero; others do not exist.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MapContent {
    /// The elements.
    pub entries: Vec<MapEntry>,
}

/// Most bytes of one array that are kept.
const MAX_ARRAY_BYTES: u64 = 1 << 26;

/// Puts known contents into the regions of the maps in use: arrays as initial content, elements of
/// others by operations of the prologue.
pub(super) fn install(
    machine: &mut Machine,
    maps: &[MapDef],
    layouts: &BTreeMap<String, MapLayout>,
    contents: &BTreeMap<String, MapContent>,
) -> Result<(), LiftError> {
    for (name, content) in contents {
        let Some(layout) = layouts.get(name) else { continue };
        let Some(def) = maps.iter().find(|map| map.name == *name) else { continue };
        for entry in &content.entries {
            check(def, entry)?;
        }
        match layout.kind {
            MapKind::ARRAY | MapKind::PERCPU_ARRAY => array(machine, def, layout, content)?,
            MapKind::LPM_TRIE => array_of_entries(machine, layout, content),
            MapKind::QUEUE | MapKind::STACK => {
                let what = format!("--maps: map {name} of type {} cannot be given", layout.kind);
                let hint = "its content stays unconstrained without an entry in the file";
                return Err(LiftError::program(what, hint));
            }
            _ => elements(machine, maps, layout, content)?,
        }
    }
    Ok(())
}

fn check(def: &MapDef, entry: &MapEntry) -> Result<(), LiftError> {
    let name = &def.name;
    if entry.key.len() != def.key_size as usize {
        let what = format!(
            "--maps: map {name}: a key has {} bytes, not {}",
            entry.key.len(),
            def.key_size
        );
        return Err(LiftError::program(what, "keys have the size that the object says"));
    }
    if let EntryValue::Bytes(value) = &entry.value
        && value.len() != def.value_size as usize
    {
        let (given, size) = (value.len(), def.value_size);
        let what = format!("--maps: map {name}: a value has {given} bytes, not {size}");
        return Err(LiftError::program(what, "values have the size that the object says"));
    }
    Ok(())
}

fn array(
    machine: &mut Machine,
    def: &MapDef,
    layout: &MapLayout,
    content: &MapContent,
) -> Result<(), LiftError> {
    let bytes = array_bytes(def, layout, content)?;
    machine.regions[layout.values.index()].content = Some(bytes);
    Ok(())
}

/// The memory of an array with this content, from its first element on; zeros follow.
///
/// # Errors
/// [`LiftError`] when keys or values do not fit the map.
pub fn array_content(
    def: &MapDef,
    layout: &MapLayout,
    content: &MapContent,
) -> Result<Vec<u8>, LiftError> {
    for entry in &content.entries {
        check(def, entry)?;
    }
    array_bytes(def, layout, content)
}

fn array_bytes(
    def: &MapDef,
    layout: &MapLayout,
    content: &MapContent,
) -> Result<Vec<u8>, LiftError> {
    let mut bytes = Vec::new();
    for entry in &content.entries {
        let index = u64::from(index_of(&entry.key));
        let EntryValue::Bytes(value) = &entry.value else { continue };
        let start = index << layout.element_bits;
        let beyond = def.max_entries != 0 && index >= u64::from(def.max_entries);
        if beyond || start >= MAX_ARRAY_BYTES {
            let what = format!("--maps: map {}: index {index} is out of range", def.name);
            let hint = "indices are below `max_entries`, and the known part below 64 MiB";
            return Err(LiftError::program(what, hint));
        }
        let start = start as usize;
        if bytes.len() < start + value.len() {
            bytes.resize(start + value.len(), 0);
        }
        bytes[start..start + value.len()].copy_from_slice(value);
    }
    Ok(bytes)
}

/// The values of a trie's entries, in their order: look-ups say which.
fn array_of_entries(machine: &mut Machine, layout: &MapLayout, content: &MapContent) {
    let element = 1 << layout.element_bits;
    let mut bytes = vec![0; element * content.entries.len()];
    for (place, entry) in bytes.chunks_mut(element).zip(&content.entries) {
        if let EntryValue::Bytes(value) = &entry.value {
            place[..value.len()].copy_from_slice(value);
        }
    }
    machine.regions[layout.values.index()].content = Some(bytes);
}

fn index_of(key: &[u8]) -> u32 {
    let mut bytes = [0; 4];
    let known = key.len().min(4);
    bytes[..known].copy_from_slice(&key[..known]);
    u32::from_le_bytes(bytes)
}

fn elements(
    machine: &mut Machine,
    maps: &[MapDef],
    layout: &MapLayout,
    content: &MapContent,
) -> Result<(), LiftError> {
    let Some(present) = layout.present else { return Ok(()) };
    machine.regions[present.index()].content = Some(Vec::new());
    let (values, present) = (machine.base(layout.values), machine.base(present));
    for entry in &content.entries {
        let emit = &mut machine.emit;
        let number = number(emit, layout, &entry.key);
        let number = emit.zero_extend(number, 64);
        let byte = emit.binary(BinaryOp::Add, present, number);
        emit.store(byte, Operand::constant(8, 1));
        match &entry.value {
            EntryValue::Bytes(value) => {
                let shift = word(layout.element_bits.into());
                let start = emit.binary(BinaryOp::Shl, number, shift);
                let start = emit.add(values, start);
                for (offset, size) in chunks(layout.value_size) {
                    let mut bytes = [0; 8];
                    let piece = &value[offset as usize..][..usize::from(size)];
                    bytes[..piece.len()].copy_from_slice(piece);
                    let address = emit.add(start, word(offset));
                    let piece = Operand::constant(8 * size, u64::from_le_bytes(bytes));
                    emit.store(address, piece);
                }
            }
            EntryValue::Map(name) => {
                // Equal names are the same map.
                let which = maps.iter().position(|map| map.name == *name).ok_or_else(|| {
                    let what = format!("--maps: map {} holds {name}, which is no map", layout.name);
                    LiftError::program(what, "`slowpath show` lists the object's maps")
                })?;
                let Some(identity) = layout.identity else { continue };
                let base = machine.base(identity);
                let emit = &mut machine.emit;
                let offset = emit.binary(BinaryOp::Shl, number, word(2));
                let address = emit.add(base, offset);
                emit.store(address, Operand::constant(32, which as u64));
            }
            EntryValue::Program(_) => {}
        }
    }
    Ok(())
}

/// The number of the element with a known key.
fn number(emit: &mut Emitter, layout: &MapLayout, key: &[u8]) -> Operand {
    if layout.keying != Keying::Interned {
        return Operand::constant(32, index_of(key).into());
    }
    let mut words = key.chunks(8).map(|chunk| {
        let mut bytes = [0; 8];
        bytes[..chunk.len()].copy_from_slice(chunk);
        word(u64::from_le_bytes(bytes))
    });
    let (first, second) = (words.next().unwrap_or(word(0)), words.next().unwrap_or(word(0)));
    let mut number = emit.binary(BinaryOp::Intern, first, second);
    for next in words {
        let so_far = emit.zero_extend(number, 64);
        number = emit.binary(BinaryOp::Intern, so_far, next);
    }
    number
}
