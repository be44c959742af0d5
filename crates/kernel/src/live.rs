//! Test runs whose packets really go where the program sends them: `BPF_F_TEST_XDP_LIVE_FRAMES`.
//!
//! The kernel makes packets in batches, runs the program on each as if a device had received it,
//! and performs the action: `XDP_TX` and `XDP_REDIRECT` send, `XDP_PASS` hands the packet to the
//! network stack, `XDP_DROP` frees it. All this happens in a private network namespace, with
//! virtual Ethernet devices that lead to a program that counts and drops. Therefore the time of a
//! run contains more than the program. To get the program's time, measure [`Live::run`] with the
//! program and with the [`Live::baseline`] of its action, and subtract. A [`Receiver`] runs the
//! program in a driver instead.
//!
//! Sending usually includes receiving. When bottom halves are enabled again after a batch, a
//! softirq runs the driver at the other end on the same CPU. So nearly all packets have arrived
//! when the call returns. The wait for packets that the kernel leaves to `ksoftirqd` is not timed.
//! The ring of a virtual device has 256 entries. Batches of 64 lose no packets; with larger batches
//! a few packets in a million find no room and are reported as lost.
//!
//! The kernel reuses the memory of packets. It restores start and end of a packet, but not bytes
//! that the program changed; [`Live::prepare_rewritten`] restores them.
//!
//! Source: `net/bpf/test_run.c` (`bpf_test_run_xdp_live`), `Documentation/bpf/bpf_prog_run.rst`.

mod action;
mod error;
mod netns;
mod programs;
mod receiver;
mod run;
mod sending;

pub use action::Action;
pub use error::LiveError;
pub use netns::PreparedProgram;
pub use receiver::{Receiver, ReceiverRun};
pub use run::{Live, LiveRun};
pub use sending::LARGEST_BATCH;
