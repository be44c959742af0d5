//! Runs programs on packets that the kernel generates, without a driver.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use super::action::Action;
use super::error::LiveError;
use super::netns::{Netns, Pair, PreparedProgram};
use super::programs::{self, Counter};
use super::receiver::Receiver;
use super::sending::{Sending, wait_for_count};
use crate::sys::Cpus;
use crate::{Context, Device, Kernel, Link, LoadedProgram, Mode, Namespace};

/// A network namespace in which the kernel runs programs on packets that really go where the
/// program sends them.
#[derive(Debug)]
pub struct Live {
    baselines: Vec<(LoadedProgram, PreparedProgram)>,
    counter: Counter,
    // Declared before `pair`: the program is detached before its device is removed.
    _link: Link,
    pair: Pair,
    netns: Arc<Netns>,
    cpus: Cpus,
    /// Lock that serialises live runs, because all of them share the packet counters.
    running: Mutex<()>,
}

/// Counts of the packets of a live run, and the time that they took.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LiveRun {
    /// Number of packets that the program ran on.
    pub frames: u32,
    /// Wall time that the call took, by `CLOCK_MONOTONIC_RAW`.
    pub elapsed: Duration,
    /// Number of packets that arrived at the peer of [`Live::device`]. The program sent them by
    /// `XDP_TX`, or by `XDP_REDIRECT` to [`Live::device`].
    pub delivered: u64,
    /// Number of packets that were lost because the peer had no room for them.
    pub lost: u64,
}

impl Live {
    /// Creates a namespace, devices, and minimal programs for all actions. Runs one packet to check
    /// that the kernel supports live runs.
    ///
    /// # Errors
    /// Without `CAP_SYS_ADMIN`, without virtual Ethernet, or if the kernel is older than Linux
    /// 5.18.
    pub fn new(kernel: &Kernel) -> Result<Live, LiveError> {
        let cpus = kernel.possible_cpus();
        let netns = Netns::new()?;
        let pair = netns.pair()?;
        let counter = Counter::new(cpus)?;
        // Virtual Ethernet delivers XDP frames only to a device with a native XDP program.
        let link = counter.program().attach(netns.namespace(), pair.far, Mode::Native)?;
        let mut baselines = Vec::new();
        for action in Action::ALL {
            let program = if action == Action::Redirect {
                programs::redirecting(netns.namespace(), pair.near, cpus)?
            } else {
                programs::minimal(action)?
            };
            let prepared = netns.prepare(&program)?;
            baselines.push((program, prepared));
        }
        let running = Mutex::new(());
        let live = Live { baselines, counter, _link: link, pair, netns, cpus, running };
        match live.run(live.baseline(Action::Drop), &[0; 64], &Context::default(), 1, 1) {
            Ok(_) => Ok(live),
            Err(LiveError::Kernel { cause, .. }) => Err(LiveError::Unsupported { cause }),
            Err(fault) => Err(fault),
        }
    }

    /// Returns the namespace. Code that uses interface indices or opens sockets must run in it.
    pub fn namespace(&self) -> &Namespace {
        self.netns.namespace()
    }

    /// Returns the device that receives the packets and that `XDP_TX` sends them on. Redirects to
    /// this device are counted, too.
    pub fn device(&self) -> Device {
        self.pair.near
    }

    /// Marks the namespace as closing: its devices are removed together with it, which is much
    /// faster than one by one. Call this before dropping prepared programs and receivers.
    pub fn close(&self) {
        self.netns.close();
    }

    /// Prepares a program so that many runs of it are cheap.
    ///
    /// # Errors
    /// If the program cannot be attached to a device, such as a devmap or cpumap program.
    pub fn prepare(&self, program: &LoadedProgram) -> Result<PreparedProgram, LiveError> {
        self.netns.prepare(program)
    }

    /// Returns the prepared minimal program that only returns this action. Its runs show what a run
    /// costs without the program's own work.
    pub fn baseline(&self, action: Action) -> &PreparedProgram {
        &self.baselines[action as usize].1
    }

    /// Returns the minimal program that only returns this action, for use in a [`Receiver`].
    pub fn minimal(&self, action: Action) -> &LoadedProgram {
        &self.baselines[action as usize].0
    }

    /// Attaches a program in the driver of a new device, and prepares to send copies of `packet` to
    /// it. Packets that the program redirects return to the sender if the program's device maps
    /// contain [`Receiver::device`].
    ///
    /// # Errors
    /// If the program cannot be attached, or no more devices can be created.
    pub fn receiver(&self, program: &LoadedProgram, packet: &[u8]) -> Result<Receiver, LiveError> {
        Receiver::new(&self.netns, program, self.minimal(Action::Drop), packet)
    }

    /// Prepares a program for many runs, with a program in front of it that rewrites each packet.
    ///
    /// # Errors
    /// As for [`Live::prepare`], and if the rewriting program cannot be loaded, for example because
    /// the packet is too long.
    pub fn prepare_rewritten(
        &self,
        program: &LoadedProgram,
        packet: &[u8],
    ) -> Result<PreparedProgram, LiveError> {
        self.netns.prepare_rewritten(program, packet, self.cpus)
    }

    /// Runs a program on `frames` packets (0 counts as 1), in batches of `batch` packets (0 stands
    /// for 64). The run uses the calling thread's CPUs and waits until sent packets have arrived.
    /// Each packet has the metadata of the context and comes in on queue 0 of [`Live::device`].
    ///
    /// # Errors
    /// If the context names another device, the packet is too short or too long, or the batch is
    /// too large. Also if the kernel rejects the run or a signal arrives.
    pub fn run(
        &self,
        program: &PreparedProgram,
        packet: &[u8],
        context: &Context,
        frames: u32,
        batch: u32,
    ) -> Result<LiveRun, LiveError> {
        let device = self.pair.near;
        let sending = Sending { program, device, packet, context, frames, batch };
        let _guard = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        let lost = || Ok::<u64, LiveError>(self.namespace().counts(device)?.send_dropped);
        let (lost_before, before) = (lost()?, self.counter.count()?);
        let elapsed = sending.send(self.namespace())?;
        let all = before.saturating_add(sending.frames().into());
        let delivered = wait_for_count(all, || self.counter.count())?.saturating_sub(before);
        let lost = lost()?.saturating_sub(lost_before);
        Ok(LiveRun { frames: sending.frames(), elapsed, delivered, lost })
    }
}
