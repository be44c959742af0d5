//! Test runs whose packets really go where the program sends them: `BPF_F_TEST_XDP_LIVE_FRAMES`.
//!
//! The kernel makes packets in batches, runs the program on each as if it had come in on a device,
//! and does as it says: `XDP_TX` and `XDP_REDIRECT` send, `XDP_PASS` goes up the network stack,
//! `XDP_DROP` frees. All of it happens in a network namespace of our own, with virtual Ethernet
//! devices that lead to a program which counts and drops. What a run takes is therefore more than the
//! program: [`Live::run`] of the program and of the [`Live::baseline`] of its action are to be
//! measured apart, and their difference is the program. [`Receiver`] has the program where drivers
//! run it.
//!
//! Sending is receiving, as a rule: the other end's driver runs on the same CPU when a batch is sent,
//! before the next one (softirq, when bottom halves are enabled again), so that nearly everything has
//! arrived when the call returns. What the kernel leaves to `ksoftirqd` is waited for, and not timed.
//! The ring of a virtual device has 256 places: with batches of 64 none is missing, with greater ones
//! a few packets in a million find no room, and are told as lost.
//!
//! What the kernel does not do: memory of packets is used again as the program left it. Start and end
//! of the packet are set back, bytes that it has changed are not, but for [`Live::hold_rewritten`].
//!
//! Source: `net/bpf/test_run.c` (`bpf_test_run_xdp_live`), `Documentation/bpf/bpf_prog_run.rst`.

mod action;
mod error;
mod programs;
mod receiver;
mod run;
mod sending;
mod yard;

pub use action::Action;
pub use error::LiveError;
pub use receiver::{Receiver, ReceiverRun};
pub use run::{Live, LiveRun};
pub use sending::LARGEST_BATCH;
pub use yard::Held;
