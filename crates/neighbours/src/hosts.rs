//! Implements the work of the threads that run network functions and accelerators.

use std::collections::VecDeque;
use std::hint::spin_loop;
use std::sync::mpsc::{SyncSender, TrySendError, sync_channel};

use crate::accelerator::{Accelerator, Origin, Schedule};
use crate::error::NeighbourError;
use crate::functions::stage;
use crate::header::Header;
use crate::packets::Packets;
use crate::spec::{AcceleratorSpec, FunctionSpec, Pattern};
use crate::stage::{Stage, Verdict};
use crate::work::{Served, Work};

/// Number of packets that a thread processes in one turn ([`Work::turn`]). It is the usual burst
/// size of a driver.
const BURST: usize = 32;
/// Number of attempts to send a request to a full queue. After these, the turn ends.
const MAX_ATTEMPTS: usize = 1000;

/// The header-processing stages of a network function, and the packets that they process.
struct Front {
    packets: Packets,
    stages: Vec<Box<dyn Stage>>,
    served: Served,
    bytes: u64,
}

impl Front {
    fn new(spec: &FunctionSpec) -> Result<Front, NeighbourError> {
        let packets = Packets::new(&spec.traffic)?;
        let seed = spec.traffic.seed;
        let stages: Result<Vec<_>, _> = spec.stages.iter().map(|s| stage(s, seed)).collect();
        let (mut stages, bytes) = (stages?, spec.traffic.packet_bytes as u64);
        // One packet of each flow fills the tables before the measurement.
        for number in 0..spec.traffic.flows {
            process(&mut stages, &mut packets.header_of(number));
        }
        Ok(Front { packets, stages, served: Served::default(), bytes })
    }

    /// Processes the next packet in all stages. Returns the index of its payload, or `None` if a
    /// stage drops the packet.
    #[inline]
    fn next(&mut self) -> Option<usize> {
        let (at, header) = self.packets.receive();
        self.served.items += 1;
        self.served.bytes += self.bytes;
        let passed = process(&mut self.stages, header);
        self.served.results += u64::from(passed);
        passed.then_some(at)
    }
}

/// Processes a packet in the stages one after the other. Returns false if a stage drops it.
fn process(stages: &mut [Box<dyn Stage>], header: &mut Header) -> bool {
    stages.iter_mut().all(|stage| stage.process(header) == Verdict::Pass)
}

/// The thread of a network function with a single thread, which processes each packet completely
/// before the next one.
struct RunToCompletion {
    front: Front,
    accelerator: Option<Accelerator>,
}

impl Work for RunToCompletion {
    fn begin(&mut self, competing: bool) {
        if let Some(accelerator) = &mut self.accelerator {
            accelerator.enable_others(competing);
        }
    }

    fn turn(&mut self) {
        for _ in 0..BURST {
            let Some(payload) = self.front.next() else { continue };
            let Some(accelerator) = &mut self.accelerator else { continue };
            accelerator.submit(payload);
            // Serve the requests of other clients that come first. The request of this function
            // ends the loop.
            while accelerator.serve().is_some_and(|client| client != 0) {}
        }
    }

    fn served(&self) -> Vec<Served> {
        let others = self.accelerator.iter().flat_map(Accelerator::served);
        std::iter::once(self.front.served).chain(others).collect()
    }
}

/// The first of two threads of a pipelined network function. It processes packet headers, and sends
/// requests to the second thread, the accelerator.
struct Headers {
    front: Front,
    queue: SyncSender<usize>,
    /// Index of the payload whose request waits because the queue to the accelerator is full;
    /// `None` if no request waits.
    waiting: Option<usize>,
}

impl Work for Headers {
    fn begin(&mut self, _: bool) {}

    fn turn(&mut self) {
        for _ in 0..BURST {
            let Some(payload) = self.waiting.take().or_else(|| self.front.next()) else { continue };
            let mut attempts = 0;
            while let Err(TrySendError::Full(_)) = self.queue.try_send(payload) {
                attempts += 1;
                if attempts == MAX_ATTEMPTS {
                    self.waiting = Some(payload);
                    return;
                }
                spin_loop();
            }
        }
    }

    fn served(&self) -> Vec<Served> {
        vec![self.front.served]
    }
}

/// A thread that runs only an accelerator: the second thread of a pipeline, or an accelerator whose
/// first client always has a request.
struct AcceleratorThread {
    accelerator: Accelerator,
}

impl Work for AcceleratorThread {
    fn begin(&mut self, competing: bool) {
        self.accelerator.enable_others(competing);
    }

    fn turn(&mut self) {
        for _ in 0..BURST {
            if self.accelerator.serve().is_none() {
                spin_loop();
            }
        }
    }

    fn served(&self) -> Vec<Served> {
        self.accelerator.served().collect()
    }
}

/// Number of the CPU on which a thread runs, and the work of the thread.
pub type PinnedWork = (usize, Box<dyn Work>);

/// Creates the work of all threads of a network function. The thread that processes headers comes
/// first.
///
/// # Errors
/// If the description is invalid, or there is not enough memory.
pub fn function(spec: &FunctionSpec) -> Result<Vec<PinnedWork>, NeighbourError> {
    spec.check()?;
    let front = Front::new(spec)?;
    let payloads = front.packets.payloads();
    match (spec.pattern, spec.service, spec.accelerator_cpu) {
        (Pattern::Pipeline, Some(service), Some(cpu)) => {
            let (queue, requests) = sync_channel(spec.queue);
            let first = (payloads, Origin::Thread(requests));
            let accelerator = Accelerator::new(service, first, &spec.clients)?;
            let headers = Headers { front, queue, waiting: None };
            Ok(vec![
                (spec.cpu, Box::new(headers)),
                (cpu, Box::new(AcceleratorThread { accelerator })),
            ])
        }
        (_, service, _) => {
            let accelerator = service.map(|service| {
                let own = Origin::Own(VecDeque::new());
                Accelerator::new(service, (payloads, own), &spec.clients)
            });
            let accelerator = accelerator.transpose()?;
            Ok(vec![(spec.cpu, Box::new(RunToCompletion { front, accelerator }))])
        }
    }
}

/// Creates the work of the thread of an accelerator, whose first client always has a request.
///
/// # Errors
/// If the description is invalid, or there is not enough memory.
pub fn accelerator(spec: &AcceleratorSpec) -> Result<Box<dyn Work>, NeighbourError> {
    spec.check()?;
    let payloads = Packets::new(&spec.traffic)?.payloads();
    let first = (payloads, Origin::Scheduled(Schedule::new(None)));
    Ok(Box::new(AcceleratorThread {
        accelerator: Accelerator::new(spec.service, first, &spec.clients)?,
    }))
}
