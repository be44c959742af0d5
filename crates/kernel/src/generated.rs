//! Generation of helper programs, which run before or around a program that is timed or run live.

mod assembly;
mod entry;

use std::io;

use slowpath_bpf::MapKind;
use thiserror::Error;

pub use assembly::Assembly;
pub use entry::Entry;

use crate::LoadedProgram;
use crate::sys::{Cpus, MapSpec, RawMap};

/// The only key of maps with one element.
pub const KEY: [u8; 4] = [0; 4];

/// A failure to load a generated program or to connect it with another.
#[derive(Debug, Error)]
pub enum GeneratedError {
    /// The kernel rejects the program or a map that it needs.
    #[error("the kernel refuses {what} that measuring needs: {cause}")]
    Refused {
        /// Kind of the rejected object.
        what: &'static str,
        /// The kernel's error.
        cause: io::Error,
    },
    /// The kernel does not accept a program as target of a tail call.
    #[error("the kernel does not let the program be called by another one: {cause}")]
    Selected {
        /// The kernel's error.
        cause: io::Error,
    },
}

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
