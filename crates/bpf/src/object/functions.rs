//! Finds the functions of an object by their symbols, and selects those that are programs.
//!
//! As in libbpf, a global function outside `.text` is a program; every other function is a
//! subprogram, which programs call. These rules go beyond libbpf:
//!
//! - If all code is in `.text`, its functions are the programs.
//! - In a section without a global function, the static functions are the programs.
//! - If a section has no symbols of functions, its untyped symbols name functions.
//! - Code without any symbol is a program with the name of its section.

use std::collections::BTreeSet;

use crate::ObjectError;
use crate::elf::{Elf, Symbol, SymbolKind};
use crate::error::DAMAGED;
use crate::insn::{Insn, decode};

/// Maximum number of instructions in all functions of an object together.
const LIMIT: usize = 1 << 22;

/// A function of a BPF object, before linking.
#[derive(Clone, Debug)]
pub(crate) struct Function {
    pub name: String,
    /// Index of the section that contains the function.
    pub section: usize,
    pub section_name: String,
    /// First slot of the function in its section.
    pub first: usize,
    pub global: bool,
    /// Instructions of the function, or the error of decoding them.
    pub code: Result<Vec<Insn>, ObjectError>,
}

/// Returns all functions of an object, sorted by section and offset.
pub(super) fn find(elf: &Elf) -> Result<Vec<Function>, ObjectError> {
    let mut functions = Vec::new();
    let mut slots = 0;
    for (index, section) in elf.sections.iter().enumerate() {
        if !section.executable || section.size == 0 {
            continue;
        }
        let bytes = section.data.len() as u64;
        let name = section.name.as_str();
        let damaged = |text: String| Err(ObjectError::section(name, text, DAMAGED));
        let function = |symbol: &str, first: usize, global, code: &[u8]| Function {
            name: symbol.to_owned(),
            section: index,
            section_name: name.to_owned(),
            first,
            global,
            code: decoded(code, name, first),
        };
        slots += section.data.len() / 8;
        if slots > LIMIT {
            return damaged(format!("more than {LIMIT} instructions"));
        }
        if !bytes.is_multiple_of(8) {
            return damaged(format!("{bytes} bytes of code are not a multiple of 8"));
        }
        let symbols = symbols(elf, index);
        if symbols.is_empty() {
            functions.push(function(name, 0, true, section.data));
        }
        for (i, symbol) in symbols.iter().enumerate() {
            let next = symbols.get(i + 1).map_or(bytes, |next| next.value);
            let end = match symbol.size {
                0 => Some(next),
                size => symbol.value.checked_add(size),
            };
            let range = end
                .filter(|end| {
                    symbol.value.is_multiple_of(8) && end.is_multiple_of(8) && symbol.value < *end
                })
                .and_then(|end| section.data.get(symbol.value as usize..end as usize));
            let Some(code) = range else {
                return damaged(format!(
                    "function {} at {} of {} bytes does not fit into {bytes} bytes of code",
                    symbol.name, symbol.value, symbol.size
                ));
            };
            if symbol.value + code.len() as u64 > next {
                return damaged(format!("function {} overlaps the next one", symbol.name));
            }
            let first = (symbol.value / 8) as usize;
            functions.push(function(&symbol.name, first, symbol.global, code));
        }
    }
    Ok(functions)
}

/// Returns one symbol for each function of a section, sorted by offset. Several symbols can name
/// one function.
fn symbols<'a>(elf: &'a Elf, section: usize) -> Vec<&'a Symbol> {
    let of_kind = |kind: SymbolKind| {
        let here = elf.symbols.iter().filter(move |s| s.section() == Some(section));
        here.filter(move |s| s.kind == kind && !s.name.is_empty())
    };
    let mut symbols: Vec<&Symbol> = of_kind(SymbolKind::Function).collect();
    if symbols.is_empty() {
        symbols = of_kind(SymbolKind::Untyped).filter(|s| s.global).collect();
    }
    symbols.sort_by_key(|s| (s.value, !s.global));
    symbols.dedup_by_key(|s| s.value);
    symbols
}

fn decoded(code: &[u8], section: &str, first: usize) -> Result<Vec<Insn>, ObjectError> {
    decode(code).map_err(|e| ObjectError::insn(section, first + e.slot, e.what, e.hint))
}

/// Returns the indices of those functions that are programs.
pub(super) fn programs(functions: &[Function]) -> Vec<usize> {
    let in_text = |f: &Function| f.section_name == ".text";
    let only_text = functions.iter().all(in_text);
    let with_global: BTreeSet<usize> =
        functions.iter().filter(|f| f.global).map(|f| f.section).collect();
    let is_program = |f: &Function| {
        (only_text || !in_text(f)) && (f.global || !with_global.contains(&f.section))
    };
    (0..functions.len()).filter(|i| is_program(&functions[*i])).collect()
}
