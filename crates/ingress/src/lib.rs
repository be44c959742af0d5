//! An XDP program as a network function that runs beside competitors: the running kernel gives it
//! packets of many flows, one after the other, as fast as it takes them.
//!
//! [`Program`] is work of a thread, as `slowpath_neighbours` has it. A turn is a test run with many
//! repetitions (`bpf_prog_test_run_xdp` of the kernel's `net/bpf/test_run.c`), in which a program in
//! front puts the packet back and draws another flow (`slowpath_kernel::timing::Feed`). What has to
//! be put back is found out once (`change`), by a few packets that the program gets alone.
//!
//! Maps are as the object has them, and fill as packets come. Nobody reads ring buffers; what is
//! redirected goes nowhere.

mod change;
mod error;
mod packet;
mod program;

pub use error::IngressError;
pub use packet::TrafficSpec;
pub use program::Program;
