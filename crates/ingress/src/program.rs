//! A loaded program with traffic, as the work of a thread.

use slowpath_bpf::Object;
use slowpath_kernel::timing::{Attached, Attachments, Feed, Flows, TimingError};
use slowpath_kernel::{Kernel, LoadedProgram, retry};
use slowpath_neighbours::{Served, Work};

use crate::error::IngressError;
use crate::packet::TrafficSpec;
use crate::undo_detection::{candidates, is_restored};

/// Packets in a turn. A call has an overhead of microseconds, and a turn takes some tenths of a
/// millisecond.
const BURST: u32 = 2048;
/// Average number of warm-up packets of each flow. With 1,000 flows, about 2 then get no packet.
const WARM: u64 = 6;
/// Maximum number of warm-up packets.
const MOST_WARM: u64 = 20_000_000;

/// An XDP program in the running kernel, with traffic.
#[derive(Debug)]
pub struct Program {
    program: LoadedProgram,
    feed: Feed,
    served: Served,
    bytes: u64,
    failure: Option<String>,
    // Test runs of unattached programs take milliseconds longer.
    _attached: Attached,
}

impl Program {
    /// Loads a program of an object, determines how to restore its packets, and gives it packets of
    /// all flows to fill its maps.
    ///
    /// # Errors
    /// If the kernel does not load the program, a parameter of the traffic is out of range, packets
    /// cannot be restored, or `go_on` returns false.
    pub fn new(
        kernel: &Kernel,
        (object, program): (&Object, usize),
        traffic: &TrafficSpec,
        go_on: &dyn Fn() -> bool,
    ) -> Result<Program, IngressError> {
        let (packet, flows) = (traffic.packet()?, traffic.flows()?);
        let program = kernel.load(object, program)?;
        let attachments = Attachments::default();
        for undo in candidates(kernel, &attachments, &program, &packet, &flows)? {
            let feed = Feed::new(kernel, program.fragments(), &packet, &undo, &flows)?;
            let attached = feed.attach(&attachments)?;
            feed.select(&program)?;
            match warm(&feed, &flows, go_on) {
                Err(IngressError::Run(TimingError::NotRestored { .. })) => continue,
                warmed => warmed?,
            }
            if retry(|| is_restored(&feed))? {
                let bytes = packet.len() as u64;
                let served = Served::default();
                return Ok(Program {
                    program,
                    feed,
                    served,
                    bytes,
                    failure: None,
                    _attached: attached,
                });
            }
        }
        Err(IngressError::NotRestorable)
    }

    /// Returns the program, with its maps.
    pub fn loaded(&self) -> &LoadedProgram {
        &self.program
    }
}

impl Work for Program {
    fn begin(&mut self, _: bool) {}

    fn turn(&mut self) {
        if self.failure.is_some() {
            return;
        }
        match retry(|| self.feed.run(BURST)) {
            Ok(_) => {
                self.served.items += u64::from(BURST);
                self.served.bytes += u64::from(BURST) * self.bytes;
            }
            Err(why) => self.failure = Some(why.to_string()),
        }
    }

    fn served(&self) -> Vec<Served> {
        vec![self.served]
    }

    fn failure(&self) -> Option<String> {
        self.failure.clone()
    }
}

fn warm(feed: &Feed, flows: &Flows, go_on: &dyn Fn() -> bool) -> Result<(), IngressError> {
    let wanted = (WARM * u64::from(flows.count)).min(MOST_WARM);
    for _ in 0..=wanted / u64::from(BURST) {
        if !go_on() {
            return Err(IngressError::Stopped);
        }
        retry(|| feed.run(BURST))?;
    }
    Ok(())
}
