//! Inserts instructions into programs: finds free registers and free stack space, and corrects
//! jumps.

mod free;
mod moved;
mod registers;
mod stack;

pub use free::{RegisterState, before};
pub use moved::insert_and_replace;
pub use stack::{DEEPEST, free_stack_offset};
