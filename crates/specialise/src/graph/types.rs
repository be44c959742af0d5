//! Blocks, instructions, ends.

use slowpath_bpf::insn::{Condition, Insn, Register, Source, Width};
use slowpath_bpf::{BpfProgram, Subprogram};

/// A block, by its place in [`Graph::blocks`].
pub(crate) type BlockId = usize;

/// A function, by its place in [`Graph::functions`].
pub(crate) type FunctionId = usize;

/// What an instruction does that neither jumps nor ends the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Op {
    /// An instruction that does not name another one.
    Insn(Insn),
    /// A call of a function of the program.
    Call(FunctionId),
    /// The address of a function of the program, for helpers that call back.
    Address(Register, FunctionId),
}

/// An instruction, and where it comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Instr {
    pub op: Op,
    /// The slot of the original program that it stands for.
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

/// How a block ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    Jump(BlockId),
    Branch {
        test: Test,
        /// If the test holds.
        taken: BlockId,
        /// If it does not.
        other: BlockId,
    },
    /// The kernel's loop budget: [`Insn::MayGoto`].
    Budget {
        taken: BlockId,
        other: BlockId,
    },
    /// Return from the function.
    Exit,
    /// On to the start of the program as it was written, with the context in `r1`.
    Original,
}

impl End {
    /// Where it leads.
    pub fn successors(self) -> impl Iterator<Item = BlockId> {
        let (first, second) = match self {
            End::Jump(to) => (Some(to), None),
            End::Branch { taken, other, .. } | End::Budget { taken, other } => {
                (Some(taken), Some(other))
            }
            End::Exit | End::Original => (None, None),
        };
        first.into_iter().chain(second)
    }

    /// The same with other blocks.
    pub fn map(self, mut to: impl FnMut(BlockId) -> BlockId) -> End {
        match self {
            End::Jump(next) => End::Jump(to(next)),
            End::Branch { test, taken, other } => {
                End::Branch { test, taken: to(taken), other: to(other) }
            }
            End::Budget { taken, other } => End::Budget { taken: to(taken), other: to(other) },
            End::Exit => End::Exit,
            End::Original => End::Original,
        }
    }
}

/// Instructions that run one behind the other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Block {
    pub insns: Vec<Instr>,
    pub end: End,
    /// The slot of the original program that the end stands for.
    pub origin: usize,
}

/// A program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Graph {
    pub blocks: Vec<Block>,
    /// The program's functions, the entry function first, each with its first block.
    pub functions: Vec<(Subprogram, BlockId)>,
}

/// A program that was written out.
#[derive(Clone, Debug)]
pub(crate) struct Emitted {
    pub program: BpfProgram,
    /// For each of its slots, the slot of the original program that it stands for.
    pub origins: Vec<usize>,
    /// The slot at which the original program begins, if it is part of this one.
    pub original: Option<usize>,
}

impl Graph {
    /// The first block of the program.
    pub fn entry(&self) -> BlockId {
        self.functions[0].1
    }

    /// The slot of the original program at which a block begins.
    pub fn begins(&self, block: BlockId) -> usize {
        let Block { insns, origin, .. } = &self.blocks[block];
        insns.first().map_or(*origin, |instr| instr.origin)
    }
}
