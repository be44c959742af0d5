//! Timing runs of programs: many repetitions of one packet in one call, on a thread of its own.
//!
//! A [`Station`] is that thread: in a private network namespace, pinned to a CPU, and as far as the
//! kernel allows not interrupted by others. Its [`Attachments`] keep programs attached that are
//! timed, because a test run with repetitions of a program that is attached nowhere waits for all
//! CPUs twice (`bpf_prog_change_xdp` of `net/core/filter.c`). A [`Wrapper`] in front of a program
//! takes back what the run before has changed, and reads the clock around the program alone.
//! [`Subject::sample`] is one timed call. A [`Feed`] in front of a program gives each run a packet of
//! another flow ([`Flows`]), as much as there are.
//!
//! What times mean is not known here: no statistics, no policy.
//!
//! Source: `bpf_test_run` and `bpf_prog_test_run_xdp` of the kernel's `net/bpf/test_run.c`. Nothing
//! is restored between repetitions, not even start and end of the packet.

mod attachments;
mod error;
mod expedited;
mod feed;
mod flows;
mod rotation;
mod state;
mod station;
mod steps;
mod subject;
mod undo;
mod wrapper;

pub use attachments::{Attached, Attachments};
pub use error::TimingError;
pub use feed::Feed;
pub use flows::Flows;
pub use rotation::Rotation;
pub use station::{Scheduling, Station};
pub use subject::{Sample, Subject};
pub use undo::{ElementUndo, Undo};
pub use wrapper::{Preparation, Wrapper};
