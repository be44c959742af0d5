//! Defines programs of the intermediate representation. They consist of tables of instructions,
//! blocks, registers, inputs, regions and cost classes.

use crate::{BlockId, CostClassId, Draw, InputId, InsnIdx, OriginOp, Reg, RegionId};

/// Source line of an instruction, from the object's debug information.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SourceLocation {
    /// Name of the source file, as in the debug information.
    pub file: String,
    /// Line number, from 1.
    pub line: u32,
}

/// One instruction of the original program, for reports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Instruction {
    /// The instruction as text, in the style of the disassembler of its instruction set.
    pub text: String,
    /// Source line; `None` if the object has no debug information for the instruction.
    pub source: Option<SourceLocation>,
}

/// Name and width of a virtual register.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegInfo {
    /// Name of the register for error messages.
    pub name: String,
    /// Width of the register in bits, 1 to 64.
    pub width: u8,
}

/// The quantity that an [`Input`] stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InputKind {
    /// Length of the packet in bytes, without the frame check sequence.
    PacketLength,
    /// Address of the first byte of a region.
    BaseAddress(RegionId),
    /// Any value, such as the content of an uninitialised register.
    Unknown,
}

/// An unknown value of the environment, which is constant during one run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Input {
    /// Name of the input for error messages.
    pub name: String,
    /// Width of the input in bits, 1 to 64.
    pub width: u8,
    /// Smallest possible value of the input.
    pub min: u64,
    /// Largest possible value of the input.
    pub max: u64,
    /// The quantity that the input stands for.
    pub kind: InputKind,
}

/// Kinds of memory that reports distinguish.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RegionKind {
    /// The packet, from its first byte.
    Packet,
    /// Memory private to one run of the program.
    Stack,
    /// Data besides the packet that the device passes to the program.
    Context,
    /// State that persists between packets and is shared between cores.
    Map,
}

/// A memory region: memory of one kind at an unknown address, such as the packet, the stack or a
/// map. A pointer never leaves its region.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Region {
    /// Name for reports, such as `packet`, `stack`, `dram` or the name of a map.
    pub name: String,
    /// Kind of memory, for reports.
    pub kind: RegionKind,
    /// Register that holds the address of the region's first byte. Only the operations before the
    /// first instruction (the prologue) write it. Its width is the width of addresses into this
    /// region.
    pub base: Reg,
    /// Content of the region before the first instruction; all bytes beyond this list are zero.
    /// `None` if the content is unknown.
    pub content: Option<Vec<u8>>,
}

/// One unit of work, to which the cost model of the target assigns a price.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CostEvent {
    /// The instruction that does the work.
    pub insn: InsnIdx,
    /// Kind of the work, which determines its price.
    pub class: CostClassId,
}

/// Target of an edge of the control-flow graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Destination {
    /// A block of the program.
    Block(BlockId),
    /// The end of the program. The number distinguishes the exits of a program. In a program from
    /// an assembly listing, it is the target of the branch out of the program.
    Exit(u32),
    /// No target, because a run that takes this edge contradicts a guarantee of the device.
    Never,
}

/// An edge out of a block, with the costs of the branch instruction and its delay slots.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edge {
    /// Block or exit to which the edge leads.
    pub target: Destination,
    /// Work that is done on this edge, in order, after the block's own work.
    pub costs: Vec<CostEvent>,
}

/// The last operation of a block, which selects the edge along which a run continues.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Terminator {
    /// Continues along the only edge.
    Jump(Edge),
    /// Continues along one of two edges, which a condition selects.
    Branch {
        /// The 1-bit register that contains the condition. The branch reads it after the block's
        /// operations.
        cond: Reg,
        /// Edge that is taken if the condition is set.
        taken: Edge,
        /// Edge that is taken if the condition is not set.
        fallthrough: Edge,
    },
}

impl Terminator {
    /// Returns the edges out of the block: `taken` before `fallthrough`.
    pub fn edges(&self) -> impl Iterator<Item = &Edge> {
        let (first, second) = match self {
            Terminator::Jump(edge) => (edge, None),
            Terminator::Branch { taken, fallthrough, .. } => (taken, Some(fallthrough)),
        };
        std::iter::once(first).chain(second)
    }

    /// Returns the blocks to which edges lead, in the order of the edges.
    pub fn successors(&self) -> impl Iterator<Item = BlockId> {
        self.edges().filter_map(|edge| match edge.target {
            Destination::Block(next) => Some(next),
            Destination::Exit(_) | Destination::Never => None,
        })
    }
}

/// A basic block: micro-operations with their costs, and a jump or branch at the end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    /// First instruction of the block; reports identify the block by the number of this
    /// instruction.
    pub first: InsnIdx,
    /// Instructions that the block executes, in order, including delay slots.
    pub insns: Vec<InsnIdx>,
    /// Micro-operations of the block's instructions, in order.
    pub ops: Vec<OriginOp>,
    /// Work that the instructions of the block do, in order. The edges of the terminator contain
    /// the work of the branch at the end.
    pub costs: Vec<CostEvent>,
    /// The jump or branch at the end of the block.
    pub terminator: Terminator,
}

/// A limit on the number of times that a block runs, which the device enforces for every program.
/// Examples are the kernel's limit on iterations of `bpf_loop` and its counter for `may_goto`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VisitLimit {
    /// Block whose number of runs is limited.
    pub block: BlockId,
    /// Block that resets the count whenever it runs.
    pub reset_by: BlockId,
    /// Maximum number of runs of `block` between two runs of `reset_by`.
    pub max_visits: u64,
    /// Name of the mechanism that sets the limit, such as `bpf_loop`.
    pub by: String,
    /// Condition under which the device sets the limit, as one sentence; `None` if it always does.
    pub condition: Option<String>,
}

/// A program: one entry function of one object. The default program is empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Program {
    /// Name of the program for reports.
    pub name: String,
    /// Instructions of the original listing or object.
    pub insns: Vec<Instruction>,
    /// Virtual registers.
    pub regs: Vec<RegInfo>,
    /// Unknown values of the environment, such as the packet's length.
    pub inputs: Vec<Input>,
    /// Descriptions of the values that the program draws, such as times and random numbers.
    pub draws: Vec<Draw>,
    /// Memory regions.
    pub regions: Vec<Region>,
    /// Names of the cost classes. The cost model of a target looks up prices by these names.
    pub cost_classes: Vec<String>,
    /// Operations before the first instruction, which set the initial state of registers and
    /// memory. The prologue or a block must write each register before it is read.
    pub prologue: Vec<OriginOp>,
    /// Basic blocks.
    pub blocks: Vec<Block>,
    /// The block at which a run starts, after the prologue.
    pub entry: BlockId,
    /// Input that stands for the packet's length; `None` if the program cannot read the length.
    pub packet_length: Option<InputId>,
    /// Assumptions that the front end made when it built the program, one sentence for each.
    pub assumptions: Vec<String>,
    /// Assumptions on which only some runs rely, one sentence for each; see
    /// [`Op::Rely`](crate::Op::Rely).
    pub reliances: Vec<String>,
    /// Limits that the device sets on the number of times that blocks run.
    pub visit_limits: Vec<VisitLimit>,
}

impl Program {
    /// Returns the block with this id.
    pub fn block(&self, id: BlockId) -> &Block {
        &self.blocks[id.index()]
    }

    /// Returns the width of a register in bits.
    pub fn width(&self, reg: Reg) -> u8 {
        self.regs[reg.index()].width
    }
}
