//! Lifts all instructions except calls.

pub(super) mod alu;
pub(super) mod context;
pub(super) mod jump;
pub(super) mod memory;
mod packet_load;
