//! The loader of this project, called like the loaders that it is compared with.

use slowpath_bpf::Object;
use slowpath_kernel::Kernel;

use crate::attempt::{Failure, LoadResult};
use crate::wanted::{DEFAULT_ENTRIES, Wanted, unsized_maps};

/// Loads a program of an ELF object with the loader of this project.
pub fn load(data: &[u8], wanted: &Wanted) -> LoadResult {
    let failure = |error: String| Failure { error, ..Failure::default() };
    let kernel = Kernel::available().map_err(|e| failure(e.to_string()))?;
    let mut object = Object::parse(data).map_err(|e| failure(e.to_string()))?;
    let named =
        |p: &slowpath_bpf::ProgramEntry| p.name == wanted.program && p.section == wanted.section;
    let number = object.programs.iter().position(named);
    let number = number.ok_or_else(|| failure("there is no such program".to_owned()))?;
    let names: Vec<String> = unsized_maps(&object).map(str::to_owned).collect();
    for map in object.maps.iter_mut().filter(|map| names.contains(&map.name)) {
        map.max_entries = DEFAULT_ENTRIES;
    }
    match kernel.load(&object, number) {
        Ok(loaded) => Ok(Box::new(loaded)),
        Err(error) => Err(failure(error.to_string())),
    }
}
