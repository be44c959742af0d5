//! How long a path of a BPF program takes on one core of a machine.
//!
//! Nothing here is a guarantee. A [`Path`] is the instructions of one run in order, with what is
//! known of each: what it waits for, where it is executed, what it calls. [`Path::time`] lets it
//! flow through a model of an out-of-order core ([`slowpath_target::Timing`]), whose parameters
//! were found by experiments on a machine (`slowpath calibrate`).
//!
//! The model is a dataflow simulation with finite width, buffers and queues, as machine-code
//! analysers have it, but of BPF instructions: the kernel's compiler makes one machine instruction
//! of most of them. What helpers do is not simulated: each call takes what its experiment says.

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
pub use code::Code;
pub use core::Flow;
pub use growth::Growth;
pub use path::Path;
pub use sum::picoseconds;
