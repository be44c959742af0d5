//! Makes objects from lists of instructions.

use object::write::{Object, Symbol, SymbolSection};
use object::{
    Architecture, BinaryFormat, Endianness, SectionKind, SymbolFlags, SymbolKind, SymbolScope,
};
use slowpath_bpf::insn::{Insn, encode};

/// Returns the file of an object. It contains the program `test` in section `xdp`, which consists
/// of these functions. The first function is the entry.
pub fn file(functions: &[&[Insn]]) -> Vec<u8> {
    let code: Vec<Vec<u8>> = functions.iter().map(|insns| encode(insns)).collect();
    file_of_code(&code)
}

/// Like [`file`], but takes encoded instructions.
pub fn file_of_code(functions: &[Vec<u8>]) -> Vec<u8> {
    let mut file = Object::new(BinaryFormat::Elf, Architecture::Bpf, Endianness::Little);
    let section = file.add_section(Vec::new(), b"xdp".to_vec(), SectionKind::Text);
    for (number, code) in functions.iter().enumerate() {
        let value = file.append_section_data(section, code, 8);
        let entry = number == 0;
        file.add_symbol(Symbol {
            name: if entry { b"test".to_vec() } else { format!("sub{number}").into_bytes() },
            value,
            size: code.len() as u64,
            kind: SymbolKind::Text,
            scope: if entry { SymbolScope::Linkage } else { SymbolScope::Compilation },
            weak: false,
            section: SymbolSection::Section(section),
            flags: SymbolFlags::None,
        });
    }
    let license = file.add_section(Vec::new(), b"license".to_vec(), SectionKind::Data);
    file.append_section_data(license, b"GPL\0", 1);
    file.write().unwrap_or_else(|e| panic!("{e}"))
}

/// Returns an object with a program that consists of these functions.
pub fn object(functions: &[&[Insn]]) -> slowpath_bpf::Object {
    let bytes = file(functions);
    slowpath_bpf::Object::parse(&bytes).unwrap_or_else(|e| panic!("{e}"))
}
