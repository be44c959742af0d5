//! What an analysis follows: as much as it can, or only what somebody else (the kernel's verifier)
//! knows as well.

use slowpath_ir::{BlockId, Program, Reg};

/// Which bytes of memory have values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MemoryModel {
    /// All at known offsets, but those of maps, which other cores may change.
    #[default]
    Every,
    /// Those that the kernel's verifier follows: the context, the stack's slots of 8 bytes as long
    /// as they are written and read as a whole, and the stack's bytes that are zero. For facts that
    /// have to be those of the verifier and no better ones.
    Slots,
}

/// What an analysis follows; by default as much as it can.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options<'a> {
    /// Bytes of memory.
    pub memory: MemoryModel,
    /// Registers that have values even where nothing reads them.
    ///
    /// Only for programs from which dead operations have *not* been removed: in others, a register
    /// that nothing reads may hold an older value than the original machine's.
    pub keep: &'a [Reg],
    /// Blocks both of whose ways on are followed, even where their condition is known: for facts that
    /// must not depend on more than someone else knows.
    pub undecided: &'a [BlockId],
}

/// What every step has to know.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Setting<'a> {
    pub program: &'a Program,
    pub memory: MemoryModel,
}
