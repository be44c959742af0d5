//! Output as a BPF object with maps in iproute2's format: structures in section `maps`, which also
//! define the content of maps of maps.

use object::write::{Object, Relocation, SectionId, Symbol, SymbolId, SymbolSection};
use object::{
    Architecture, BinaryFormat, Endianness, RelocationFlags, SectionKind, SymbolFlags, SymbolKind,
    SymbolScope,
};
use slowpath_bpf::MapKind;
use slowpath_bpf::insn::{Imm64, Insn, encode};

use super::layout::{RESULTS, key_size};
use super::statement::Shape;

/// `R_BPF_64_64`.
const MAP_ADDRESS: u32 = 1;
/// `BPF_F_NO_PREALLOC`.
const NO_PREALLOC: u32 = 1;

/// Returns the name of a map by its number; number 0 is the map for results.
pub(super) fn name(number: usize) -> String {
    if number == 0 { "out".to_owned() } else { format!("m{number}") }
}

/// Returns the bytes of an object file.
pub(super) fn write(code: &[Insn], shapes: &[Shape]) -> Vec<u8> {
    let mut file = Object::new(BinaryFormat::Elf, Architecture::Bpf, Endianness::Little);
    let text = file.add_section(Vec::new(), b"xdp".to_vec(), SectionKind::Text);
    let section = file.add_section(Vec::new(), b"maps".to_vec(), SectionKind::Data);
    let out = [MapKind::ARRAY.0, 4, 8 * (RESULTS as u32 + 1), 1, 0, 1, 0, 0, 0];
    let mut maps = vec![add_map(&mut file, section, &name(0), out)];
    for (number, shape) in shapes.iter().enumerate() {
        let (number, id) = (number + 1, 10 * (number as u32 + 1));
        let name = name(number);
        if shape.kind.holds_maps() {
            for (inner, letter) in [(1, 'a'), (2, 'b')] {
                let words = definition(shape, shape.inner, id + inner, 0);
                add_map(&mut file, section, &format!("{name}{letter}"), words);
            }
        }
        maps.push(add_map(&mut file, section, &name, definition(shape, shape.kind, id, id + 1)));
    }
    let start = file.append_section_data(text, &encode(code), 8);
    file.add_symbol(Symbol {
        name: b"sequence".to_vec(),
        value: start,
        size: 8 * code.len() as u64,
        kind: SymbolKind::Text,
        scope: SymbolScope::Linkage,
        weak: false,
        section: SymbolSection::Section(text),
        flags: SymbolFlags::None,
    });
    for (slot, insn) in code.iter().enumerate() {
        let Insn::LoadImm64 { value: Imm64::MapFd(map), .. } = insn else { continue };
        let Some(symbol) = usize::try_from(*map).ok().and_then(|map| maps.get(map)) else {
            continue;
        };
        let relocation = Relocation {
            offset: start + 8 * slot as u64,
            symbol: *symbol,
            addend: 0,
            flags: RelocationFlags::Elf { r_type: MAP_ADDRESS },
        };
        // Fails only for relocation flags of other formats.
        let _: object::write::Result<()> = file.add_relocation(text, relocation);
    }
    let license = file.add_section(Vec::new(), b"license".to_vec(), SectionKind::Data);
    file.append_section_data(license, b"GPL\0", 1);
    // Writing fails only for relocations and symbols of other formats.
    file.write().unwrap_or_default()
}

/// Returns the words of iproute2's `struct bpf_elf_map`: type, key size, value size, entries,
/// flags, number, pinning, number of the inner map, and index in the outer map.
fn definition(shape: &Shape, kind: MapKind, id: u32, inner: u32) -> [u32; 9] {
    let hash = matches!(kind, MapKind::HASH | MapKind::PERCPU_HASH);
    let trie = kind == MapKind::LPM_TRIE;
    let flags = if trie || (hash && shape.allocates) { NO_PREALLOC } else { 0 };
    let value = match kind {
        MapKind::DEVMAP | MapKind::DEVMAP_HASH => 4,
        kind if kind.holds_maps() => 4,
        _ => 8 * u32::from(shape.words),
    };
    let inner = if kind.holds_maps() { inner } else { 0 };
    [kind.0, key_size(kind, shape.wide), value, shape.entries.into(), flags, id, 0, inner, 0]
}

fn add_map(file: &mut Object<'_>, section: SectionId, name: &str, words: [u32; 9]) -> SymbolId {
    let bytes: Vec<u8> = words.into_iter().flat_map(u32::to_le_bytes).collect();
    let value = file.append_section_data(section, &bytes, 4);
    file.add_symbol(Symbol {
        name: name.as_bytes().to_vec(),
        value,
        size: bytes.len() as u64,
        kind: SymbolKind::Data,
        scope: SymbolScope::Linkage,
        weak: false,
        section: SymbolSection::Section(section),
        flags: SymbolFlags::None,
    })
}
