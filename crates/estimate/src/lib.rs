//! Estimates the time that a path of a BPF program takes on one core of a machine.
//!
//! Estimates are not guarantees. A [`Path`] lists the instructions of one run in order, each with
//! its dependencies, its execution unit and, for calls, the helper. [`Path::time`] simulates it on
//! a model of an out-of-order core ([`slowpath_target::Timing`]). The parameters of the model come
//! from experiments on a machine (`slowpath calibrate`).
//!
//! The model is a data-flow simulation with limited width, buffers and queues, as in analysers of
//! machine code. Here, the instructions are those of BPF: the kernel's JIT compiler turns most of
//! them into one machine instruction each. Helpers are not simulated: each call takes the time that
//! an experiment measured.

mod calls;
mod code;
mod core;
mod effect;
mod growth;
mod path;
mod stored;
mod stores;
mod sum;
mod values;

pub use calls::Call;
pub use code::{Code, Room};
pub use core::Flow;
pub use growth::{Growth, Occupancy};
pub use path::Path;
pub use sum::picoseconds;
