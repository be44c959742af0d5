//! Insertion of instructions into programs: free registers, free stack space, and relocation of
//! jumps.

mod free;
mod moved;
mod registers;
mod stack;

pub use free::{Before, before};
pub use moved::moved;
pub use stack::{DEEPEST, lowest};
