//! Reads the map definitions of an object, which have three forms: BTF types in the section
//! `.maps`, structures in a section `maps`, and sections of global data.
//!
//! [`crate::lift`] defines the semantics of maps.

mod btf_defined;
mod data;
mod def;
mod kind;
mod legacy;
mod slots;
mod table;
#[cfg(test)]
mod tests;

pub(crate) use btf_defined::definition;
pub use data::Variable;
pub(crate) use data::is_data_section;
pub use def::{MAPPABLE, MapDef, PIN_BY_NAME, READ_ONLY, SlotRef, StatedValue};
pub use kind::MapKind;
pub(crate) use table::MapTable;

use crate::elf::Elf;
use crate::{Btf, ObjectError};

impl MapTable {
    pub fn read(elf: &Elf, btf: Option<&Btf>) -> Result<Self, ObjectError> {
        let mut maps = Vec::new();
        for (index, section) in elf.sections.iter().enumerate() {
            if section.name == "maps" || section.name.starts_with("maps/") {
                legacy::read(elf, index, &mut maps)?;
            }
        }
        legacy::connect(&mut maps);
        for (index, section) in elf.sections.iter().enumerate() {
            if section.name == ".maps" {
                btf_defined::read(elf, index, btf, &mut maps)?;
            }
        }
        let mut size = 0;
        for (index, section) in elf.sections.iter().enumerate() {
            if is_data_section(&section.name) && section.size > 0 {
                maps.push(data::read(section, index, size)?);
                size += section.size;
            }
        }
        Ok(MapTable { maps })
    }

    /// Adds the initial elements of maps, which an object file gives by relocations or by section
    /// names. `program` returns the index of the program that starts at an offset of a section;
    /// `programs` contains the section names of all programs.
    pub fn fill_slots(
        &mut self,
        elf: &Elf,
        program: &dyn Fn(usize, u64) -> Option<usize>,
        programs: &[&str],
    ) -> Result<(), ObjectError> {
        slots::from_relocations(self, elf, program)?;
        slots::from_section_names(self, programs);
        slots::sort(self);
        Ok(())
    }
}
