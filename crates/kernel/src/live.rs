//! Runs programs on packets that really go where the program sends them:
//! `BPF_F_TEST_XDP_LIVE_FRAMES`.
//!
//! The kernel makes packets in batches and runs the program on each packet as if a device had
//! received it. Then it performs the action: `XDP_TX` and `XDP_REDIRECT` send the packet,
//! `XDP_PASS` hands it to the network stack, `XDP_DROP` frees it. All this happens in a private
//! network namespace. Sent packets arrive at a virtual Ethernet device whose program counts and
//! drops them. Therefore the time of a run contains more than the program. To get the program's
//! time, measure [`Live::run`] with the program and with the [`Live::baseline`] of its action, and
//! subtract. A [`Receiver`] runs the program in a driver instead.
//!
//! Sending usually includes receiving. When the kernel enables bottom halves again after a batch, a
//! softirq runs the driver at the other end on the same CPU. Therefore nearly all packets have
//! arrived when the call returns. Packets that the kernel leaves to `ksoftirqd` arrive later; the
//! wait for them is not timed. The ring of a virtual device has 256 entries. Batches of 64 packets
//! lose none. With larger batches, a few packets in a million find no room and are reported as
//! lost.
//!
//! The kernel reuses the memory of packets. It restores the start and the end of a packet, but not
//! the bytes that the program changed. [`Live::prepare_rewritten`] restores these bytes.
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
