//! Runs an XDP program in the kernel next to competing network functions. The program gets packets
//! of many flows, as fast as it can process them.
//!
//! [`Program`] implements the trait of `slowpath_neighbours` for the work of a thread. Each turn is
//! a test run with many repetitions (`bpf_prog_test_run_xdp` of the kernel's `net/bpf/test_run.c`).
//! Before each repetition, a second program restores the packet and writes a random flow into it
//! (`slowpath_kernel::timing::Feed`). `undo_detection` finds the steps that restore the packet
//! once, by running a few packets.
//!
//! Maps start with the object's initial content, and fill up with the traffic. Ring buffers have no
//! reader, and redirected packets are not delivered.

mod error;
mod packet;
mod program;
mod undo_detection;

pub use error::IngressError;
pub use packet::TrafficSpec;
pub use program::Program;
