//! Holds a parsed object, with all parts that do not depend on a kernel.

use super::entry::ProgramEntry;
use super::functions::{self, Function};
use super::kind;
use super::references::{self, References};
use crate::btf::BtfExt;
use crate::elf::{Elf, SymbolKind};
use crate::error::printable;
use crate::maps::{MapDef, MapTable, Variable};
use crate::{Btf, ObjectError};

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
                "functions of programs are global and in sections of their own, as SEC(\"xdp\")";
            return Err(ObjectError::file("the object has no program", hint));
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
