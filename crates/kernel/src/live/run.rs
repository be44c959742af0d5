//! A program on packets that the kernel makes, without a driver before it.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use super::action::Action;
use super::error::LiveError;
use super::programs::{self, Counter};
use super::receiver::Receiver;
use super::sending::{Sending, settled};
use super::yard::{Held, Pair, Yard};
use crate::sys::Cpus;
use crate::{Context, Device, Kernel, Link, Loaded, Mode, Namespace};

/// A network namespace in which programs run live.
#[derive(Debug)]
pub struct Live {
    baselines: Vec<(Loaded, Held)>,
    counter: Counter,
    // Detached before its device goes.
    _link: Link,
    pair: Pair,
    yard: Arc<Yard>,
    cpus: Cpus,
    /// Packets of one run at a time are counted.
    running: Mutex<()>,
}

/// What became of the packets of a live run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LiveRun {
    /// How many packets the program was run on.
    pub frames: u32,
    /// From the call until it returned: wall time by `CLOCK_MONOTONIC_RAW`.
    pub elapsed: Duration,
    /// How many arrived at the device that [`Live::device`] leads to: those of `XDP_TX`, and of
    /// `XDP_REDIRECT` to it.
    pub delivered: u64,
    /// How many that device had no room for.
    pub lost: u64,
}

impl Live {
    /// Makes a namespace, devices, and minimal programs for all actions, and finds out by trying
    /// whether the kernel makes live runs.
    ///
    /// # Errors
    /// Without `CAP_SYS_ADMIN`, without virtual Ethernet, or before Linux 5.18.
    pub fn new(kernel: &Kernel) -> Result<Live, LiveError> {
        let cpus = kernel.possible_cpus();
        let yard = Yard::new()?;
        let pair = yard.pair()?;
        let counter = Counter::new(cpus)?;
        // Virtual Ethernet sends bare frames only to where a program receives them.
        let link = counter.program().attach(yard.namespace(), pair.far, Mode::Native)?;
        let mut baselines = Vec::new();
        for action in Action::ALL {
            let program = if action == Action::Redirect {
                programs::redirecting(yard.namespace(), pair.near, cpus)?
            } else {
                programs::minimal(action)?
            };
            let held = yard.hold(&program)?;
            baselines.push((program, held));
        }
        let running = Mutex::new(());
        let live = Live { baselines, counter, _link: link, pair, yard, cpus, running };
        let tried =
            live.run(live.baseline(Action::Drop), &[0; 64], &Context::default(), 1, 1).map(|_| ());
        tried.map_err(|fault| match fault {
            LiveError::Kernel { cause, .. } => LiveError::Unsupported { cause },
            fault => fault,
        })?;
        Ok(live)
    }

    /// The namespace: whatever takes the number of a device, or opens a socket, has to do so there.
    pub fn namespace(&self) -> &Namespace {
        self.yard.namespace()
    }

    /// The device that packets come in on, and which `XDP_TX` sends out of; what a program
    /// redirects to in order to be counted.
    pub fn device(&self) -> Device {
        self.pair.near
    }

    /// To be called before all that is held and attached here goes: devices go with the namespace
    /// then, all at once, which is much faster than one by one.
    pub fn close(&self) {
        self.yard.close();
    }

    /// Holds a program ready to be run many times.
    ///
    /// # Errors
    /// If it cannot be attached to a device: those for devmaps and cpumaps cannot.
    pub fn hold(&self, program: &Loaded) -> Result<Held, LiveError> {
        self.yard.hold(program)
    }

    /// The minimal program that returns an action, held ready: what a run costs without the program.
    pub fn baseline(&self, action: Action) -> &Held {
        &self.baselines[action as usize].1
    }

    /// The same program to be attached to a [`Receiver`].
    pub fn minimal(&self, action: Action) -> &Loaded {
        &self.baselines[action as usize].0
    }

    /// Attaches a program in the driver of a device of its own, to which copies of a packet can be
    /// sent. What the program redirects comes back if its maps lead to [`Receiver::device`].
    ///
    /// # Errors
    /// If the program cannot be attached there, or there is no room for more devices.
    pub fn receiver(&self, program: &Loaded, packet: &[u8]) -> Result<Receiver, LiveError> {
        Receiver::new(&self.yard, program, self.minimal(Action::Drop), packet)
    }

    /// Holds a program such that each packet is written anew before the program gets it.
    ///
    /// # Errors
    /// As for [`Live::hold`], and if what writes the packet is not loaded: the packet may be too
    /// long.
    pub fn hold_rewritten(&self, program: &Loaded, packet: &[u8]) -> Result<Held, LiveError> {
        self.yard.hold_rewritten(program, packet, self.cpus)
    }

    /// Runs a program on so many packets (0 counts as 1), so many at a time (0 for 64), on the
    /// calling thread's CPUs, and waits until what it sends has arrived. Each packet has the
    /// metadata of the context and comes in on queue 0 of [`Live::device`].
    ///
    /// # Errors
    /// If the context names another device, the packet is too short or too long, the batch is too
    /// large, the kernel refuses it, or a signal comes.
    pub fn run(
        &self,
        program: &Held,
        packet: &[u8],
        context: &Context,
        frames: u32,
        batch: u32,
    ) -> Result<LiveRun, LiveError> {
        let device = self.pair.near;
        let sending = Sending { program, device, packet, context, frames, batch };
        let _one = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        let lost = || Ok::<u64, LiveError>(self.namespace().counts(device)?.send_dropped);
        let (lost_before, before) = (lost()?, self.counter.count()?);
        let elapsed = sending.send(self.namespace())?;
        let all = before.saturating_add(sending.frames().into());
        let delivered = settled(all, || self.counter.count())?.saturating_sub(before);
        let lost = lost()?.saturating_sub(lost_before);
        Ok(LiveRun { frames: sending.frames(), elapsed, delivered, lost })
    }
}
