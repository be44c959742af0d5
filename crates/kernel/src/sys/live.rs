//! Makes test runs whose packets really go where the program sends them.

use std::io;
use std::os::fd::BorrowedFd;
use std::time::Duration;

use super::attr::TestRunAttr;
use super::thread::monotonic_raw;
use super::{Command, address, bpf_once, field, length};

/// `BPF_F_TEST_XDP_LIVE_FRAMES`.
const LIVE_FRAMES: u32 = 1 << 1;

/// Program and packets of a live run, a test run whose packets really go where the program sends
/// them.
pub struct LiveSpec<'a> {
    pub program: BorrowedFd<'a>,
    /// The metadata, followed by the packet.
    pub data: &'a [u8],
    /// The context, encoded as a `struct xdp_md`.
    pub context: &'a [u8],
    /// Number of packets to send.
    pub frames: u32,
    /// Number of packets in a batch; 0 stands for 64.
    pub batch: u32,
}

/// Runs a program on packets, and performs the returned action for each packet. Returns the time
/// until the last packet is sent, measured with `CLOCK_MONOTONIC_RAW`. The last packet can arrive
/// later.
///
/// A signal ends the run early (EINTR). A retry here would send packets twice.
pub fn test_run_live(spec: &LiveSpec) -> io::Result<Duration> {
    let mut attr = TestRunAttr {
        fd: field(spec.program),
        size_in: length(spec.data)?,
        data_in: address(spec.data),
        repeat: spec.frames,
        context_size_in: length(spec.context)?,
        context_in: address(spec.context),
        flags: LIVE_FRAMES,
        batch: spec.batch,
        ..TestRunAttr::default()
    };
    let start = monotonic_raw();
    // SAFETY: addresses and sizes are those of slices, which the kernel only reads.
    unsafe { bpf_once(Command::ProgTestRun, &mut attr)? };
    Ok(Duration::from_nanos(monotonic_raw().saturating_sub(start)))
}
