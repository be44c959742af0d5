//! An XDP program as a network function that runs beside competitors. The running kernel gives it
//! packets of many flows, at the highest rate that it can process.
//!
//! [`Program`] implements the work of a thread in `slowpath_neighbours`. Each turn is a test run
//! with many repetitions (`bpf_prog_test_run_xdp` of the kernel's `net/bpf/test_run.c`). A program
//! in front restores the packet and draws another flow (`slowpath_kernel::timing::Feed`). The steps
//! of the restoration are determined once (`undo_detection`), from a few single packets.
//!
//! Maps start with the content in the object, and fill up with the traffic. Ring buffers have no
//! reader, and redirected packets are not delivered.

mod error;
mod packet;
mod program;
mod undo_detection;

pub use error::IngressError;
pub use packet::TrafficSpec;
pub use program::Program;
