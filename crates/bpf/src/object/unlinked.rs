//! Reads the functions of objects that contain no programs. These functions may call unknown
//! functions and use unknown variables.

use std::collections::{BTreeMap, VecDeque};

use super::ProgramKind;
use super::program::{BpfProgram, Subprogram};
use crate::ObjectError;
use crate::elf::{Elf, Relocation, Section, Symbol, SymbolKind};
use crate::error::DAMAGED;
use crate::insn::{Call, DecodeError, Imm64, Insn, decode};

/// Opcode of a call through a register, which the kernel does not support.
const CALL_REGISTER: u8 = 0x8d;
/// Encoding of a call of an unknown function.
const CALL_UNKNOWN: [u8; 8] = [0x85, 0x10, 0, 0, 0xff, 0xff, 0xff, 0xff];
/// Opcode of an instruction with two slots.
const LOAD_IMM64: u8 = 0x18;

/// The functions of an object that contains no BPF programs, found by their names.
#[derive(Clone, Debug)]
pub struct UnlinkedObject {
    functions: BTreeMap<String, Function>,
}

#[derive(Clone, Debug)]
struct Function {
    insns: Vec<Insn>,
    /// For each instruction slot, the function that the instruction calls, or the variable whose
    /// address it loads.
    referents: BTreeMap<usize, Referent>,
}

/// A function or variable that an instruction refers to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Referent {
    /// Name of the symbol. If no symbol starts at the address, the name of a preceding symbol or
    /// section, and the distance from there in bytes.
    pub name: String,
    /// Kind of the variable; [`VariableKind::Other`] for a function.
    pub kind: VariableKind,
}

/// Kind of a variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VariableKind {
    /// A map definition, in the section `.maps` or `maps`.
    Map,
    /// A variable in a read-only section.
    Constant,
    /// Any other variable.
    Other,
}

/// A function of an object, together with the functions that it calls.
#[derive(Clone, Debug)]
pub struct UnlinkedProgram {
    /// Code of the entry function, followed by the other functions in the order of calls. A call of
    /// a function that is not part of the program is a [`Call::Kfunc`].
    pub code: BpfProgram,
    /// Variables whose addresses instructions load, by the slot of the instruction.
    pub variables: BTreeMap<usize, Referent>,
}

impl UnlinkedObject {
    /// Reads the functions of an object.
    ///
    /// # Errors
    /// [`ObjectError`] if the file is damaged.
    pub fn parse(data: &[u8]) -> Result<Self, ObjectError> {
        let elf = Elf::parse(data)?;
        let mut functions = BTreeMap::new();
        // Compilers write no code for functions that always have undefined behaviour.
        let code = |symbol: &&Symbol| symbol.kind == SymbolKind::Function && symbol.size > 0;
        for symbol in elf.symbols.iter().filter(code) {
            if let Some(section) = symbol.section().and_then(|number| elf.sections.get(number)) {
                functions.insert(symbol.name.clone(), Function::read(&elf, symbol, section)?);
            }
        }
        Ok(UnlinkedObject { functions })
    }

    /// Returns the function `entry` with all functions that it calls and whose names `own` accepts.
    /// Returns `None` if the object has no function `entry`, or `own` does not accept this name.
    pub fn program(&self, entry: &str, own: &dyn Fn(&str) -> bool) -> Option<UnlinkedProgram> {
        let find = |name: &str| self.functions.get(name).filter(|_| own(name));
        find(entry)?;
        let mut subprograms: Vec<Subprogram> = Vec::new();
        let (mut firsts, mut length) = (BTreeMap::new(), 0);
        let mut pending = VecDeque::from([entry]);
        while let Some(name) = pending.pop_front() {
            let Some(function) = find(name).filter(|_| !firsts.contains_key(name)) else {
                continue;
            };
            firsts.insert(name, length);
            subprograms.push(Subprogram {
                name: name.to_owned(),
                first: length,
                global: false,
                section: String::new(),
                section_slot: length,
            });
            pending.extend(function.callees());
            length += function.insns.len();
        }
        let mut code = BpfProgram {
            number: 0,
            name: entry.to_owned(),
            section: String::new(),
            kind: ProgramKind::Unknown,
            lines: Vec::new(),
            insns: Vec::new(),
            subprograms,
            kfuncs: Vec::new(),
            unresolved: Vec::new(),
        };
        let mut variables = BTreeMap::new();
        for function in code.subprograms.iter().filter_map(|one| self.functions.get(&one.name)) {
            for (slot, &insn) in function.insns.iter().enumerate() {
                let at = code.insns.len();
                let referent = function.referents.get(&slot);
                code.insns.push(if let Insn::Call(Call::Subprogram { .. }) = insn {
                    let name = referent.map_or("", |referent| referent.name.as_str());
                    Insn::Call(if let Some(&first) = firsts.get(name) {
                        Call::Subprogram { offset: (first as i64 - at as i64 - 1) as i32 }
                    } else {
                        code.kfuncs.push(name.to_owned());
                        Call::Kfunc { id: code.kfuncs.len() as i32 - 1, module: 0 }
                    })
                } else {
                    variables.extend(referent.map(|referent| (at, referent.clone())));
                    insn
                });
            }
        }
        Some(UnlinkedProgram { code, variables })
    }
}

impl Function {
    fn read(elf: &Elf<'_>, symbol: &Symbol, section: &Section<'_>) -> Result<Self, ObjectError> {
        let bytes = symbol.value..symbol.value.saturating_add(symbol.size);
        let code = section.data.get(bytes.start as usize..bytes.end as usize).ok_or_else(|| {
            let text = format!("function {} reaches beyond its section", symbol.name);
            ObjectError::section(&section.name, text, DAMAGED)
        })?;
        let first = bytes.start as usize / 8;
        let insns = decoded(code).map_err(|error| {
            ObjectError::insn(&section.name, first + error.slot, error.what, error.hint)
        })?;
        let mut referents = BTreeMap::new();
        for relocation in section.relocations.iter().filter(|one| bytes.contains(&one.offset)) {
            let slot = (relocation.offset - bytes.start) as usize / 8;
            let found = insns.get(slot).and_then(|&insn| referent(elf, relocation, insn));
            referents.extend(found.map(|found| (slot, found)));
        }
        for (slot, &insn) in insns.iter().enumerate() {
            if let Insn::Call(Call::Subprogram { offset }) = insn
                && !referents.contains_key(&slot)
            {
                let target = (first + slot + 1) as i64 + i64::from(offset);
                let found = function_at(elf, symbol.section(), target);
                referents.extend(found.map(|found| (slot, found)));
            }
        }
        Ok(Function { insns, referents })
    }

    /// Returns the names of the called functions, in the order of calls.
    fn callees(&self) -> impl Iterator<Item = &str> {
        let insns = self.insns.iter().enumerate();
        let calls = insns.filter(|(_, insn)| matches!(insn, Insn::Call(Call::Subprogram { .. })));
        calls.filter_map(|(slot, _)| self.referents.get(&slot).map(|one| one.name.as_str()))
    }
}

/// Decodes a function; calls through registers become calls of unknown functions.
fn decoded(code: &[u8]) -> Result<Vec<Insn>, DecodeError> {
    let mut code = code.to_vec();
    let mut slot = 0;
    while let Some(word) = code.get_mut(8 * slot..8 * slot + 8) {
        if word[0] == CALL_REGISTER {
            word.copy_from_slice(&CALL_UNKNOWN);
        }
        slot += if word[0] == LOAD_IMM64 { 2 } else { 1 };
    }
    decode(&code)
}

impl Referent {
    fn of(elf: &Elf<'_>, symbol: &Symbol) -> Self {
        let section = symbol.section().filter(|_| symbol.kind == SymbolKind::Object);
        let kind = match section.and_then(|number| elf.sections.get(number)) {
            Some(Section { name, .. }) if [".maps", "maps"].contains(&name.as_str()) => {
                VariableKind::Map
            }
            Some(section) if !section.writable || section.name.starts_with(".data.rel.ro") => {
                VariableKind::Constant
            }
            _ => VariableKind::Other,
        };
        Referent { name: symbol.name.clone(), kind }
    }
}

/// Returns the function or variable that a relocation of `insn` refers to.
fn referent(elf: &Elf<'_>, relocation: &Relocation, insn: Insn) -> Option<Referent> {
    let symbol = elf.symbols.get(relocation.symbol)?;
    let section = (symbol.kind == SymbolKind::Section).then(|| symbol.section()).flatten();
    match (insn, section) {
        (Insn::Call(Call::Subprogram { offset }), Some(_)) => {
            function_at(elf, section, i64::from(offset) + 1)
        }
        (Insn::Call(_), None) => Some(Referent::of(elf, symbol)),
        (Insn::LoadImm64 { value: Imm64::Value(distance), .. }, _) => {
            let variable = |one: &&Symbol| {
                let named = matches!(one.kind, SymbolKind::Function | SymbolKind::Object);
                named && one.section() == section && one.value == distance
            };
            let found = match section {
                Some(_) => elf.symbols.iter().find(variable),
                None => Some(symbol).filter(|_| distance == 0),
            };
            Some(found.map_or_else(
                || {
                    let section = section.and_then(|number| elf.sections.get(number));
                    let base = section.map_or(&symbol.name, |section| &section.name);
                    Referent { name: format!("{base}+{distance}"), kind: VariableKind::Other }
                },
                |symbol| Referent::of(elf, symbol),
            ))
        }
        _ => None,
    }
}

/// Returns the function that starts at a slot of a section.
fn function_at(elf: &Elf<'_>, section: Option<usize>, slot: i64) -> Option<Referent> {
    let function = |symbol: &&Symbol| {
        let code = symbol.kind == SymbolKind::Function && symbol.size > 0;
        code && symbol.section() == section && i64::try_from(symbol.value / 8) == Ok(slot)
    };
    elf.symbols.iter().find(function).map(|symbol| Referent::of(elf, symbol))
}
