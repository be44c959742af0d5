//! Options of the analysis, with full precision or the precision of another tool, such as the
//! kernel's verifier.

use slowpath_ir::{BlockId, Program, Reg};

/// Model of memory, which determines the bytes whose values are tracked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MemoryModel {
    /// All bytes at known offsets, except maps, which other cores may change.
    #[default]
    Every,
    /// Bytes that the kernel's verifier tracks: the context, aligned 8-byte stack slots that are
    /// written and read as a whole, and stack bytes that are zero. For callers that must not use
    /// facts that the verifier lacks.
    Slots,
}

/// Options of the analysis; the default is full precision.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options<'a> {
    /// Model of memory.
    pub memory: MemoryModel,
    /// Registers whose values are available even if no operation reads them.
    ///
    /// Use this only for programs with all their dead operations. Without these operations, a dead
    /// register may have an older value than in the original machine.
    pub keep: &'a [Reg],
    /// Blocks whose edges are both taken even if the condition is known. For callers that must not
    /// use facts that another tool lacks.
    pub undecided: &'a [BlockId],
}

/// Program and options, as each analysis step needs them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Setting<'a> {
    pub program: &'a Program,
    pub memory: MemoryModel,
}
