//! An XDP program as a network function that runs together with competitors. The running kernel
//! gives it packets of many flows, as fast as it can process them.
//!
//! [`Program`] implements the work of a thread in `slowpath_neighbours`. Each turn is a test run
//! with many repetitions (`bpf_prog_test_run_xdp` of the kernel's `net/bpf/test_run.c`). A program
//! in front restores the packet and draws another flow (`slowpath_kernel::timing::Feed`).
//! `undo_detection` determines the steps of the restoration once, from a few single packets.
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
