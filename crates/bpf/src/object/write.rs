//! Writes object files: stores linked programs with the maps, data and types of their object in a
//! relocatable file for loaders.
//!
//! Entry functions are global and in the sections of their programs. Subprograms are in `.text`,
//! where libbpf expects them. BTF in `.maps` defines all maps, whatever form the original
//! definitions had. `.BTF.ext` contains function types and source lines, but no CO-RE relocations,
//! which linking has applied.
//!
//! Sources: the kernel's `Documentation/bpf/llvm_reloc.rst` and `btf.rst`; the forms that libbpf
//! 1.x accepts (`bpf_object__add_programs`, `bpf_program__record_reloc`).

mod code;
mod error;
mod file;
mod functions;
mod lines;
mod maps;
mod names;
mod types;

pub use error::WriteError;

use self::types::{Types, function_types};
use super::parsed::Object;
use super::program::BpfProgram;
use crate::SlotRef;
use crate::btf::{self, FuncRecord, Strings};

impl Object {
    /// Encodes an object file that contains `programs` in place of the programs of this object. The
    /// programs use the maps of this object, with their current definitions and content. If an
    /// initial map element is a program of this object, it becomes the first of `programs` with the
    /// same [`BpfProgram::number`].
    ///
    /// Functions that several programs share are written once. Names that are in use, or that the
    /// kernel rejects, change: `PART:MAP` becomes `PART_MAP`.
    ///
    /// # Errors
    /// Fails if a program does not have the form that [`Object::link`] produces, or has unresolved
    /// instructions. Also fails if BTF cannot define a map, or if an initial map element is a
    /// program that is not written.
    pub fn write(&self, programs: &[&BpfProgram]) -> Result<Vec<u8>, WriteError> {
        if programs.is_empty() {
            return Err(WriteError::NoProgram);
        }
        let plan = functions::plan(programs)?;
        let layout = code::Layout::new(&plan);
        let mut types = Types::new(self);
        let maps = maps::plan(self, &mut types)?;
        let mut file = file::File::new(&layout, &plan);
        file.add_maps(self, &maps);
        for (number, function) in plan.functions.iter().enumerate() {
            let owner = programs.iter().position(|p| std::ptr::eq(*p, function.program));
            let callees = owner.map_or(&[][..], |owner| &plan.function_indices[owner]);
            let code = code::code(function, self, (&plan, &layout), callees)?;
            file.add_code(&layout, number, &code)?;
        }
        for map in &maps.defined {
            for (offset, slot) in &map.slots {
                let (symbol, what) = match *slot {
                    SlotRef::Map(map) => (file.map(map), "map"),
                    SlotRef::Program(number) => {
                        let entry = programs.iter().position(|program| program.number == number);
                        (
                            entry.and_then(|entry| file.function(plan.function_indices[entry][0])),
                            "program",
                        )
                    }
                };
                let what = || format!("a slot holds a {what} that is not written");
                let symbol = symbol.ok_or_else(|| WriteError::map(&map.name, what()))?;
                file.fill(*offset, symbol)?;
            }
        }
        if let Err(name) = types.kernel_functions(&file.kernel_functions()) {
            let text = format!("the object does not declare the kernel function {name}");
            return Err(WriteError::file(text));
        }
        if let Some(license) = &self.license {
            file.add_data("license", &[license.as_bytes(), b"\0"].concat());
        }
        self.add_types(&plan, &layout, types, &mut file);
        file.finish()
    }

    /// Returns the names of the maps in the output of [`Object::write`], in the order of
    /// [`Object::maps`]. Global data has the names of its sections.
    pub fn written_names(&self) -> Vec<String> {
        maps::names(self)
    }

    fn add_types(
        &self,
        plan: &functions::Plan,
        layout: &code::Layout,
        mut types: Types,
        file: &mut file::File,
    ) {
        let mut strings = Strings::default();
        let mut ext = None;
        if self.btf.is_some() {
            let type_of = function_types(self);
            let records = layout.by_section(plan, |function, offset| {
                let origin = &function.program.subprograms[function.number];
                let known = type_of(&origin.section, origin.section_slot, &origin.name);
                // A new entry function gets the type of the original entry function.
                let entry = self.programs.get(function.program.number);
                let entry = entry.filter(|_| function.section.is_some());
                let known = known.or_else(|| {
                    let old = &self.functions[entry?.function];
                    type_of(&old.section_name, old.first, &old.name)
                });
                let ty = types.function(&function.name, known, function.global());
                vec![FuncRecord { offset, ty }]
            });
            let lines = lines::lines(plan, layout, &mut strings);
            ext = Some((records, lines));
        }
        if types.is_empty() {
            return;
        }
        let encoded = types.btf.encode_types(&mut strings);
        let ext = ext.map(|(functions, lines)| btf::encode_ext(&functions, &lines, &mut strings));
        file.add_types(".BTF", &btf::section(&encoded, &strings));
        if let Some(ext) = ext {
            file.add_types(".BTF.ext", &ext);
        }
    }
}
