//! Programs with further instructions: where there is room for them, and which registers they may
//! use.

mod free;
mod moved;
mod registers;

pub use free::{Before, before};
pub use moved::moved;
