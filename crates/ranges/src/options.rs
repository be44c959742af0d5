//! Defines the options of the analysis, which select full precision or the precision of another
//! tool, such as the kernel's verifier.

use slowpath_ir::{BlockId, Program, Reg};

/// The bytes of memory whose values the analysis tracks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MemoryModel {
    /// All bytes at known offsets, except those in maps, which other cores may change.
    #[default]
    Every,
    /// The bytes that the kernel's verifier tracks. The verifier tracks the context, aligned 8-byte
    /// stack slots that are written and read as a whole, and stack bytes that are zero. Used by
    /// callers that must not use facts that the verifier does not know.
    Slots,
}

/// Options of the analysis; the default is full precision.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options<'a> {
    /// The bytes of memory whose values are tracked.
    pub memory: MemoryModel,
    /// Registers whose values are available even if no operation reads them.
    ///
    /// Use this only for programs from which no operations with unused results were removed. If
    /// operations are missing, a register that no operation reads may have an older value than on
    /// the original machine.
    pub keep: &'a [Reg],
    /// Blocks after which the analysis follows both edges, even if it knows the branch condition.
    /// Used by callers that must not use facts that another tool does not know.
    pub undecided: &'a [BlockId],
}

/// The program and the memory model, which every step of the analysis needs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Setting<'a> {
    pub program: &'a Program,
    pub memory: MemoryModel,
}
