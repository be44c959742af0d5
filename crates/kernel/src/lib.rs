//! Loads the BPF programs of an object into the running Linux kernel, and runs them on packets.
//!
//! [`Kernel::available`] checks that this machine can do so. [`Kernel::load`] creates a program's
//! maps and loads the program, [`LoadedProgram::run`] runs a packet, and [`LoadedProgram::map`]
//! gives access to a map. [`Kernel::load_counted`] loads a program that also counts its executed
//! instructions. [`Namespace::new`] makes a network namespace with its own devices, and
//! [`LoadedProgram::attach`] attaches a program to one of them. [`VethChain`] records each
//! program's action and packet there. [`live::Live`] runs packets that really go where the program
//! sends them.
//!
//! Nothing is pinned: dropping a [`LoadedProgram`], [`Link`] or [`Namespace`] frees its kernel
//! objects. This crate does not interpret programs; it is the oracle that the project's models are
//! tested against.
//!
//! Source: bpf(2), the kernel's `uapi/linux/bpf.h` and `net/bpf/test_run.c`; conventions follow
//! libbpf. Linux 5.18 is the first kernel with all features used here.

pub mod agreement;
mod btf;
mod context;
mod count;
pub mod early_exit;
pub mod echo;
mod error;
mod generated;
mod kernel;
mod link;
pub mod listing;
pub mod live;
mod loaded;
mod machine_code;
mod map;
mod map_creation;
mod namespace;
mod program;
mod reachable;
mod retry;
mod rewriting;
mod ring;
mod sys;
#[cfg(test)]
mod tests;
pub mod timing;
mod unavailable;
mod verdict;
mod veth_chain;
pub mod witness;

pub use context::{Context, SETTABLE};
pub use count::{Answer, CountingProgram, Tally};
pub use error::{
    InstallError, LinkError, LoadError, MapError, NamespaceError, RunError, WireError,
};
pub use generated::GeneratedError;
pub use kernel::Kernel;
pub use link::{Link, Mode};
pub use loaded::{LoadedProgram, TestRun};
pub use machine_code::MachineCode;
pub use map::{Element, Map};
pub use namespace::{Device, DeviceCounts, FrameSocket, Namespace};
pub use program::Variant;
pub use retry::{Interruptible, retry};
pub use ring::Ring;
pub use sys::pin_to_current_cpu;
pub use unavailable::Unavailable;
pub use veth_chain::{Record, VethChain};
