//! Loads the BPF programs of an object into the running Linux kernel, and runs packets through
//! them.
//!
//! [`Kernel::available`] checks that this machine can do so. [`Kernel::load`] creates a program's
//! maps and loads the program, [`Loaded::run`] runs a packet, and [`Loaded::map`] gives access to a
//! map. [`Kernel::load_counted`] loads a program that also counts its executed instructions.
//! [`Namespace::new`] makes a network namespace with its own devices, and [`Loaded::attach`]
//! attaches a program to one of them. [`Wire`] records each program's action and packet there.
//! [`live::Live`] runs packets that really go where the program sends them.
//!
//! Nothing is pinned: dropping a [`Loaded`], [`Link`] or [`Namespace`] frees its kernel objects.
//! This crate does not interpret programs; it is the oracle that the project's models are tested
//! against.
//!
//! Source: bpf(2), the kernel's `uapi/linux/bpf.h` and `net/bpf/test_run.c`; conventions follow
//! libbpf. Linux 5.18 is the first kernel with all features used here.

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
