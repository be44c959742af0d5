//! Options of the analysis: full precision, or the precision of another tool such as the kernel's
//! verifier.

use slowpath_ir::{BlockId, Program, Reg};

/// Selection of memory bytes whose values are tracked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MemoryModel {
    /// All bytes at known offsets, except maps, which other cores may change.
    #[default]
    Every,
    /// Bytes that the kernel's verifier tracks: the context, aligned 8-byte stack slots that are
    /// written and read as a whole, and stack bytes that are zero. For uses that must not know more
    /// than the verifier.
    Slots,
}

/// Options of the analysis; the default is full precision.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options<'a> {
    /// Memory bytes to track.
    pub memory: MemoryModel,
    /// Registers that have values even where nothing reads them.
    ///
    /// Only for programs in which dead operations have *not* been removed. Otherwise a dead
    /// register may hold an older value than in the original machine.
    pub keep: &'a [Reg],
    /// Blocks for which both edges are taken even if the condition is known. For uses that must not
    /// depend on facts that another tool lacks.
    pub undecided: &'a [BlockId],
}

/// Inputs of each analysis step.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Setting<'a> {
    pub program: &'a Program,
    pub memory: MemoryModel,
}
