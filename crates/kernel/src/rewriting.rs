//! Programs with further instructions: where there is room for them, and which registers they may
//! use.

mod free;
mod moved;
mod registers;
mod stack;

pub use free::{Before, before};
pub use moved::moved;
pub use stack::{DEEPEST, lowest};
