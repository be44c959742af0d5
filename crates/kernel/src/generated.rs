//! Generation of helper programs, which run before or around a program that is timed or run live.

mod assembly;
mod entry;
mod error;

use slowpath_bpf::MapKind;

pub use assembly::Assembly;
pub use entry::Entry;
pub use error::GeneratedError;

use crate::LoadedProgram;
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
    RawMap::create(&MapSpec::plain(name, kind, value_size, 1, cpus))
        .map_err(|cause| GeneratedError::Refused { what: "a map", cause })
}

/// Loads generated code. With `fragments`, the program accepts multi-buffer packets.
pub fn load(name: &str, code: &Assembly, fragments: bool) -> Result<LoadedProgram, GeneratedError> {
    LoadedProgram::generated(name, &code.code(), fragments)
        .map_err(|cause| GeneratedError::Refused { what: "a program", cause })
}
