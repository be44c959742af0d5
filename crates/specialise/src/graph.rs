//! Programs as graphs of basic blocks, the form that the passes rewrite.
//!
//! Each block has at most one jump, at its end, and jumps refer to blocks. So instructions can be
//! added and removed without a change of jump distances. [`Graph::of`] builds the graph of a linked
//! program, [`Graph::emit`] turns a graph back into a linked program.

mod build;
mod emit;
mod loops;
mod order;
mod types;

pub(crate) use loops::Loop;
pub(crate) use types::{Block, BlockId, End, Graph, Instr, Op, Test};

#[cfg(test)]
mod tests;
