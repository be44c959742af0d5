//! Why a program cannot be executed symbolically, and at which instruction, where one is to blame.

use slowpath_stop::Reason;
use thiserror::Error;

/// A program that cannot be executed symbolically.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ExecError {
    /// A load or store through something that is not a pointer on some path.
    #[error(
        "instruction .{insn}: the address does not point into a known memory region \
         (packet, stack, context or map)"
    )]
    UnknownRegion {
        /// The instruction.
        insn: u32,
    },
    /// A register without a value.
    #[error("instruction .{insn}: register {register} is read before it is written")]
    Undefined {
        /// The instruction.
        insn: u32,
        /// The register.
        register: String,
    },
    /// Execution was stopped before it was done.
    #[error("stopped: {0}")]
    Stopped(Reason),
    /// A value was asked for on a path that does not pass where it is defined: a defect here.
    #[error("internal error: {term} is not defined on this path")]
    OffPath {
        /// The value.
        term: String,
    },
}
