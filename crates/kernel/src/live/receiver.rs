//! A program where drivers run it: attached to a device on which packets arrive.
//!
//! A generator, which writes each packet anew, sends packets out of one end of a pair of virtual
//! Ethernet devices; at the other end the driver receives them (NAPI, `veth_poll` of
//! `drivers/net/veth.c`) and runs the program on each. What the program sends back arrives where
//! the generator is, and is dropped there. What it lets pass goes up the network
//! stack, where nobody waits for it.
//!
//! All of that happens on one CPU as a rule: when a batch is sent, the kernel receives it before the
//! next one. The time is therefore that of sending *and* receiving; the same with a program that
//! does nothing ([`super::Live::minimal`]) is what to hold it against.

use std::sync::Arc;
use std::time::Duration;

use super::error::LiveError;
use super::programs::generator;
use super::sending::{Sending, settled};
use super::yard::{Held, Pair, Yard};
use crate::{Context, Device, Link, Loaded, Mode};

/// A program attached to a device to which packets are sent.
#[derive(Debug)]
pub struct Receiver {
    generator: Held,
    packet: Vec<u8>,
    // Detached before their devices go.
    _links: [Link; 2],
    pair: Pair,
}

/// What became of packets that were sent to a [`Receiver`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReceiverRun {
    /// How many were sent.
    pub frames: u32,
    /// Until the last was sent, which includes receiving all but those that were still on their
    /// way: wall time by `CLOCK_MONOTONIC_RAW`.
    pub elapsed: Duration,
    /// How many the program got, as the device counts.
    pub received: u64,
    /// How many the device had no room for.
    pub lost: u64,
}

impl Receiver {
    pub(super) fn new(
        yard: &Arc<Yard>,
        program: &Loaded,
        dropping: &Loaded,
        packet: &[u8],
    ) -> Result<Receiver, LiveError> {
        let pair = yard.pair()?;
        let attach = |program: &Loaded, device: Device| {
            program.attach(yard.namespace(), device, Mode::Native)
        };
        let links = [attach(program, pair.near)?, attach(dropping, pair.far)?];
        let generator = yard.hold(&generator(packet)?)?;
        Ok(Receiver { generator, packet: packet.to_vec(), _links: links, pair })
    }

    /// The device that the program is attached to.
    pub fn device(&self) -> Device {
        self.pair.near
    }

    /// Where packets are sent from, and what the program sends back arrives.
    pub fn sender(&self) -> Device {
        self.pair.far
    }

    /// Sends so many packets (0 counts as 1), and so many at a time (0 for 64), and waits until they
    /// have arrived.
    ///
    /// # Errors
    /// If the packet is too short or too long, the batch is too large, or a signal comes.
    pub fn run(&mut self, frames: u32, batch: u32) -> Result<ReceiverRun, LiveError> {
        let sending = Sending {
            program: &self.generator,
            device: self.pair.far,
            packet: &self.packet,
            context: &Context::default(),
            frames,
            batch,
        };
        let before = self.seen()?;
        let elapsed = sending.send(self.pair.namespace())?;
        let frames = u64::from(sending.frames());
        settled(frames, || {
            let now = self.seen()?;
            Ok::<u64, LiveError>(
                since(now.received, before.received) + since(now.lost, before.lost),
            )
        })?;
        let after = self.seen()?;
        Ok(ReceiverRun {
            frames: sending.frames(),
            elapsed,
            received: since(after.received, before.received),
            lost: since(after.lost, before.lost),
        })
    }

    fn seen(&self) -> Result<Seen, LiveError> {
        let counts = |device| self.pair.namespace().counts(device);
        // What the receiver drops is also what the network stack has no use for.
        let lost = counts(self.pair.far)?.send_dropped;
        Ok(Seen { received: counts(self.pair.near)?.received, lost })
    }
}

/// What the devices have counted until now.
struct Seen {
    received: u64,
    lost: u64,
}

fn since(now: u64, before: u64) -> u64 {
    now.saturating_sub(before)
}
