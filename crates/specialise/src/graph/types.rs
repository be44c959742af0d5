//! Data types of the graph: blocks, instructions, and ends of blocks.

use slowpath_bpf::insn::{Condition, Insn, Register, Source, Width};
use slowpath_bpf::{BpfProgram, Subprogram};

/// Index of a block in [`Graph::blocks`].
pub(crate) type BlockId = usize;

/// Index of a function in [`Graph::functions`].
pub(crate) type FunctionId = usize;

/// Operation of an instruction that neither jumps nor exits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Op {
    /// An instruction that refers to no other instruction.
    Insn(Insn),
    /// A call of another function of the program.
    Call(FunctionId),
    /// A load of the address of a function of the program, for helpers with callbacks.
    Address(Register, FunctionId),
}

/// An instruction, and its origin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Instr {
    pub op: Op,
    /// Slot of the instruction in the original program.
    pub origin: usize,
}

/// A comparison of a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Test {
    pub width: Width,
    pub cond: Condition,
    pub dst: Register,
    pub src: Source,
}

/// End of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    Jump(BlockId),
    Branch {
        test: Test,
        /// Successor if the test holds.
        taken: BlockId,
        /// Successor if the test does not hold.
        other: BlockId,
    },
    /// A test of the kernel's loop budget: [`Insn::MayGoto`].
    MayGoto {
        taken: BlockId,
        other: BlockId,
    },
    /// A return from the function.
    Exit,
    /// A jump to the start of the unchanged original program, with the context in `r1`.
    Original,
}

impl End {
    /// Lists the successors, without the original program.
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

    /// Replaces each successor by the block that `to` returns for it.
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
    /// Slot of the block's end in the original program.
    pub origin: usize,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Graph {
    pub blocks: Vec<Block>,
    /// Functions of the program with their first blocks; the entry function comes first.
    pub functions: Vec<(Subprogram, BlockId)>,
}

/// A program emitted from a graph.
#[derive(Clone, Debug)]
pub(crate) struct Emitted {
    pub program: BpfProgram,
    /// For each slot of the program, the slot of the original program that it comes from.
    pub origins: Vec<usize>,
    /// First slot of the unchanged original program; `None` if it is not included.
    pub original: Option<usize>,
}

impl Graph {
    /// Returns the first block of the entry function.
    pub fn entry(&self) -> BlockId {
        self.functions[0].1
    }

    /// Returns the slot of the original program at which a block begins.
    pub fn begins(&self, block: BlockId) -> usize {
        let Block { insns, origin, .. } = &self.blocks[block];
        insns.first().map_or(*origin, |instr| instr.origin)
    }
}
