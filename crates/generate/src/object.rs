//! Output as a BPF object in the format of compilers before BTF. Functions are in section `xdp`,
//! the map is a structure in section `maps`, and loads of its address have a relocation.

use object::write::{Object, Relocation, SectionId, Symbol, SymbolId, SymbolSection};
use object::{
    Architecture, BinaryFormat, Endianness, RelocationFlags, SectionKind, SymbolFlags, SymbolKind,
    SymbolScope,
};
use slowpath_bpf::insn::{Imm64, Insn, encode};

use crate::statement::MapShape;

/// `BPF_MAP_TYPE_ARRAY`.
const ARRAY: u32 = 2;
/// `R_BPF_64_64`.
const MAP_ADDRESS: u32 = 1;

/// Returns the bytes of an object file. `functions` are the program's functions, the entry first;
/// `map` is the map that they load.
pub(crate) fn write(functions: &[&[Insn]], map: Option<MapShape>) -> Vec<u8> {
    let mut file = Object::new(BinaryFormat::Elf, Architecture::Bpf, Endianness::Little);
    let code = file.add_section(Vec::new(), b"xdp".to_vec(), SectionKind::Text);
    let map = map.map(|map| add_map(&mut file, map));
    for (number, insns) in functions.iter().enumerate() {
        let bytes = encode(insns);
        let start = file.append_section_data(code, &bytes, 8);
        let entry = number == 0;
        file.add_symbol(Symbol {
            name: name(number).into_bytes(),
            value: start,
            size: bytes.len() as u64,
            kind: SymbolKind::Text,
            scope: if entry { SymbolScope::Linkage } else { SymbolScope::Compilation },
            weak: false,
            section: SymbolSection::Section(code),
            flags: SymbolFlags::None,
        });
        if let Some(map) = map {
            refer(&mut file, code, start, insns, map);
        }
    }
    let license = file.add_section(Vec::new(), b"license".to_vec(), SectionKind::Data);
    file.append_section_data(license, b"GPL\0", 1);
    // Writing fails only for relocations and symbols of other formats.
    file.write().unwrap_or_default()
}

/// Returns the name of a function, by its index.
pub(crate) fn name(number: usize) -> String {
    if number == 0 { "generated".to_owned() } else { format!("function{number}") }
}

/// Adds libbpf's structure `bpf_map_def`: type, key size, value size, entries, flags.
fn add_map(file: &mut Object<'_>, map: MapShape) -> SymbolId {
    let section = file.add_section(Vec::new(), b"maps".to_vec(), SectionKind::Data);
    let words = [ARRAY, 4, 4 * u32::from(map.words), 1 << map.log_entries, 0];
    let bytes: Vec<u8> = words.into_iter().flat_map(u32::to_le_bytes).collect();
    let value = file.append_section_data(section, &bytes, 4);
    file.add_symbol(Symbol {
        name: b"table".to_vec(),
        value,
        size: bytes.len() as u64,
        kind: SymbolKind::Data,
        scope: SymbolScope::Linkage,
        weak: false,
        section: SymbolSection::Section(section),
        flags: SymbolFlags::None,
    })
}

fn refer(file: &mut Object<'_>, section: SectionId, start: u64, insns: &[Insn], map: SymbolId) {
    for (slot, insn) in insns.iter().enumerate() {
        if matches!(insn, Insn::LoadImm64 { value: Imm64::MapFd(_), .. }) {
            let relocation = Relocation {
                offset: start + 8 * slot as u64,
                symbol: map,
                addend: 0,
                flags: RelocationFlags::Elf { r_type: MAP_ADDRESS },
            };
            // Fails only for relocation flags of other formats.
            let _: object::write::Result<()> = file.add_relocation(section, relocation);
        }
    }
}
