//! Sends packets through a program in one live run, and waits until they have arrived.

use std::io;
use std::thread::sleep;
use std::time::Duration;

use super::error::LiveError;
use super::netns::PreparedProgram;
use crate::sys::{LiveSpec, test_run_live};
use crate::{Context, Device, Namespace};

/// Largest number of packets in a batch (`TEST_XDP_MAX_BATCH`).
pub const LARGEST_BATCH: u32 = 256;
/// Number of packets in a batch by default (`NAPI_POLL_WEIGHT`).
const DEFAULT_BATCH: u32 = 64;
/// Length of the shortest packet that test runs accept: an Ethernet header.
const SHORTEST: usize = 14;
/// Length in bytes above which a packet that the kernel rejects is reported as too long for one
/// page.
const LONG: usize = 3000;
/// Interval between two reads of a counter.
const POLL_INTERVAL: Duration = Duration::from_millis(1);
/// Number of successive reads of a counter without a change after which the wait ends.
const STABLE_READS: u32 = 3;
/// Maximum number of reads of a counter, which limits the wait to about a second.
const MAX_READS: u32 = 1000;
/// The kernel's internal error code for unsupported operations, which test runs pass to user space.
const ENOTSUPP: i32 = 524;

/// Packets to send through a program in one live run.
pub struct Sending<'a> {
    pub program: &'a PreparedProgram,
    /// Device that counts as the receiver of the packets.
    pub device: Device,
    pub packet: &'a [u8],
    pub context: &'a Context,
    pub frames: u32,
    pub batch: u32,
}

impl Sending<'_> {
    /// Returns the number of packets to send; 0 counts as 1.
    pub fn frames(&self) -> u32 {
        self.frames.max(1)
    }

    /// Returns the number of packets in a batch; 0 stands for the default.
    pub fn batch(&self) -> u32 {
        if self.batch == 0 { DEFAULT_BATCH } else { self.batch }
    }

    /// Sends the packets. Returns the time until the last one was sent.
    pub fn send(&self, namespace: &Namespace) -> Result<Duration, LiveError> {
        let len = self.packet.len();
        if len < SHORTEST {
            return Err(LiveError::TooShort { len });
        }
        let batch = self.batch();
        if batch > LARGEST_BATCH {
            return Err(LiveError::Batch { batch });
        }
        let (device, requested) = (self.device.index(), self.context.ingress_ifindex);
        if requested != 0 && requested != device {
            return Err(LiveError::Device { requested, device });
        }
        let context = Context { ingress_ifindex: device, ..self.context.clone() };
        let data = [self.context.metadata.as_slice(), self.packet].concat();
        let spec = LiveSpec {
            program: self.program.fd(),
            data: &data,
            context: &context.encode(len),
            frames: self.frames(),
            batch,
        };
        let sent = namespace.enter(|| test_run_live(&spec))?;
        sent.map_err(|cause| self.refused(data.len(), cause))
    }

    fn refused(&self, len: usize, cause: io::Error) -> LiveError {
        match cause.raw_os_error() {
            Some(libc::EINTR) => LiveError::Interrupted,
            Some(libc::E2BIG | libc::EOPNOTSUPP | ENOTSUPP) => LiveError::Unsupported { cause },
            Some(libc::EINVAL) if len > LONG => LiveError::TooLong { len },
            _ => {
                let plain = self.context.metadata.is_empty() && self.context.rx_queue_index == 0;
                let hint = if plain {
                    "programs for devmaps and cpumaps cannot be run this way"
                } else {
                    "check its metadata, and use queue 0"
                };
                LiveError::Kernel { len, cause, hint }
            }
        }
    }
}

/// Reads a counter until it reaches the expected value or stops growing. Under load, the kernel may
/// leave receiving to a separate thread (`ksoftirqd`).
pub fn wait_for_count<E>(expected: u64, count: impl Fn() -> Result<u64, E>) -> Result<u64, E> {
    let mut last = count()?;
    let mut unchanged = 0;
    for _ in 0..MAX_READS {
        if last >= expected || unchanged == STABLE_READS {
            break;
        }
        sleep(POLL_INTERVAL);
        let now = count()?;
        unchanged = if now == last { unchanged + 1 } else { 0 };
        last = now;
    }
    Ok(last)
}
