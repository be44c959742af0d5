//! Holds a parsed object, with all parts that do not depend on a kernel.

use super::entry::ProgramEntry;
use super::functions::{self, Function};
use super::kind;
use super::references::{self, References};
use crate::btf::BtfExt;
use crate::elf::{Elf, SymbolKind};
use crate::error::printable;
use crate::insn::Insn;
use crate::maps::{MapDef, MapTable, Variable};
use crate::{Btf, ObjectError};
use slowpath_codes as codes;

/// A parsed BPF object file.
#[derive(Clone, Debug)]
pub struct Object {
    /// Content of the section `license`; `None` if the object has no license.
    pub license: Option<String>,
    /// Programs, in the order of their sections.
    pub programs: Vec<ProgramEntry>,
    /// Maps: first from legacy sections, then from `.maps`, then global data.
    pub maps: Vec<MapDef>,
    /// Global variables of all data sections.
    pub variables: Vec<Variable>,
    /// Types of the object (BTF); `None` if it contains none.
    pub btf: Option<Btf>,
    pub(crate) ext: Option<BtfExt>,
    pub(crate) functions: Vec<Function>,
    pub(crate) references: References,
}

impl Object {
    /// Parses the bytes of an object file.
    pub fn parse(data: &[u8]) -> Result<Object, ObjectError> {
        let elf = Elf::parse(data)?;
        let btf = elf.section(".BTF").map(|section| Btf::parse(section.data)).transpose()?;
        let ext = match (&btf, elf.section(".BTF.ext")) {
            (Some(btf), Some(section)) => Some(BtfExt::parse(section.data, btf)?),
            _ => None,
        };
        let functions = functions::find(&elf)?;
        let programs: Vec<ProgramEntry> = functions::programs(&functions)
            .into_iter()
            .map(|index| {
                let Function { name, section_name, .. } = &functions[index];
                ProgramEntry {
                    name: name.clone(),
                    section: section_name.clone(),
                    kind: kind::guess(section_name, name, btf.as_ref()),
                    function: index,
                }
            })
            .collect();
        if programs.is_empty() {
            let hint =
                "write each program as a global function in its own section, such as SEC(\"xdp\")";
            return Err(ObjectError::file(
                codes::OBJECT_WITHOUT_PROGRAMS,
                "the object has no program",
                hint,
            ));
        }
        let mut maps = MapTable::read(&elf, btf.as_ref())?;
        let at = |section: usize, offset: u64| {
            programs.iter().position(|program| {
                let function = &functions[program.function];
                function.section == section && function.first as u64 * 8 == offset
            })
        };
        let sections: Vec<&str> = programs.iter().map(|p| p.section.as_str()).collect();
        maps.fill_slots(&elf, &at, &sections)?;
        let references = references::read(&elf, btf.as_ref(), &maps);
        let license = elf.section("license").map(|section| {
            let end = section.data.iter().position(|b| *b == 0).unwrap_or(section.data.len());
            printable(&section.data[..end])
        });
        Ok(Object {
            license,
            programs,
            variables: variables(&elf, &maps),
            maps: maps.maps.into_iter().map(|map| map.def).collect(),
            btf,
            ext,
            functions,
            references,
        })
    }

    /// Returns the name and the number of instruction slots of each function, programs included.
    /// Functions whose code cannot be decoded are left out.
    pub fn function_slots(&self) -> impl Iterator<Item = (&str, usize)> {
        self.functions
            .iter()
            .filter_map(|of| Some((of.name.as_str(), of.code.as_ref().ok()?.len())))
    }

    /// Returns the instruction at a slot of a function; `None` if the object has no such slot.
    pub fn insn(&self, function: &str, slot: usize) -> Option<Insn> {
        let function = self.functions.iter().find(|one| one.name == function)?;
        function.code.as_ref().ok()?.get(slot).copied()
    }

    /// Overwrites the instructions of a function from `slot` on, and removes the relocations of the
    /// overwritten slots. If the function does not have all these slots, changes nothing and
    /// returns false.
    pub fn replace_insns(&mut self, function: &str, slot: usize, insns: &[Insn]) -> bool {
        let Some(function) = self.functions.iter_mut().find(|one| one.name == function) else {
            return false;
        };
        let slots = slot..slot + insns.len();
        let Some(code) = function.code.as_mut().ok().and_then(|code| code.get_mut(slots.clone()))
        else {
            return false;
        };
        code.copy_from_slice(insns);
        for slot in slots.start + function.first..slots.end + function.first {
            self.references.remove(&(function.section, slot));
        }
        if let Some(ext) = &mut self.ext {
            let bytes = (slots.start + function.first) * 8..(slots.end + function.first) * 8;
            for (section, records) in &mut ext.core {
                if *section == function.section_name {
                    records.retain(|record| !bytes.contains(&(record.offset as usize)));
                }
            }
        }
        true
    }

    /// Returns the index of the function that starts at a slot of a section; `None` if no function
    /// starts there.
    pub(crate) fn function_at(&self, section: usize, slot: i64) -> Option<usize> {
        let slot = usize::try_from(slot).ok()?;
        let found = self.functions.binary_search_by_key(&(section, slot), |f| (f.section, f.first));
        found.ok()
    }
}

fn variables(elf: &Elf, maps: &MapTable) -> Vec<Variable> {
    let variable = |symbol: &crate::elf::Symbol| {
        let map = maps.data_of(symbol.section()?)?;
        let (offset, size) = (symbol.value, symbol.size);
        Some(Variable { name: symbol.name.clone(), map, offset, size })
    };
    elf.symbols.iter().filter(|s| s.kind == SymbolKind::Object).filter_map(variable).collect()
}
