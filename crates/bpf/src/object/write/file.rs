//! Builds the ELF file of a written object, with its sections, symbols and relocations.

use ::object::write::{Object as ElfFile, Relocation, SectionId, Symbol, SymbolId, SymbolSection};
use ::object::{
    Architecture, BinaryFormat, Endianness, RelocationFlags, SectionKind, SymbolFlags, SymbolKind,
    SymbolScope,
};

use super::code::{Code, Layout, Target};
use super::error::WriteError;
use super::functions::Plan;
use super::maps::{Data, Maps};
use crate::Object;

/// Relocation type of an address in a 64-bit immediate (`R_BPF_64_64`).
const ADDRESS: u32 = 1;
/// Relocation type of an address in data (`R_BPF_64_ABS64`).
const POINTER: u32 = 2;
/// Relocation type of a call (`R_BPF_64_32`).
const CALL: u32 = 10;

pub(super) struct File<'a> {
    file: ElfFile<'static>,
    sections: Vec<SectionId>,
    functions: Vec<SymbolId>,
    /// Symbols for loads of map addresses, by index of the map in the object.
    maps: Vec<Option<SymbolId>>,
    definitions: Option<SectionId>,
    kernel: Vec<(&'a str, SymbolId)>,
}

impl<'a> File<'a> {
    /// Creates an object file under construction, with the symbols of all functions.
    pub fn new(layout: &Layout<'a>, plan: &Plan<'a>) -> Self {
        let mut file = ElfFile::new(BinaryFormat::Elf, Architecture::Bpf, Endianness::Little);
        let section = |(name, _): &(&str, Vec<usize>)| {
            file.add_section(Vec::new(), name.as_bytes().to_vec(), SectionKind::Text)
        };
        let sections: Vec<SectionId> = layout.sections.iter().map(section).collect();
        let functions = plan.functions.iter().zip(&layout.places).map(|(function, place)| {
            let (first, end) = function.range();
            file.add_symbol(Symbol {
                size: (end - first) as u64 * 8,
                ..symbol(
                    &function.name,
                    place.1.into(),
                    SymbolKind::Text,
                    function.global(),
                    SymbolSection::Section(sections[place.0]),
                )
            })
        });
        let functions = functions.collect();
        File { file, sections, functions, maps: Vec::new(), definitions: None, kernel: Vec::new() }
    }

    /// Adds the sections of map definitions and global data.
    pub fn add_maps(&mut self, object: &Object, maps: &Maps) {
        self.maps = vec![None; object.maps.len()];
        if !maps.defined.is_empty() {
            let section = self.file.add_section(Vec::new(), b".maps".to_vec(), SectionKind::Data);
            self.file.append_section_data(section, &vec![0; maps.size as usize], 8);
            self.definitions = Some(section);
            for map in &maps.defined {
                let place = SymbolSection::Section(section);
                let symbol = symbol(&map.name, map.offset.into(), SymbolKind::Data, true, place);
                let symbol = Symbol { size: map.size.into(), ..symbol };
                self.maps[map.map] = Some(self.file.add_symbol(symbol));
            }
        }
        maps.data.iter().for_each(|data| self.add_global_data(data));
    }

    fn add_global_data(&mut self, data: &Data) {
        let (name, size) = (data.section.as_bytes().to_vec(), data.content.len() as u64);
        let kind = match data.section.as_str() {
            name if name.starts_with(".bss") => SectionKind::UninitializedData,
            name if name.starts_with(".rodata") => SectionKind::ReadOnlyData,
            _ => SectionKind::Data,
        };
        let section = self.file.add_section(Vec::new(), name, kind);
        if kind == SectionKind::UninitializedData {
            self.file.append_section_bss(section, size, 8);
        } else {
            self.file.append_section_data(section, data.content, 8);
        }
        for (variable, global) in &data.variables {
            let place = SymbolSection::Section(section);
            let symbol = symbol(&variable.name, variable.offset, SymbolKind::Data, *global, place);
            self.file.add_symbol(Symbol { size: variable.size, ..symbol });
        }
        self.maps[data.map] = Some(self.file.section_symbol(section));
    }

    /// Appends the code of the function with index `number` in the layout. Functions of a section
    /// must be added in order.
    pub fn add_code(
        &mut self,
        layout: &Layout,
        number: usize,
        code: &Code<'a>,
    ) -> Result<(), WriteError> {
        let (section, start) = layout.places[number];
        let section = self.sections[section];
        self.file.append_section_data(section, &code.bytes, 8);
        for &(offset, target) in &code.relocations {
            let (symbol, kind) = match target {
                Target::Map(map) => {
                    let symbol = self.map(map);
                    (symbol.ok_or_else(|| WriteError::file("a map without symbol"))?, ADDRESS)
                }
                Target::Call(function) => (self.functions[function], CALL),
                Target::Address(function) => (self.functions[function], ADDRESS),
                Target::Section(number) => {
                    (self.file.section_symbol(self.sections[number]), ADDRESS)
                }
                Target::Kernel(name) => (self.kernel_function(name), CALL),
            };
            self.relocate(section, u64::from(start) + offset, symbol, kind)?;
        }
        Ok(())
    }

    pub fn map(&self, number: usize) -> Option<SymbolId> {
        self.maps.get(number).copied().flatten()
    }

    pub fn function(&self, number: usize) -> Option<SymbolId> {
        self.functions.get(number).copied()
    }

    /// Adds a relocation that stores the address of `symbol` at this offset of `.maps`.
    pub fn fill(&mut self, offset: u32, symbol: SymbolId) -> Result<(), WriteError> {
        let section = self.definitions.ok_or_else(|| WriteError::file("there are no maps"))?;
        self.relocate(section, offset.into(), symbol, POINTER)
    }

    fn relocate(
        &mut self,
        section: SectionId,
        offset: u64,
        symbol: SymbolId,
        r_type: u32,
    ) -> Result<(), WriteError> {
        let flags = RelocationFlags::Elf { r_type };
        let relocation = Relocation { offset, symbol, addend: 0, flags };
        self.file.add_relocation(section, relocation).map_err(WriteError::file)
    }

    fn kernel_function(&mut self, name: &'a str) -> SymbolId {
        let known = self.kernel.iter().find(|(known, _)| *known == name);
        if let Some((_, symbol)) = known {
            return *symbol;
        }
        let place = SymbolSection::Undefined;
        let symbol = self.file.add_symbol(symbol(name, 0, SymbolKind::Text, true, place));
        self.kernel.push((name, symbol));
        symbol
    }

    /// Returns the names of the kernel functions that the code added so far calls.
    pub fn kernel_functions(&self) -> Vec<&'a str> {
        self.kernel.iter().map(|(name, _)| *name).collect()
    }

    pub fn add_data(&mut self, name: &str, content: &[u8]) {
        let section =
            self.file.add_section(Vec::new(), name.as_bytes().to_vec(), SectionKind::Data);
        self.file.append_section_data(section, content, 1);
    }

    /// Adds a section of type information, which loaders do not load into memory.
    pub fn add_types(&mut self, name: &str, content: &[u8]) {
        let section =
            self.file.add_section(Vec::new(), name.as_bytes().to_vec(), SectionKind::Metadata);
        self.file.append_section_data(section, content, 8);
    }

    pub fn finish(self) -> Result<Vec<u8>, WriteError> {
        self.file.write().map_err(WriteError::file)
    }
}

fn symbol(
    name: &str,
    value: u64,
    kind: SymbolKind,
    global: bool,
    section: SymbolSection,
) -> Symbol {
    Symbol {
        name: name.as_bytes().to_vec(),
        value,
        size: 0,
        kind,
        // libbpf treats hidden functions as static.
        scope: if global { SymbolScope::Dynamic } else { SymbolScope::Compilation },
        weak: false,
        section,
        flags: SymbolFlags::None,
    }
}
