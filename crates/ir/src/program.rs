//! Programs: tables of instructions, blocks, registers, inputs, regions and cost classes.

use crate::{BlockId, CostClassId, Draw, InputId, InsnIdx, OriginOp, Reg, RegionId};

/// Where an instruction comes from, when the object has debug information.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SourceLocation {
    /// Source file as the debug information names it.
    pub file: String,
    /// Line number, from 1.
    pub line: u32,
}

/// One instruction of the original program, for reports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Instruction {
    /// The instruction as its disassembler prints it.
    pub text: String,
    /// Source line, if known.
    pub source: Option<SourceLocation>,
}

/// A virtual register.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegInfo {
    /// Name for messages.
    pub name: String,
    /// Width in bits, 1 to 64.
    pub width: u8,
}

/// What an [`Input`] stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InputKind {
    /// The length of the packet in bytes, without the frame check sequence.
    PacketLength,
    /// The address of the first byte of a region.
    BaseAddress(RegionId),
    /// Anything: registers that nothing has initialised.
    Unknown,
}

/// An unknown of the environment, constant during one run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Input {
    /// Name for messages.
    pub name: String,
    /// Width in bits, 1 to 64.
    pub width: u8,
    /// Smallest value it can have.
    pub min: u64,
    /// Largest value it can have.
    pub max: u64,
    /// What it stands for.
    pub kind: InputKind,
}

/// The kinds of memory that reports tell apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RegionKind {
    /// The packet, from its first byte.
    Packet,
    /// Memory private to one run of the program.
    Stack,
    /// What the device hands to the program besides the packet.
    Context,
    /// State that persists between packets and is shared between cores.
    Map,
}

/// A memory region.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Region {
    /// Name for reports (`packet`, `stack`, `dram`, a map's name).
    pub name: String,
    /// Its kind.
    pub kind: RegionKind,
    /// The register that holds the address of its first byte after the prologue. It is written
    /// there only; its width is the width of addresses into this region.
    pub base: Reg,
    /// What it holds before the first instruction: `None` when that is unknown; else these bytes
    /// from its first one on, and every byte behind them zero.
    pub content: Option<Vec<u8>>,
}

/// One unit of work for the target to price.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CostEvent {
    /// The instruction that does the work.
    pub insn: InsnIdx,
    /// What kind of work it is.
    pub class: CostClassId,
}

/// Where control goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Destination {
    /// To another block.
    Block(BlockId),
    /// Out of the program; the number names the way out (for listings: the branch target).
    Exit(u32),
    /// Nowhere: no run comes here. What takes this way contradicts what the device guarantees.
    Never,
}

/// A way out of a block, with the work done on the way (the branch itself, its delay slots).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edge {
    /// Where it leads.
    pub target: Destination,
    /// Work done on this edge, after the block's own, in order.
    pub costs: Vec<CostEvent>,
}

/// The end of a block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Terminator {
    /// One way on.
    Jump(Edge),
    /// Two ways on.
    Branch {
        /// A 1-bit register, as it is at the end of the block's operations.
        cond: Reg,
        /// The way when the bit is set.
        taken: Edge,
        /// The way when it is not.
        fallthrough: Edge,
    },
}

impl Terminator {
    /// The edges out of the block: `taken` before `fallthrough`.
    pub fn edges(&self) -> impl Iterator<Item = &Edge> {
        let (first, second) = match self {
            Terminator::Jump(edge) => (edge, None),
            Terminator::Branch { taken, fallthrough, .. } => (taken, Some(fallthrough)),
        };
        std::iter::once(first).chain(second)
    }
}

/// A basic block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    /// The number of its first instruction; blocks are named by it in reports.
    pub first: InsnIdx,
    /// The instructions it executes, delay slots included, in order.
    pub insns: Vec<InsnIdx>,
    /// Their meaning.
    pub ops: Vec<OriginOp>,
    /// Their work, in order, up to the branch.
    pub costs: Vec<CostEvent>,
    /// How it ends.
    pub terminator: Terminator,
}

/// A limit on how often a block runs that the device sets, whatever the program says: the kernel's
/// on rounds of `bpf_loop`, its counter of `may_goto`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VisitLimit {
    /// The block.
    pub block: BlockId,
    /// The count starts anew whenever this block runs.
    pub since: BlockId,
    /// Runs of `block` at most between two runs of `since`.
    pub most: u64,
    /// Name of what sets the limit, such as `bpf_loop`.
    pub by: String,
    /// What has to hold for the device to set it, one sentence; `None` where it always does.
    pub condition: Option<String>,
}

/// A program: one entry function of one object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// Name for reports.
    pub name: String,
    /// The original instructions.
    pub insns: Vec<Instruction>,
    /// Virtual registers.
    pub regs: Vec<RegInfo>,
    /// Unknowns of the environment.
    pub inputs: Vec<Input>,
    /// What the values that it draws are called.
    pub draws: Vec<Draw>,
    /// Memory regions.
    pub regions: Vec<Region>,
    /// Names of the cost classes, as targets know them.
    pub cost_classes: Vec<String>,
    /// What happens before the first instruction: the start state of registers and memory. A
    /// register that neither the prologue nor a block defines before its use is an error.
    pub prologue: Vec<OriginOp>,
    /// Basic blocks.
    pub blocks: Vec<Block>,
    /// The first block.
    pub entry: BlockId,
    /// The packet's length, if the program can tell.
    pub packet_length: Option<InputId>,
    /// What the front end had to assume, one sentence each.
    pub assumptions: Vec<String>,
    /// What single runs can rely on, one sentence each, see [`Op::Rely`](crate::Op::Rely).
    pub reliances: Vec<String>,
    /// How often the device lets blocks run.
    pub visit_limits: Vec<VisitLimit>,
}

impl Program {
    /// The block with this id.
    pub fn block(&self, id: BlockId) -> &Block {
        &self.blocks[id.index()]
    }

    /// Width of a register in bits.
    pub fn width(&self, reg: Reg) -> u8 {
        self.regs[reg.index()].width
    }
}
