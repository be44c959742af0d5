//! The data types of the control-flow graph that passes rewrite: blocks, instructions, and ends of
//! blocks.

use slowpath_bpf::insn::{Condition, Insn, Register, Source, Width};
use slowpath_bpf::{BpfProgram, Subprogram};

/// Index of a block in [`Graph::blocks`].
pub(crate) type BlockId = usize;

/// Index of a function in [`Graph::functions`].
pub(crate) type FunctionId = usize;

/// The operation of an instruction that neither jumps nor exits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Op {
    /// An instruction that does not refer to another instruction or function.
    Insn(Insn),
    /// Calls another function of the program.
    Call(FunctionId),
    /// Loads the address of a function of the program, for helpers that call it back.
    Address(Register, FunctionId),
}

/// An instruction of a rewritten program, with the slot in the original program that it comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Instr {
    pub op: Op,
    /// Slot in the original program that the instruction comes from.
    pub origin: usize,
}

/// A comparison of a register with an operand, as the condition of a branch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Test {
    pub width: Width,
    pub cond: Condition,
    pub dst: Register,
    pub src: Source,
}

/// The jump, branch or exit at the end of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    Jump(BlockId),
    Branch {
        test: Test,
        /// The next block if the comparison `test` holds.
        taken: BlockId,
        /// The next block if the comparison `test` does not hold.
        other: BlockId,
    },
    /// Tests the kernel's budget for loop iterations ([`Insn::MayGoto`]).
    MayGoto {
        taken: BlockId,
        other: BlockId,
    },
    /// Returns from the function.
    Exit,
    /// Jumps to the start of the unchanged copy of the original program, with the context in `r1`.
    Original,
}

impl End {
    /// Lists the blocks that can follow this end of a block. The copy of the original program is
    /// not among them.
    pub fn successors(self) -> impl Iterator<Item = BlockId> {
        let (first, second) = match self {
            End::Jump(to) => (Some(to), None),
            End::Branch { taken, other, .. } | End::MayGoto { taken, other } => {
                (Some(taken), Some(other))
            }
            End::Exit | End::Original => (None, None),
        };
        first.into_iter().chain(second)
    }

    /// Replaces each block that can follow this end by the block that `to` returns for it.
    pub fn map(self, mut to: impl FnMut(BlockId) -> BlockId) -> End {
        match self {
            End::Jump(next) => End::Jump(to(next)),
            End::Branch { test, taken, other } => {
                End::Branch { test, taken: to(taken), other: to(other) }
            }
            End::MayGoto { taken, other } => End::MayGoto { taken: to(taken), other: to(other) },
            End::Exit => End::Exit,
            End::Original => End::Original,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Block {
    pub insns: Vec<Instr>,
    pub end: End,
    /// Slot in the original program of the jump, branch or exit at the block's end.
    pub origin: usize,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Graph {
    pub blocks: Vec<Block>,
    /// The functions of the program, each with the index of its first block. The entry function
    /// comes first.
    pub functions: Vec<(Subprogram, BlockId)>,
}

/// A program that was emitted from a control-flow graph, as instruction slots.
#[derive(Clone, Debug)]
pub(crate) struct Emitted {
    pub program: BpfProgram,
    /// Slot of the original program from which each slot of the program comes.
    pub origins: Vec<usize>,
    /// First slot of the unchanged copy of the original program; `None` if the program contains no
    /// copy.
    pub original: Option<usize>,
}

impl Graph {
    /// Returns the index of the first block of the entry function.
    pub fn entry(&self) -> BlockId {
        self.functions[0].1
    }

    /// Returns the slot of the original program from which the first instruction of a block comes.
    pub fn begins(&self, block: BlockId) -> usize {
        let Block { insns, origin, .. } = &self.blocks[block];
        insns.first().map_or(*origin, |instr| instr.origin)
    }
}
