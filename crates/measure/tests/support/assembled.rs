//! Assembles test programs that use one map, such as an array with one counter.

use std::sync::Arc;

use object::write::{Object, Relocation, Symbol, SymbolSection};
use object::{
    Architecture, BinaryFormat, Endianness, RelocationFlags, SectionKind, SymbolFlags, SymbolKind,
    SymbolScope,
};

/// Operation code of the instruction `dst += imm`.
pub const ADD: u8 = 0x07;
pub const EXIT: [u8; 8] = insn(0x95, 0, 0, 0, 0);
/// Encodes an instruction (RFC 9669, section 3.1).
pub const fn insn(code: u8, dst: u8, src: u8, offset: i16, imm: i32) -> [u8; 8] {
    let (offset, imm) = (offset.to_le_bytes(), imm.to_le_bytes());
    [code, dst | src << 4, offset[0], offset[1], imm[0], imm[1], imm[2], imm[3]]
}

/// Returns the instruction that sets `r0`, the return value, to `action`.
pub fn result(action: u32) -> [u8; 8] {
    insn(0xb7, 0, 0, 0, i32::try_from(action).expect("is small"))
}

/// Builds an object file with one program and one map. The 64-bit loads in `insns` get the address
/// of the map. `map` contains the type of the map, the sizes of its keys and values, and its number
/// of elements.
pub fn object(map: [u32; 4], insns: &[[u8; 8]]) -> Arc<slowpath_bpf::Object> {
    let code = insns.concat();
    let mut file = Object::new(BinaryFormat::Elf, Architecture::Bpf, Endianness::Little);
    let text = file.add_section(Vec::new(), b"xdp".to_vec(), SectionKind::Text);
    let maps = file.add_section(Vec::new(), b"maps".to_vec(), SectionKind::Data);
    let license = file.add_section(Vec::new(), b"license".to_vec(), SectionKind::Data);
    file.append_section_data(license, b"GPL\0", 1);
    file.append_section_data(text, &code, 8);
    // libbpf's `bpf_map_def`: flags are last.
    let map: Vec<u8> = map.into_iter().chain([0]).flat_map(u32::to_le_bytes).collect();
    file.append_section_data(maps, &map, 4);
    let mut symbol = |name: &str, section, kind, size: usize| {
        file.add_symbol(Symbol {
            name: name.as_bytes().to_vec(),
            value: 0,
            size: size as u64,
            kind,
            scope: SymbolScope::Linkage,
            weak: false,
            section: SymbolSection::Section(section),
            flags: SymbolFlags::None,
        })
    };
    symbol("counting", text, SymbolKind::Text, code.len());
    let symbol = symbol("counters", maps, SymbolKind::Data, map.len());
    let flags = RelocationFlags::Elf { r_type: 1 };
    for (number, _) in insns.iter().enumerate().filter(|(_, insn)| insn[0] == 0x18) {
        let relocation = Relocation { offset: 8 * number as u64, symbol, addend: 0, flags };
        file.add_relocation(text, relocation).expect("is for ELF");
    }
    let bytes = file.write().unwrap_or_else(|e| panic!("{e}"));
    Arc::new(slowpath_bpf::Object::parse(&bytes).unwrap_or_else(|e| panic!("{e}")))
}

/// Instruction that stores `r1` into the counter, for programs that [`counter`] builds.
pub const PUT_COUNTER: [u8; 8] = insn(0x7b, 7, 1, 0, 0);

/// Builds a program with a counter in a map. It runs `body` with the counter's value in `r1`, the
/// address of the counter in `r7`, and 64 bytes of the packet at `r8`.
pub fn counter(body: &[[u8; 8]]) -> Arc<slowpath_bpf::Object> {
    let before = [
        insn(0x61, 8, 1, 0, 0),
        insn(0x61, 2, 1, 4, 0),
        insn(0xbf, 3, 8, 0, 0),
        insn(ADD, 3, 0, 0, 64),
        insn(0x2d, 3, 2, 7, 0),
        insn(0x62, 10, 0, -4, 0),
        insn(0xbf, 2, 10, 0, 0),
        insn(ADD, 2, 0, 0, -4),
        insn(0x18, 1, 0, 0, 0),
        insn(0, 0, 0, 0, 0),
        insn(0x85, 0, 0, 0, 1),
        insn(0x55, 0, 0, 2, 0),
        result(0),
        EXIT,
        insn(0xbf, 7, 0, 0, 0),
        insn(0x79, 1, 7, 0, 0),
    ];
    object([2, 4, 8, 1], &[&before, body].concat())
}
