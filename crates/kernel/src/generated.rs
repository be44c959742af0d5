//! Generates small BPF programs that run before or around a program while it is timed or run live.

mod assembly;
mod entry;

use slowpath_codes as codes;
use std::io;

use slowpath_bpf::MapKind;
use thiserror::Error;

pub use assembly::Assembly;
pub use entry::Entry;

use crate::LoadedProgram;
use crate::program::Variant;
use crate::sys::{Cpus, MapSpec, RawMap};

/// The only key of a map with one element.
pub const KEY: [u8; 4] = [0; 4];

/// An error that prevents a generated program from being loaded or connected with another one.
#[derive(Debug, Error)]
pub enum GeneratedError {
    /// The kernel rejected the program, or a map that it needs.
    #[error("the kernel refuses {what} that measuring needs: {cause}")]
    Refused {
        /// Object that the kernel rejected, such as `a map`, for the error message.
        what: &'static str,
        /// The error that the kernel returned.
        cause: io::Error,
    },
    /// The kernel does not allow a generated program to tail-call another program.
    #[error("the kernel does not let the program be called by another one: {cause}")]
    Selected {
        /// The error that the kernel returned.
        cause: io::Error,
    },
}

impl GeneratedError {
    /// Returns the error code of the cause, such as `SP0301`.
    pub fn code(&self) -> codes::Code {
        match self {
            GeneratedError::Refused { .. } | GeneratedError::Selected { .. } => {
                codes::KERNEL_UNAVAILABLE
            }
        }
    }
}

/// Creates a map with one element, whose value has `value_size` bytes.
pub fn map(
    name: &str,
    kind: MapKind,
    value_size: u32,
    cpus: Cpus,
) -> Result<RawMap, GeneratedError> {
    RawMap::create(&MapSpec::plain(name, kind, value_size, 1, cpus))
        .map_err(|cause| GeneratedError::Refused { what: "a map", cause })
}

/// Loads generated code as a program.
pub fn load(
    name: &str,
    code: &Assembly,
    variant: Variant,
) -> Result<LoadedProgram, GeneratedError> {
    LoadedProgram::generated(name, &code.code(), variant)
        .map_err(|cause| GeneratedError::Refused { what: "a program", cause })
}
