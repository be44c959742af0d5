//! BPF programs in the running Linux kernel: loads the programs of an object and runs packets
//! through them.
//!
//! [`Kernel::available`] says whether that is possible here, [`Kernel::load`] creates a program's
//! maps and loads it, [`Loaded::run`] runs a packet, [`Loaded::map`] reads and writes a map;
//! [`Kernel::load_counted`] loads it so that a run says how many instructions it took.
//! [`Namespace::new`] makes a network namespace with devices of its own, [`Loaded::attach`] attaches
//! a program to one, [`Wire`] records what programs do to frames there, and [`live::Live`] runs
//! packets that really go where the program sends them.
//! Nothing is pinned: when a [`Loaded`], [`Link`] or [`Namespace`] goes, so does
//! what it created.
//! What a program means is not known here; this is the oracle that such knowledge is held against.
//!
//! Source: bpf(2), the kernel's `uapi/linux/bpf.h` and `net/bpf/test_run.c`, and the behaviour of
//! libbpf for what is convention. Linux 5.18 is the first kernel with all that is used here.

mod again;
pub mod agreement;
mod btf;
mod collect;
mod context;
mod count;
mod create;
pub mod cuts;
mod error;
mod generated;
mod kernel;
mod link;
pub mod listing;
pub mod live;
mod loaded;
mod machine_code;
mod map;
mod namespace;
mod program;
mod rewriting;
mod ring;
mod stay;
mod sys;
#[cfg(test)]
mod tests;
pub mod timing;
mod unavailable;
mod verdict;
mod wire;
pub mod witness;

pub use again::{Interruptible, again};
pub use context::Context;
pub use count::{Answer, Counted, Tally};
pub use error::{
    InstallError, LinkError, LoadError, MapError, NamespaceError, RunError, WireError,
};
pub use generated::GeneratedError;
pub use kernel::Kernel;
pub use link::{Link, Mode};
pub use loaded::{Loaded, TestRun};
pub use machine_code::MachineCode;
pub use map::{Element, Map};
pub use namespace::{Device, DeviceCounts, FrameSocket, Namespace};
pub use ring::Ring;
pub use stay::stay;
pub use unavailable::Unavailable;
pub use wire::{Record, Wire};
