//! Reads maps that are defined by structures in a section `maps`, the form used before BTF.
//!
//! Each tool has its own structure, with different sizes in bytes (libbpf 20, kernel samples 28,
//! iproute2 36, gobpf 276). All start with type, key size, value size and number of elements;
//! nearly all continue with flags. Later fields are read in two cases only: for iproute2 (id,
//! pinning, inner id, inner index), and for maps of maps of the kernel samples (index of the inner
//! map).

use super::def::MapDef;
use super::kind::MapKind;
use super::table::{Numbers, PlacedMap};
use crate::ObjectError;
use crate::elf::{Elf, SymbolKind};
use crate::error::DAMAGED;

/// Size of iproute2's `struct bpf_elf_map` in bytes.
const IPROUTE2: u64 = 36;

/// Pinning value of iproute2 for maps that only programs of one object share.
const PIN_OBJECT_NS: u32 = 1;
/// Value of [`MapDef::pinning`] that stands for [`PIN_OBJECT_NS`], because [`super::PIN_BY_NAME`]
/// is 1 as well. No loader uses this value.
const OWN_PIN: u32 = u32::MAX;

/// Reads the maps that a legacy section defines, given by its index, and appends them to `maps`.
pub(super) fn read(elf: &Elf, index: usize, maps: &mut Vec<PlacedMap>) -> Result<(), ObjectError> {
    let section = &elf.sections[index];
    let mut symbols: Vec<_> = elf
        .symbols
        .iter()
        .filter(|s| s.section() == Some(index) && !s.name.is_empty())
        .filter(|s| matches!(s.kind, SymbolKind::Object | SymbolKind::Untyped))
        // In old objects, symbols have no size, and the symbol table contains labels, which are
        // local.
        .filter(|s| s.size > 0 || s.global)
        .collect();
    symbols.sort_by_key(|s| s.value);
    symbols.dedup_by_key(|s| s.value);
    for (i, symbol) in symbols.iter().enumerate() {
        let end = symbols.get(i + 1).map_or(section.data.len() as u64, |next| next.value);
        let size = if symbol.size > 0 { symbol.size } else { end.saturating_sub(symbol.value) };
        let words = words(section.data, symbol.value, size).ok_or_else(|| {
            let text = "the definition of the map reaches beyond its section";
            ObjectError::map(symbol.name.as_str(), text, DAMAGED)
        })?;
        if words.len() < 4 {
            let text = format!("the definition of the map has {size} bytes, but needs at least 16");
            return Err(ObjectError::map(
                symbol.name.as_str(),
                text,
                "define the map in section \
                 .maps instead",
            ));
        }
        let word = |i: usize| words.get(i).copied().unwrap_or(0);
        let kind = MapKind(word(0));
        let (pinning, numbered) = if size == IPROUTE2 {
            let pinning = if word(6) == PIN_OBJECT_NS { OWN_PIN } else { word(6) };
            (pinning, Some(Numbers::Id { id: word(5), inner: word(7) }))
        } else if kind.holds_maps() && words.len() >= 6 {
            (0, Some(Numbers::Index { inner: word(5) }))
        } else {
            (0, None)
        };
        let def = MapDef {
            kind,
            key_size: word(1),
            value_size: word(2),
            max_entries: word(3),
            flags: word(4),
            pinning,
            ..MapDef::new(&symbol.name)
        };
        maps.push(PlacedMap { def, section: index, offset: symbol.value, values: None, numbered });
    }
    Ok(())
}

fn words(data: &[u8], offset: u64, size: u64) -> Option<Vec<u32>> {
    let start = usize::try_from(offset).ok()?;
    let bytes = data.get(start..start.checked_add(usize::try_from(size).ok()?)?)?;
    let (chunks, _) = bytes.as_chunks::<4>();
    Some(chunks.iter().map(|chunk| u32::from_le_bytes(*chunk)).collect())
}

/// Copies the definition of the inner maps into each map of maps, which refers to its inner map by
/// a number ([`Numbers`]).
pub(super) fn connect(maps: &mut [PlacedMap]) {
    for i in 0..maps.len() {
        let map = &maps[i];
        if !map.def.kind.holds_maps() {
            continue;
        }
        let inner = match map.numbered {
            Some(Numbers::Id { inner, .. }) => maps.iter().find(|other| {
                inner != 0 && matches!(other.numbered, Some(Numbers::Id { id, .. }) if id == inner)
            }),
            Some(Numbers::Index { inner }) => maps.get(inner as usize),
            None => None,
        };
        let inner = inner.filter(|other| !other.def.kind.holds_maps()).map(|m| m.def.clone());
        maps[i].def.inner = inner.map(Box::new);
    }
}
