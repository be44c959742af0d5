//! Defines programs in the form that front ends produce. A program consists of basic blocks of
//! micro-operations on bit-vectors of 1 to 64 bits. It has memory regions that are addressed by
//! pointers, cost classes and source locations.
//!
//! This crate does not depend on an instruction set, a device, prices or a solver. A front end
//! (`nfp` or `bpf`) builds a [`Program`], `exec` executes it symbolically, and a target prices its
//! cost classes.
//!
//! Values are bit-vectors with the semantics of SMT-LIB's `QF_BV`. Division by zero yields all
//! ones, and remainder by zero yields the dividend. Shifts by the width or more yield zero or
//! copies of the sign bit. Memory is little-endian and addressed by pointers. The address of every
//! region is an unknown [`Input`], so no result depends on the position of a region in memory.

mod build;
mod draw;
mod flow;
mod index;
mod influence;
mod liveness;
mod op;
mod packet_facts;
mod program;
mod temporaries;
mod validate;

pub use build::{BlockBuilder, Emit};
pub use draw::{Draw, Draws, ValueFormat};
pub use flow::{FlowError, FlowGraph, Loop};
pub use index::{
    BlockId, CostClassId, DrawId, InputId, InsnIdx, LoopId, Reg, RegionId, RelianceId,
};
pub use influence::{Sources, decisive_inputs};
pub use liveness::{Liveness, eliminate_dead_operations};
pub use op::{BinaryOp, Op, Operand, OriginOp};
pub use packet_facts::{Field, KnownBits, PacketFacts};
pub use program::{
    Block, CostEvent, Destination, Edge, Input, InputKind, Instruction, Program, RegInfo, Region,
    RegionKind, SourceLocation, Terminator, VisitLimit,
};
pub use temporaries::Temporaries;
pub use validate::ValidateError;
