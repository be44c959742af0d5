//! Lifts calls: their arguments, functions of the program, callbacks and tail calls.

pub(super) mod arguments;
pub(super) mod functions;
pub(super) mod handover;
pub(super) mod loops;
pub(super) mod network;
pub(super) mod tail_call;
