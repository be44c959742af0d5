//! Programs as graphs of basic blocks: what rewritings work on.
//!
//! A block ends with the only jump in it, and jumps name blocks, so that instructions can come and go
//! without a thought of distances. [`Graph::of`] makes the graph of a linked program,
//! [`Graph::emit`] a linked program of the graph.

mod build;
mod emit;
mod loops;
mod order;
mod types;

pub(crate) use loops::Loop;
pub(crate) use types::{Block, BlockId, End, Graph, Instr, Op, Test};

#[cfg(test)]
mod tests;
