//! Test runs whose packets go where the program sends them.

use std::io;
use std::os::fd::BorrowedFd;

use super::attr::TestRunAttr;
use super::{Command, address, bpf_once, field, length};

/// `BPF_F_TEST_XDP_LIVE_FRAMES`.
const LIVE_FRAMES: u32 = 1 << 1;

/// What runs.
pub struct LiveSpec<'a> {
    pub program: BorrowedFd<'a>,
    /// The packet, behind its metadata.
    pub data: &'a [u8],
    /// A `struct xdp_md`.
    pub context: &'a [u8],
    /// How many packets.
    pub frames: u32,
    /// How many the kernel takes at a time; 0 for 64.
    pub batch: u32,
}

/// Runs a program on packets that then go where it sends them. Takes until the last one is sent, in
/// nanoseconds by a clock that nothing adjusts; it may arrive later.
///
/// A signal ends it early (EINTR): to begin again would send packets twice.
#[cfg(target_os = "linux")]
pub fn test_run_live(spec: &LiveSpec) -> io::Result<u64> {
    use rustix::time::{ClockId, clock_gettime};

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
    let start = clock_gettime(ClockId::MonotonicRaw);
    // SAFETY: addresses and sizes are those of slices, which the kernel only reads.
    unsafe { bpf_once(Command::ProgTestRun, &mut attr)? };
    let taken = clock_gettime(ClockId::MonotonicRaw) - start;
    let nanoseconds = taken.tv_sec.saturating_mul(1_000_000_000).saturating_add(taken.tv_nsec);
    u64::try_from(nanoseconds).map_err(|_| io::ErrorKind::InvalidData.into())
}

#[cfg(not(target_os = "linux"))]
pub fn test_run_live(spec: &LiveSpec) -> io::Result<u64> {
    let mut attr = TestRunAttr { fd: field(spec.program), ..TestRunAttr::default() };
    // SAFETY: the structure holds no addresses.
    unsafe { bpf_once(Command::ProgTestRun, &mut attr) }.map(|_| 0)
}
