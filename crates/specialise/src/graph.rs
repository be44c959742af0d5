//! Programs as graphs of basic blocks, the form that the passes rewrite.
//!
//! A block ends with its only jump, and jumps name blocks. Instructions can therefore be added and
//! removed without adjusting jump distances. [`Graph::of`] builds the graph of a linked program,
//! [`Graph::emit`] turns a graph back into a linked program.

mod build;
mod emit;
mod loops;
mod order;
mod types;

pub(crate) use loops::Loop;
pub(crate) use types::{Block, BlockId, End, Graph, Instr, Op, Test};

#[cfg(test)]
mod tests;
