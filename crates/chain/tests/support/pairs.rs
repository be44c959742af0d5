//! Finds the pairs of programs in an object by their names: `KIND_NAME_MORE` is compared with
//! `NAME`.

use slowpath_bpf::{BpfProgram, Object};
use std::path::Path;

/// Returns the object with this name in `tests/objects`.
pub fn object(name: &str) -> Object {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/objects");
    let bytes = std::fs::read(folder.join(format!("{name}.bpf.o"))).expect("the object exists");
    Object::parse(&bytes).expect("it is one")
}

pub fn programs(object: &Object) -> Vec<BpfProgram> {
    (0..object.programs.len()).map(|n| object.link(n, None).expect("links")).collect()
}

/// Returns all pairs whose second program is named `KIND_NAME_MORE` with the given kind. The first
/// program is the one named `NAME`.
pub fn pairs<'a>(programs: &'a [BpfProgram], kind: &str) -> Vec<(&'a BpfProgram, &'a BpfProgram)> {
    let kind = format!("{kind}_");
    let variants = programs.iter().filter_map(|variant| {
        let rest = variant.name.strip_prefix(&kind)?;
        let originals = programs.iter().filter(|original| {
            rest.strip_prefix(&original.name).is_some_and(|r| r.is_empty() || r.starts_with('_'))
        });
        let original = originals.max_by_key(|original| original.name.len());
        Some((original.expect("a variant of a program"), variant))
    });
    variants.collect()
}
