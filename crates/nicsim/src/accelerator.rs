//! An accelerator: one server, and queues that it takes a request of in turn.

use std::collections::VecDeque;

use crate::address::LINE;
use crate::device::AcceleratorParameters;
use crate::packet::Packet;
use crate::time::{Time, from_ns};

/// What is to be done when a request has been served.
#[derive(Debug, Clone, Copy)]
pub enum Reply {
    /// The thread of this number has waited for it.
    Thread(usize),
    /// Its packet goes on behind the link of this number.
    Link(usize, Packet),
}

/// A payload to work on.
#[derive(Debug, Clone, Copy)]
pub struct Request {
    /// Whose it is: the number of its queue.
    pub queue: usize,
    /// Its size.
    pub bytes: u32,
    /// What is found in it.
    pub matches: u32,
    /// When it was sent.
    pub sent: Time,
    /// Who wants to know.
    pub reply: Reply,
}

/// Requests of a queue that were served, and what they took.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Served {
    /// How many.
    pub requests: u64,
    /// Time in service of those that are done.
    pub busy: Time,
    /// Time from sent to served.
    pub sojourn: Time,
}

/// The server and its queues.
#[derive(Debug)]
pub struct Accelerator {
    request: Time,
    per_byte: f64,
    per_match: f64,
    queues: Vec<VecDeque<Request>>,
    /// The queue to look at first.
    next: usize,
    serving: Option<(Request, Time)>,
    served: Vec<Served>,
}

impl Accelerator {
    /// An idle accelerator with so many queues.
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

    /// What a request takes of the server; at least the smallest time that there is.
    pub fn service(&self, bytes: u32, matches: u32) -> Time {
        let work = f64::from(bytes) * self.per_byte + f64::from(matches) * self.per_match;
        (self.request + work as Time).max(1)
    }

    /// Time from one line of a payload that it reads to the next.
    pub fn apart(&self) -> Time {
        (self.per_byte * LINE as f64) as Time
    }

    /// Queues a request.
    pub fn send(&mut self, request: Request) {
        self.queues[request.queue].push_back(request);
    }

    /// Takes the next request of the next queue that has one, if the server is free.
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

    /// The request that is served is done.
    pub fn end(&mut self, now: Time) -> Option<Request> {
        let (request, begun) = self.serving.take()?;
        let served = &mut self.served[request.queue];
        served.requests += 1;
        served.busy += now - begun;
        served.sojourn += now - request.sent;
        Some(request)
    }

    /// How long it has served, the request that it is at included.
    pub fn worked(&self, now: Time) -> Time {
        let done: Time = self.served.iter().map(|served| served.busy).sum();
        done + self.serving.as_ref().map_or(0, |(_, begun)| now - begun)
    }

    /// What was served since the beginning, by queue.
    pub fn served(&self) -> &[Served] {
        &self.served
    }
}
