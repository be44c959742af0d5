//! Reads ELF files: validates sections, symbols and relocations of a BPF object file and copies
//! them into tables.
//!
//! The reader does not interpret the content of sections. Sources: the ELF specification, as the
//! `object` crate implements it; the kernel's `Documentation/bpf/llvm_reloc.rst` for relocation
//! types.

use ::object::elf::{self, FileHeader64};
use ::object::read::elf::{FileHeader, SectionHeader, Sym};
use ::object::{LittleEndian, SectionIndex};
use slowpath_codes as codes;

use crate::ObjectError;
use crate::error::{DAMAGED, printable};

/// Accepted machine numbers: `EM_BPF`, and 0, which old compilers wrote.
const MACHINES: [u16; 2] = [elf::EM_BPF, elf::EM_NONE];

/// Maximum length of a symbol or section name, in bytes.
const NAME: usize = 4096;

/// A parsed relocatable ELF file for BPF: its sections and symbols.
#[derive(Clone, Debug)]
pub(crate) struct Elf<'data> {
    pub sections: Vec<Section<'data>>,
    pub symbols: Vec<Symbol>,
}

/// A section of the file. Its index in [`Elf::sections`] is its section number.
#[derive(Clone, Debug)]
pub(crate) struct Section<'data> {
    pub name: String,
    pub executable: bool,
    pub writable: bool,
    /// Content of the section; empty for a section without content in the file, such as `.bss`.
    pub data: &'data [u8],
    /// Size in bytes. For `.bss` it is not 0, although `data` is empty.
    pub size: u64,
    /// Relocations of this section, sorted by offset.
    pub relocations: Vec<Relocation>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Relocation {
    /// Offset from the start of the section, in bytes.
    pub offset: u64,
    /// Index, in the symbol table, of the symbol that the relocation refers to.
    pub symbol: usize,
    /// Relocation type, `R_BPF_*`.
    pub kind: u32,
    /// Number that is added to the symbol's address; 0 for a relocation without addend.
    pub addend: i64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SymbolKind {
    Function,
    /// A symbol that stands for a whole section (`STT_SECTION`).
    Section,
    /// The symbol of a variable or a map (`STT_OBJECT`).
    Object,
    /// A symbol without a type (`STT_NOTYPE`): a label, or a function in a file of an old compiler.
    Untyped,
    /// A symbol of any other type, such as a file name.
    Other,
}

/// The section that contains a symbol, or the reason why the symbol has no section.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SymbolPlace {
    /// In the section with this number.
    Section(usize),
    /// The symbol is defined in another file.
    Undefined,
    /// The symbol is a tentative definition, which has no section.
    Common,
    /// The symbol is an absolute value, or its section number is invalid.
    Other,
}

#[derive(Clone, Debug)]
pub(crate) struct Symbol {
    pub name: String,
    pub kind: SymbolKind,
    pub place: SymbolPlace,
    /// Offset of the symbol from the start of its section, in bytes.
    pub value: u64,
    /// Size of the variable or function in bytes.
    pub size: u64,
    /// True if the symbol is visible outside its file.
    pub global: bool,
}

impl Symbol {
    /// Returns the index of the section that contains the symbol; `None` if the symbol has no
    /// section.
    pub fn section(&self) -> Option<usize> {
        match self.place {
            SymbolPlace::Section(index) => Some(index),
            _ => None,
        }
    }
}

impl<'data> Elf<'data> {
    pub fn parse(data: &'data [u8]) -> Result<Self, ObjectError> {
        check_ident(data)?;
        let damaged = |e: ::object::Error| {
            ObjectError::file(
                codes::DAMAGED_OBJECT,
                format!("damaged ELF file: {}", lower(&e.to_string())),
                DAMAGED,
            )
        };
        let header = FileHeader64::<LittleEndian>::parse(data).map_err(damaged)?;
        let endian = header.endian().map_err(damaged)?;
        let machine = header.e_machine(endian);
        if !MACHINES.contains(&machine) {
            let text = format!("an ELF file for machine {machine}, not for BPF (247)");
            return Err(ObjectError::file(
                codes::NOT_A_BPF_OBJECT,
                text,
                "compile with clang -target bpf",
            ));
        }
        let table = header.sections(endian, data).map_err(damaged)?;
        let mut sections = Vec::with_capacity(table.len());
        for header in table.iter() {
            let name = name(table.section_name(endian, header).map_err(damaged)?)?;
            let content = header.data(endian, data).map_err(|_| {
                ObjectError::section(name.as_str(), "reaches beyond the end of the file", DAMAGED)
            })?;
            sections.push(Section {
                name,
                executable: header.sh_flags(endian) & u64::from(elf::SHF_EXECINSTR) != 0
                    && header.sh_type(endian) == elf::SHT_PROGBITS,
                writable: header.sh_flags(endian) & u64::from(elf::SHF_WRITE) != 0,
                data: content,
                size: header.sh_size(endian),
                relocations: Vec::new(),
            });
        }
        let table_symbols = table.symbols(endian, data, elf::SHT_SYMTAB).map_err(damaged)?;
        let mut symbols = Vec::with_capacity(table_symbols.len());
        for (index, symbol) in table_symbols.enumerate() {
            let place = match symbol.st_shndx(endian) {
                elf::SHN_UNDEF => SymbolPlace::Undefined,
                elf::SHN_COMMON => SymbolPlace::Common,
                elf::SHN_ABS => SymbolPlace::Other,
                _ => match table_symbols.symbol_section(endian, symbol, index) {
                    Ok(Some(SectionIndex(section))) if section < sections.len() => {
                        SymbolPlace::Section(section)
                    }
                    _ => SymbolPlace::Other,
                },
            };
            let name = name(symbol.name(endian, table_symbols.strings()).map_err(damaged)?)?;
            symbols.push(Symbol {
                name,
                kind: match symbol.st_type() {
                    elf::STT_FUNC => SymbolKind::Function,
                    elf::STT_SECTION => SymbolKind::Section,
                    elf::STT_OBJECT => SymbolKind::Object,
                    elf::STT_NOTYPE => SymbolKind::Untyped,
                    _ => SymbolKind::Other,
                },
                place,
                value: symbol.st_value(endian),
                size: symbol.st_size(endian),
                global: symbol.st_bind() != elf::STB_LOCAL,
            });
        }
        // Relocations have their own sections. The header field `sh_info` is the number of the
        // section to relocate.
        for header in table.iter() {
            let target = header.sh_info(endian) as usize;
            let mut found: Vec<Relocation> = Vec::new();
            if let Some((entries, _)) = header.rel(endian, data).map_err(damaged)? {
                found.extend(entries.iter().map(|rel| Relocation {
                    offset: rel.r_offset.get(endian),
                    symbol: rel.r_sym(endian) as usize,
                    kind: rel.r_type(endian),
                    addend: 0,
                }));
            }
            if let Some((entries, _)) = header.rela(endian, data).map_err(damaged)? {
                found.extend(entries.iter().map(|rel| Relocation {
                    offset: rel.r_offset.get(endian),
                    symbol: rel.r_sym(endian, false) as usize,
                    kind: rel.r_type(endian, false),
                    addend: rel.r_addend.get(endian),
                }));
            }
            // In other types of sections, `sh_info` has another meaning.
            let Some(section) = sections.get_mut(target) else { continue };
            if let Some(bad) = found.iter().find(|rel| rel.symbol >= symbols.len()) {
                let text =
                    format!("a relocation names symbol {}, which does not exist", bad.symbol);
                return Err(ObjectError::section(section.name.as_str(), text, DAMAGED));
            }
            section.relocations.extend(found);
            section.relocations.sort_by_key(|rel| rel.offset);
        }
        Ok(Elf { sections, symbols })
    }

    pub fn section(&self, name: &str) -> Option<&Section<'data>> {
        self.sections.iter().find(|section| section.name == name)
    }
}

/// Rejects any file that is not a 64-bit little-endian relocatable ELF file.
fn check_ident(data: &[u8]) -> Result<(), ObjectError> {
    if data.is_empty() {
        return Err(ObjectError::file(
            codes::FILE_EMPTY,
            "an empty file",
            "pass a BPF object file",
        ));
    }
    if !data.starts_with(b"\x7fELF") {
        return Err(ObjectError::file(
            codes::UNKNOWN_FILE_TYPE,
            "not an ELF file",
            "pass a file of clang -target bpf -c",
        ));
    }
    if data.len() < 64 {
        return Err(ObjectError::file(
            codes::DAMAGED_OBJECT,
            "an ELF file that is shorter than an ELF header",
            DAMAGED,
        ));
    }
    if data[4] != elf::ELFCLASS64 {
        return Err(ObjectError::file(
            codes::NOT_A_BPF_OBJECT,
            "not a 64-bit ELF file",
            "compile with clang -target bpf",
        ));
    }
    match data[5] {
        elf::ELFDATA2LSB => {}
        elf::ELFDATA2MSB => {
            let hint = "compile with -target bpfel (or -target bpf on a little-endian host)";
            return Err(ObjectError::file(
                codes::NOT_A_BPF_OBJECT,
                "a big-endian BPF object",
                hint,
            ));
        }
        _ => {
            return Err(ObjectError::file(
                codes::DAMAGED_OBJECT,
                "an ELF file of unknown byte order",
                DAMAGED,
            ));
        }
    }
    match u16::from_le_bytes([data[16], data[17]]) {
        elf::ET_REL => Ok(()),
        kind => Err(ObjectError::file(
            codes::NOT_A_BPF_OBJECT,
            format!("an ELF file of type {kind}, not a relocatable object (1)"),
            "pass the compiler's output, not a linked program",
        )),
    }
}

/// Reads a name. Rejects names longer than `NAME` bytes, because a table of them could exhaust
/// the memory.
fn name(bytes: &[u8]) -> Result<String, ObjectError> {
    if bytes.len() > NAME {
        let text = format!("a name of {} bytes", bytes.len());
        return Err(ObjectError::file(codes::DAMAGED_OBJECT, text, DAMAGED));
    }
    Ok(printable(bytes))
}

/// Converts an error message of the ELF library to one line that starts with a lower-case letter.
fn lower(message: &str) -> String {
    let message = printable(message.as_bytes());
    let mut chars = message.chars();
    chars.next().map_or(String::new(), |first| first.to_lowercase().chain(chars).collect())
}
