//! An accelerator: one server that serves its queues in turn, one request at a time.

use std::collections::VecDeque;

use crate::address::LINE;
use crate::device::AcceleratorParameters;
use crate::packet::Packet;
use crate::time::{Time, from_ns};

/// Recipient of the result of a request.
#[derive(Debug, Clone, Copy)]
pub enum Reply {
    /// Index of the thread that waits for the result.
    Thread(usize),
    /// Index of the link to the next pipeline stage, and the packet that continues on this link.
    Link(usize, Packet),
}

/// A request to an accelerator to process the payload of a packet.
#[derive(Debug, Clone, Copy)]
pub struct Request {
    /// Index of the queue, which equals the index of the sending client.
    pub queue: usize,
    /// Size of the payload in bytes.
    pub bytes: u32,
    /// Number of regular-expression matches in the payload.
    pub matches: u32,
    /// Time at which the request was sent.
    pub sent: Time,
    pub reply: Reply,
}

/// Totals of the served requests of one queue.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Served {
    /// Number of finished requests.
    pub requests: u64,
    /// Total service time of finished requests.
    pub busy: Time,
    /// Total time of finished requests from sending to completion.
    pub sojourn: Time,
}

/// An accelerator: one server, with a queue of requests for each client.
#[derive(Debug)]
pub struct Accelerator {
    request: Time,
    per_byte: f64,
    per_match: f64,
    queues: Vec<VecDeque<Request>>,
    /// Index of the queue that is served next.
    next: usize,
    serving: Option<(Request, Time)>,
    served: Vec<Served>,
}

impl Accelerator {
    /// Creates an idle accelerator with this number of queues.
    pub fn new(parameters: &AcceleratorParameters, queues: usize) -> Self {
        Accelerator {
            request: from_ns(parameters.request_ns),
            per_byte: 1e12 / parameters.bytes_per_second,
            per_match: parameters.match_ns * 1000.0,
            queues: vec![VecDeque::new(); queues],
            next: 0,
            serving: None,
            served: vec![Served::default(); queues],
        }
    }

    /// Returns the service time of a request, at least 1 ps.
    pub fn service(&self, bytes: u32, matches: u32) -> Time {
        let work = f64::from(bytes) * self.per_byte + f64::from(matches) * self.per_match;
        (self.request + work as Time).max(1)
    }

    /// Returns the time between two cache lines of a payload that the accelerator reads.
    pub fn line_interval(&self) -> Time {
        (self.per_byte * LINE as f64) as Time
    }

    pub fn send(&mut self, request: Request) {
        self.queues[request.queue].push_back(request);
    }

    /// Starts the first request of the next queue that is not empty, and returns it. Returns `None`
    /// if the server is busy or all queues are empty.
    pub fn begin(&mut self, now: Time) -> Option<Request> {
        if self.serving.is_some() {
            return None;
        }
        let count = self.queues.len();
        let at = (0..count).map(|step| (self.next + step) % count);
        let queue = at.into_iter().find(|queue| !self.queues[*queue].is_empty())?;
        let request = self.queues[queue].pop_front()?;
        self.next = (queue + 1) % count;
        self.serving = Some((request, now));
        Some(request)
    }

    /// Ends the current request and returns it; `None` if the server is idle.
    pub fn end(&mut self, now: Time) -> Option<Request> {
        let (request, begun) = self.serving.take()?;
        let served = &mut self.served[request.queue];
        served.requests += 1;
        served.busy += now - begun;
        served.sojourn += now - request.sent;
        Some(request)
    }

    /// Returns the total service time, including that of the current request.
    pub fn worked(&self, now: Time) -> Time {
        let done: Time = self.served.iter().map(|served| served.busy).sum();
        done + self.serving.as_ref().map_or(0, |(_, begun)| now - begun)
    }

    /// Returns the totals of served requests since the start, by queue.
    pub fn served(&self) -> &[Served] {
        &self.served
    }
}
