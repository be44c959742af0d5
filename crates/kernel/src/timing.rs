//! Times programs: runs a program many times on one packet in one system call, on a dedicated
//! thread.
//!
//! - A [`TimingThread`] runs in a private network namespace, pinned to a CPU, and shielded from
//!   interruptions as far as the kernel allows.
//! - Its [`Attachments`] keep timed programs attached to a device, because a test run with
//!   repetitions of an unattached program waits for all CPUs twice (`bpf_prog_change_xdp` of
//!   `net/core/filter.c`).
//! - A [`Wrapper`] in front of a program undoes the changes of the previous run, and times the
//!   program alone. [`Subject::sample`] makes one timed call.
//! - A [`Feed`] in front of a program gives each run a packet of a random flow ([`Flows`]).
//!
//! This module only measures times. It contains no statistics and no policy.
//!
//! Source: `bpf_test_run` and `bpf_prog_test_run_xdp` of the kernel's `net/bpf/test_run.c`. The
//! kernel restores nothing between repetitions, not even start and end of the packet.

mod attachments;
mod error;
mod expedited;
mod feed;
mod flows;
mod rotation;
mod state;
mod steps;
mod subject;
mod timing_thread;
mod undo;
mod wrapper;

pub use attachments::{Attached, Attachments};
pub use error::TimingError;
pub use feed::Feed;
pub use flows::Flows;
pub use rotation::Rotation;
pub use subject::{Sample, Subject};
pub use timing_thread::{Scheduling, TimingThread};
pub use undo::{ElementUndo, SkbUndo, Undo};
pub use wrapper::{Preparation, Wrapper};
