//! Runs a program in a driver: the program is attached to a device that receives packets.
//!
//! A generator program writes each packet anew and sends it out of one end of a pair of virtual
//! Ethernet devices. At the other end the driver receives it (NAPI, `veth_poll` of
//! `drivers/net/veth.c`) and runs the program. If the program sends the packet back, it arrives at
//! the generator's device and is dropped. If the program passes the packet, it goes to the network
//! stack, where no socket receives it.
//!
//! Usually all of this happens on one CPU: the kernel receives a batch before it sends the next
//! one. Therefore a run's time includes sending *and* receiving. To get the program's time,
//! subtract the time of a program that only returns an action ([`super::Live::minimal`]).

use std::sync::Arc;
use std::time::Duration;

use super::error::LiveError;
use super::netns::{Netns, Pair, PreparedProgram};
use super::programs::generator;
use super::sending::{Sending, wait_for_count};
use crate::{Context, Device, Link, LoadedProgram, Mode};

/// A program that is attached to a device, and a generator that sends packets to this device.
#[derive(Debug)]
pub struct Receiver {
    generator: PreparedProgram,
    packet: Vec<u8>,
    // Declared before `pair`: programs are detached before their devices are removed.
    _links: [Link; 2],
    pair: Pair,
}

/// Counts of the packets that were sent to a [`Receiver`], and the time that they took.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReceiverRun {
    /// Number of packets that were sent.
    pub frames: u32,
    /// Wall time until the last packet was sent, by `CLOCK_MONOTONIC_RAW`. It includes the time for
    /// receiving all packets that have arrived by then.
    pub elapsed: Duration,
    /// Number of packets that the program received, read from the device's counter.
    pub received: u64,
    /// Number of packets that were lost because the device had no room for them.
    pub lost: u64,
}

impl Receiver {
    pub(super) fn new(
        netns: &Arc<Netns>,
        program: &LoadedProgram,
        dropping: &LoadedProgram,
        packet: &[u8],
    ) -> Result<Receiver, LiveError> {
        let pair = netns.pair()?;
        let attach = |program: &LoadedProgram, device: Device| {
            program.attach(netns.namespace(), device, Mode::Native)
        };
        let links = [attach(program, pair.near)?, attach(dropping, pair.far)?];
        let generator = netns.prepare(&generator(packet)?)?;
        Ok(Receiver { generator, packet: packet.to_vec(), _links: links, pair })
    }

    /// Returns the device that the program is attached to.
    pub fn device(&self) -> Device {
        self.pair.near
    }

    /// Returns the device from which packets are sent. Packets that the program sends back arrive
    /// there.
    pub fn sender(&self) -> Device {
        self.pair.far
    }

    /// Sends `frames` packets (0 counts as 1) in batches of `batch` packets (0 stands for 64), and
    /// waits until they have arrived.
    ///
    /// # Errors
    /// If the packet is too short or too long, the batch is too large, or a signal arrives.
    pub fn run(&mut self, frames: u32, batch: u32) -> Result<ReceiverRun, LiveError> {
        let sending = Sending {
            program: &self.generator,
            device: self.pair.far,
            packet: &self.packet,
            context: &Context::default(),
            frames,
            batch,
        };
        let before = self.counters()?;
        let elapsed = sending.send(self.pair.namespace())?;
        let since_start = || -> Result<[u64; 2], LiveError> {
            let now = self.counters()?;
            Ok([0, 1].map(|n| now[n].saturating_sub(before[n])))
        };
        wait_for_count(sending.frames().into(), || since_start().map(|[a, b]| a + b))?;
        let [received, lost] = since_start()?;
        Ok(ReceiverRun { frames: sending.frames(), elapsed, received, lost })
    }

    /// Reads from the counters of the devices how many packets were received and how many were
    /// lost.
    fn counters(&self) -> Result<[u64; 2], LiveError> {
        let counts = |device| self.pair.namespace().counts(device);
        // The drop counter of the receiving device is no measure of losses: it includes packets
        // that the network stack rejects.
        let lost = counts(self.pair.far)?.send_dropped;
        Ok([counts(self.pair.near)?.received, lost])
    }
}
