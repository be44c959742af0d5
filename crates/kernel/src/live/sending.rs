//! Sends packets and waits until they have arrived.

use std::io;
use std::thread::sleep;
use std::time::Duration;

use super::error::LiveError;
use super::yard::Held;
use crate::sys::{LiveSpec, test_run_live};
use crate::{Context, Device, Namespace};

/// How many packets the kernel takes at a time at most (`TEST_XDP_MAX_BATCH`).
pub const LARGEST_BATCH: u32 = 256;
/// How many packets the kernel takes at a time unless told (`NAPI_POLL_WEIGHT`).
const USUAL_BATCH: u32 = 64;
/// Shortest packet of a test run: an Ethernet header.
const SHORTEST: usize = 14;
/// A packet is too long for a page, if the kernel refuses it and it is longer than this.
const LONG: usize = 3000;
/// How long nothing may arrive before nothing more is expected.
const QUIET: Duration = Duration::from_millis(1);
/// How many times that may be.
const ROUNDS: u32 = 3;
/// How often that is looked at: a second.
const LOOKS: u32 = 1000;
/// The kernel's own error for what it does not support, which it should not tell.
const ENOTSUPP: i32 = 524;

/// What is sent.
pub struct Sending<'a> {
    pub program: &'a Held,
    /// On which device packets arrive.
    pub device: Device,
    pub packet: &'a [u8],
    pub context: &'a Context,
    pub frames: u32,
    pub batch: u32,
}

impl Sending<'_> {
    /// How many packets are sent.
    pub fn frames(&self) -> u32 {
        self.frames.max(1)
    }

    /// How many of them at a time.
    pub fn batch(&self) -> u32 {
        if self.batch == 0 { USUAL_BATCH } else { self.batch }
    }

    /// Sends them; how long that took.
    pub fn send(&self, namespace: &Namespace) -> Result<Duration, LiveError> {
        let len = self.packet.len();
        if len < SHORTEST {
            return Err(LiveError::TooShort { len });
        }
        let batch = self.batch();
        if batch > LARGEST_BATCH {
            return Err(LiveError::Batch { batch });
        }
        let (device, wanted) = (self.device.index(), self.context.ingress_ifindex);
        if wanted != 0 && wanted != device {
            return Err(LiveError::Device { wanted, device });
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

/// Reads a count until it has what is expected, or nothing is added any more: the kernel may leave
/// receiving to a thread of its own (`ksoftirqd`) when there is much to do.
pub fn settled<E>(expected: u64, count: impl Fn() -> Result<u64, E>) -> Result<u64, E> {
    let mut known = count()?;
    let mut quiet = 0;
    for _ in 0..LOOKS {
        if known >= expected || quiet == ROUNDS {
            break;
        }
        sleep(QUIET);
        let now = count()?;
        quiet = if now == known { quiet + 1 } else { 0 };
        known = now;
    }
    Ok(known)
}
