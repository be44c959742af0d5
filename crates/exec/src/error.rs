//! Errors of symbolic execution, with the instruction that caused them, if any.

use slowpath_codes as codes;
use slowpath_stop::Reason;
use thiserror::Error;

/// The reason why a program cannot be executed symbolically.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ExecError {
    /// On some path, a load or store uses an address that does not point into a known region.
    #[error(
        "instruction .{insn}: the address does not point into a known memory region \
         (packet, stack, context or map)"
    )]
    UnknownRegion {
        /// Number of the load or store instruction in the program.
        insn: u32,
    },
    /// A program reads a register before writing it.
    #[error("instruction .{insn}: register {register} is read before it is written")]
    Undefined {
        /// Number of the reading instruction in the program.
        insn: u32,
        /// Name of the register.
        register: String,
    },
    /// Execution was stopped early, for this reason.
    #[error("stopped: {0}")]
    Stopped(Reason),
    /// A caller asked for a value on a path on which the value is not defined. This is a defect of
    /// slowpath.
    #[error("internal error: {term} is not defined on this path")]
    OffPath {
        /// Text of the term whose value was needed.
        term: String,
    },
}

impl ExecError {
    /// Returns the code of the error's cause, such as `SP0301`.
    pub fn code(&self) -> codes::Code {
        match self {
            ExecError::UnknownRegion { .. } => codes::UNKNOWN_MEMORY,
            ExecError::Undefined { .. } => codes::REGISTER_NOT_WRITTEN,
            ExecError::Stopped(reason) => reason.code(),
            ExecError::OffPath { .. } => codes::INTERNAL_ERROR,
        }
    }
}
