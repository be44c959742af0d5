//! Insertion of instructions into programs: free registers, free stack space, and relocation of
//! jumps.

mod free;
mod moved;
mod registers;
mod stack;

pub use free::{RegisterState, before};
pub use moved::insert_and_replace;
pub use stack::{DEEPEST, free_stack_offset};
