//! Reads the initial elements that an object file gives for its maps. For program arrays and maps
//! of maps, these are relocations in `.maps`. With iproute2, a program in the section `MAP/SLOT` is
//! the element `SLOT` of the map `MAP`.

use super::def::SlotRef;
use super::table::{MapTable, Numbers};
use crate::ObjectError;
use crate::elf::Elf;

/// Size in bytes of a pointer in a map's list of initial elements (`values`).
const POINTER: u64 = 8;

pub(super) fn from_relocations(
    table: &mut MapTable,
    elf: &Elf,
    program: &dyn Fn(usize, u64) -> Option<usize>,
) -> Result<(), ObjectError> {
    for (index, section) in elf.sections.iter().enumerate() {
        if section.name != ".maps" {
            continue;
        }
        for relocation in &section.relocations {
            let symbol = &elf.symbols[relocation.symbol];
            let holder = table.maps.iter().position(|map| {
                map.section == index
                    && map.values.is_some_and(|(a, b)| (a..b).contains(&relocation.offset))
            });
            let Some(holder) = holder else {
                let text =
                    format!("a relocation at {} is outside the values of maps", relocation.offset);
                return Err(ObjectError::section(".maps", text, crate::error::DAMAGED));
            };
            let map = &table.maps[holder];
            let start = map.values.map_or(0, |(start, _)| start);
            let slot = (relocation.offset - start) / POINTER;
            let target = symbol.section().and_then(|section| {
                let offset = symbol.value.wrapping_add_signed(relocation.addend);
                if map.def.kind.holds_maps() {
                    table.defined_at(section, offset).map(SlotRef::Map)
                } else {
                    program(section, offset).map(SlotRef::Program)
                }
            });
            let (Some(target), Ok(slot)) = (target, u32::try_from(slot)) else {
                let text = format!("slot {slot} holds `{}`", symbol.name);
                let hint = "a slot holds a map or a program of the same object";
                return Err(ObjectError::map(map.def.name.as_str(), text, hint));
            };
            let def = &mut table.maps[holder].def;
            def.slots.push((slot, target));
            def.max_entries = def.max_entries.max(slot.saturating_add(1));
        }
    }
    Ok(())
}

/// Adds programs whose section names have the form `MAP/SLOT` to the program array `MAP`.
/// `programs` contains the section names of all programs.
pub(super) fn from_section_names(table: &mut MapTable, programs: &[&str]) {
    for (program, section) in programs.iter().enumerate() {
        let Some((map, slot)) = section.split_once('/') else { continue };
        let (Ok(wanted), Ok(slot)) = (number(map), number(slot)) else { continue };
        let holder = table.maps.iter_mut().find(|map| {
            map.def.kind == super::MapKind::PROG_ARRAY
                && matches!(map.numbered, Some(Numbers::Id { id, .. }) if id == wanted)
        });
        if let Some(map) = holder {
            map.def.slots.push((slot, SlotRef::Program(program)));
        }
    }
}

/// Sorts the initial elements of each map by index. If an index has several values, keeps the first
/// one.
pub(super) fn sort(table: &mut MapTable) {
    for map in &mut table.maps {
        map.def.slots.sort_by_key(|(slot, _)| *slot);
        map.def.slots.dedup_by_key(|(slot, _)| *slot);
    }
}

fn number(text: &str) -> Result<u32, std::num::ParseIntError> {
    match text.strip_prefix("0x") {
        Some(hex) => u32::from_str_radix(hex, 16),
        None => text.parse(),
    }
}
