//! Runs a loaded XDP program with its generated traffic, as the work of one thread.

use slowpath_bpf::Object;
use slowpath_kernel::timing::{Attached, Attachments, Feed, Flows, TimingError};
use slowpath_kernel::{Kernel, LoadedProgram, retry};
use slowpath_neighbours::{Served, Work};

use crate::error::IngressError;
use crate::packet::TrafficSpec;
use crate::undo_detection::{candidates, is_restored};

/// Number of packets in one system call. The call takes a few hundred microseconds, of which
/// entering the kernel takes only a few.
const BURST: u32 = 2048;
/// Average number of warm-up packets for each flow. With 1,000 flows, only about 2 flows get no
/// packet.
const WARM_UPS: u64 = 6;
/// Maximum number of warm-up packets for all flows together.
const MAX_WARM_UPS: u64 = 20_000_000;

/// An XDP program that is loaded into the running kernel and receives traffic.
#[derive(Debug)]
pub struct Program {
    program: LoadedProgram,
    feed: Feed,
    served: Served,
    bytes: u64,
    failure: Option<String>,
    // A test run of an unattached program takes milliseconds longer.
    _attached: Attached,
}

impl Program {
    /// Loads a program of an object, determines the steps that restore its packets, and fills its
    /// maps with packets of all flows. `program` is an index into the programs of the object.
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
                let (served, bytes, failure) = (Served::default(), packet.len() as u64, None);
                return Ok(Program { program, feed, served, bytes, failure, _attached: attached });
            }
        }
        Err(IngressError::NotRestorable)
    }

    /// Returns the program in the kernel, through which its maps can be read.
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
            Err(cause) => self.failure = Some(cause.to_string()),
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
    let packets = (WARM_UPS * u64::from(flows.count)).min(MAX_WARM_UPS);
    for _ in 0..=packets / u64::from(BURST) {
        if !go_on() {
            return Err(IngressError::Stopped);
        }
        retry(|| feed.run(BURST))?;
    }
    Ok(())
}
