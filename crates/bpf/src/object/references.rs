//! Finds the maps, data and functions to which instructions of an object refer, from the
//! relocations of its code.
//!
//! Source: the kernel's `Documentation/bpf/llvm_reloc.rst`. The instruction determines the meaning
//! of a relocation; the relocation type only distinguishes old and new compilers.

use std::collections::HashMap;

use crate::Btf;
use crate::btf::Kind;
use crate::elf::{Elf, Relocation, Symbol, SymbolKind, SymbolPlace};
use crate::maps::{MapTable, is_data_section};

/// Target of a relocation of an instruction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Reference {
    /// The map with this index in the object.
    Map(u32),
    /// An address in a section of global data, which is a map. `offset` is the symbol's offset in
    /// the section in bytes; the instruction contains the distance from there.
    Data { map: u32, offset: u64 },
    /// An address in code: the section, and the symbol's offset in it in bytes. The instruction
    /// contains the distance from there.
    Code { section: usize, offset: u64 },
    /// A function that the object declares but does not contain, such as a function of the kernel.
    ExternFunction { name: String },
    /// A target that this crate cannot resolve, described as text.
    Unknown(String),
}

/// Relocation type 0 (`R_BPF_NONE`), which means that there is no relocation.
const NONE: u32 = 0;
const IN_CODE: [u32; 2] = [1, 10];

/// The references of all instructions, by the section and slot of the instruction.
pub(crate) type References = HashMap<(usize, usize), Reference>;

pub(super) fn read(elf: &Elf, btf: Option<&Btf>, maps: &MapTable) -> References {
    let mut references = References::new();
    for (index, section) in elf.sections.iter().enumerate().filter(|(_, s)| s.executable) {
        // A relocation without type and symbol has no effect; with a symbol, its type is unknown.
        let has_effect = |r: &&Relocation| r.kind != NONE || r.symbol != 0;
        for relocation in section.relocations.iter().filter(has_effect) {
            let symbol = &elf.symbols[relocation.symbol];
            let slot = (relocation.offset / 8) as usize;
            let reference = if !relocation.offset.is_multiple_of(8) {
                Reference::Unknown("a relocation in the middle of an instruction".into())
            } else if !IN_CODE.contains(&relocation.kind) {
                Reference::Unknown(format!("a relocation of unknown type {}", relocation.kind))
            } else {
                refer(elf, btf, maps, symbol, relocation.addend)
            };
            references.insert((index, slot), reference);
        }
    }
    references
}

fn refer(elf: &Elf, btf: Option<&Btf>, maps: &MapTable, symbol: &Symbol, addend: i64) -> Reference {
    let offset = symbol.value.wrapping_add_signed(addend);
    let index = match symbol.place {
        SymbolPlace::Section(index) => index,
        SymbolPlace::Undefined => return undefined(btf, symbol),
        SymbolPlace::Common => {
            let text =
                format!("variable `{}` has no section (compile with -fno-common)", symbol.name);
            return Reference::Unknown(text);
        }
        SymbolPlace::Other => {
            return Reference::Unknown(format!("symbol `{}` has no location", symbol.name));
        }
    };
    let Some(section) = elf.sections.get(index) else {
        return Reference::Unknown(format!("symbol `{}` is in no section", symbol.name));
    };
    if section.executable {
        return Reference::Code { section: index, offset };
    }
    if maps.defines_maps(index) {
        return match maps.defined_at(index, offset) {
            Some(map) => Reference::Map(map as u32),
            None => Reference::Unknown(format!("`{}` is not the start of a map", symbol.name)),
        };
    }
    if is_data_section(&section.name)
        && let Some(map) = maps.data_of(index)
    {
        return Reference::Data { map: map as u32, offset };
    }
    let name = match symbol.kind {
        SymbolKind::Section => "the start",
        _ => symbol.name.as_str(),
    };
    Reference::Unknown(format!("{name} of section {} is neither a map nor data", section.name))
}

fn undefined(btf: Option<&Btf>, symbol: &Symbol) -> Reference {
    let name = symbol.name.as_str();
    let is_function = |kind: &Kind| matches!(kind, Kind::Func { .. });
    if btf.and_then(|btf| btf.find(name, is_function)).is_some() {
        return Reference::ExternFunction { name: name.to_owned() };
    }
    let section = btf.and_then(|btf| {
        btf.types().find_map(|(id, ty)| match &ty.kind {
            Kind::DataSec { vars, .. } if vars.iter().any(|v| btf.type_name(v.ty) == name) => {
                Some(btf.type_name(id))
            }
            _ => None,
        })
    });
    let text = match section {
        Some(".kconfig") => format!("`{name}` is part of the kernel's configuration"),
        Some(".ksyms") => format!("`{name}` is a variable of the kernel"),
        _ => format!("`{name}` is not defined in this object"),
    };
    Reference::Unknown(text)
}
