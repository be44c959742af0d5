//! Reads, prints and compiles programs of the Netronome flow processor (NFP). Listings have the
//! format of the BFD disassembler, and lifting translates them to [`slowpath_ir::Program`].
//!
//! [`parse()`] and [`parse_bytes`] read a listing, and [`Listing`] prints it. [`lift()`] translates
//! a listing into blocks of micro-operations. [`word`] encodes and decodes instruction words.
//! [`compile`] translates a BPF program into a listing. The crate knows the instruction set and the
//! start state that the BPF offload driver gives a program. It names cost classes but knows no
//! prices, and it uses neither solver nor search.
//!
//! Sources: "Determination of Throughput Guarantees for Processor-based SmartNICs" (CoNEXT '21) for
//! listings and costs; the public kernel driver (`nfp_asm.h`, `bpf/jit.c`) for the instructions
//! that the compiler emits and the behaviour it expects of them.

mod abi;
mod codegen;
mod csr;
pub mod firmware;
mod insn;
mod lift;
mod listing;
mod operand;
mod operator;
mod parse;
mod print;
pub mod word;

pub use codegen::{
    CompileError, CompileOptions, Compiled, POINTER_OF_SEVERAL_KINDS, Refusal, Refusals, compile,
    tokens,
};
pub use firmware::{MapAbi, RECEIVE};
pub use insn::{Address, BranchCondition, Insn, MemCommand};
pub use lift::{LiftCause, LiftError, LiftOptions, lift};
pub use listing::{FIRST_EXIT, Listing, Numbered};
pub use operand::{Bank, LocalAccess, Operand};
pub use operator::{AluOp, MulStep, Shift, ShiftAmount, ShiftKind};
pub use parse::{ParseCause, ParseError, parse, parse_bytes};
