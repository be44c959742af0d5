//! Programs that this crate generates: helper programs around a program that is timed or run live.

mod assembly;
mod entry;
mod error;

use std::collections::BTreeMap;

use slowpath_bpf::MapKind;

pub use assembly::Assembly;
pub use entry::Entry;
pub use error::GeneratedError;

use crate::LoadedProgram;
use crate::program::load_generated;
use crate::sys::{Cpus, MapSpec, RawMap};

/// The only key of maps with one element.
pub const KEY: [u8; 4] = [0; 4];

/// Creates a map of one element.
pub fn map(
    name: &str,
    kind: MapKind,
    value_size: u32,
    cpus: Cpus,
) -> Result<RawMap, GeneratedError> {
    let spec = MapSpec {
        name,
        kind: kind.0,
        key_size: 4,
        value_size,
        max_entries: 1,
        flags: 0,
        extra: 0,
        inner: None,
        btf: None,
        cpus,
    };
    RawMap::create(&spec).map_err(|cause| GeneratedError::Refused { what: "a map", cause })
}

/// Loads generated code; with `fragments`, it accepts multi-buffer packets. The kernel keeps the
/// maps that the code refers to.
pub fn load(name: &str, code: &Assembly, fragments: bool) -> Result<LoadedProgram, GeneratedError> {
    let loaded = load_generated(name, &code.code(), fragments);
    let fd = loaded.map_err(|cause| GeneratedError::Refused { what: "a program", cause })?;
    Ok(LoadedProgram::new(fd, BTreeMap::new(), BTreeMap::new()).with_fragments(fragments))
}
