//! An accelerator in software. It serves several bounded queues of requests in strict round-robin
//! order, one request at a time.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::mpsc::Receiver;
use std::time::{Duration, Instant};

use crate::engines::Engine;
use crate::error::NeighbourError;
use crate::payloads::Payloads;
use crate::spec::{ClientSpec, Service};
use crate::traffic::Traffic;
use crate::work::Served;

/// Number of different payloads for each client whose requests a schedule generates.
const GENERATED: usize = 256;
/// Capacity in requests of each queue that a schedule fills. Requests that find the queue full are
/// dropped.
const CAPACITY: u32 = 256;

/// Source of the requests in a queue. A request is an index into the payloads of the queue's
/// client.
pub enum Origin {
    /// Another thread sends the requests through a bounded queue.
    Thread(Receiver<usize>),
    /// The thread of the accelerator itself submits the requests ([`Accelerator::submit`]).
    Own(VecDeque<usize>),
    /// A schedule generates the requests at the times when they are due. No thread sends them.
    Scheduled(Schedule),
}

/// A generator of requests for one queue, at a given rate or without a pause.
pub struct Schedule {
    interval: Option<Duration>,
    due: Instant,
    enabled: bool,
    next: usize,
}

impl Schedule {
    /// Creates a schedule of `rate` requests per second. If `rate` is `None`, a request is always
    /// due.
    pub fn new(rate: Option<f64>) -> Schedule {
        let interval = rate.map(|rate| Duration::from_secs_f64(1.0 / rate));
        Schedule { interval, due: Instant::now(), enabled: true, next: 0 }
    }

    /// Returns the index of the next payload if a request is due at the time `now`, and `None` if
    /// not. The index is below `payloads`, the number of payloads.
    fn take(&mut self, now: Instant, payloads: usize) -> Option<usize> {
        if !self.enabled {
            return None;
        }
        if let Some(interval) = self.interval {
            if now < self.due {
                return None;
            }
            let oldest = now.checked_sub(interval * CAPACITY);
            // Requests beyond the queue's capacity are dropped.
            self.due = oldest.map_or(self.due, |oldest| self.due.max(oldest)) + interval;
        }
        self.next = if self.next + 1 >= payloads { 0 } else { self.next + 1 };
        Some(self.next)
    }
}

struct Client {
    payloads: Arc<Payloads>,
    served: Served,
}

struct Queue {
    client: usize,
    origin: Origin,
}

/// An engine that processes the payloads of requests, with the clients and queues that it serves.
pub struct Accelerator {
    engine: Engine,
    clients: Vec<Client>,
    queues: Vec<Queue>,
    next: usize,
}

impl Accelerator {
    /// Creates an accelerator for the service. `first` is the first client, which has one queue:
    /// its payloads and the source of its requests. `others` describes further clients, whose
    /// requests a schedule generates.
    ///
    /// # Errors
    /// If the engine cannot be created, or there is not enough memory.
    pub fn new(
        service: Service,
        first: (Arc<Payloads>, Origin),
        others: &[ClientSpec],
    ) -> Result<Accelerator, NeighbourError> {
        let sizes = others.iter().map(|client| client.packet_bytes);
        let largest = sizes.chain([first.0.get(0).len()]).max().unwrap_or(0);
        let engine = Engine::new(service, largest)?;
        let (payloads, origin) = first;
        let mut clients = vec![Client { payloads, served: Served::default() }];
        let mut queues = vec![Queue { client: 0, origin }];
        for (seed, spec) in others.iter().enumerate() {
            let &ClientSpec { packet_bytes, mtbr, rate, queues: count } = spec;
            let (flows, ring, seed) = (1, GENERATED, 1000 + seed as u64);
            let traffic = Traffic { flows, packet_bytes, mtbr, ring, seed };
            let payloads = Payloads::new(ring, traffic.payload_bytes(), mtbr, seed)?;
            let client = clients.len();
            clients.push(Client { payloads: Arc::new(payloads), served: Served::default() });
            for _ in 0..count {
                let schedule = Schedule::new(rate.map(|rate| rate / count as f64));
                queues.push(Queue { client, origin: Origin::Scheduled(schedule) });
            }
        }
        Ok(Accelerator { engine, clients, queues, next: 0 })
    }

    /// Turns the generated requests on or off. These are the requests of all clients except the
    /// first one.
    pub fn enable_others(&mut self, enabled: bool) {
        let now = Instant::now();
        for queue in &mut self.queues {
            if let Origin::Scheduled(schedule) = &mut queue.origin {
                schedule.enabled = enabled || queue.client == 0;
                schedule.due = now;
            }
        }
    }

    /// Adds a request to the first client's queue, if the accelerator's own thread submits the
    /// requests of this client.
    pub fn submit(&mut self, payload: usize) {
        if let Some(Queue { origin: Origin::Own(waiting), .. }) = self.queues.first_mut() {
            waiting.push_back(payload);
        }
    }

    /// Serves one request of the next non-empty queue, in round-robin order. Returns the index of
    /// the queue's client, or `None` if all queues are empty.
    #[inline]
    pub fn serve(&mut self) -> Option<usize> {
        let start = Instant::now();
        for _ in 0..self.queues.len() {
            let at = self.next;
            self.next = if at + 1 == self.queues.len() { 0 } else { at + 1 };
            let Queue { client, origin } = &mut self.queues[at];
            let number = *client;
            let Client { payloads, served } = &mut self.clients[number];
            let request = match origin {
                Origin::Thread(requests) => requests.try_recv().ok(),
                Origin::Own(waiting) => waiting.pop_front(),
                Origin::Scheduled(schedule) => schedule.take(start, payloads.count()),
            };
            let Some(request) = request else { continue };
            let payload = payloads.get(request);
            let result = self.engine.serve(payload);
            served.items += 1;
            served.bytes += payload.len() as u64;
            served.results += result;
            served.nanoseconds += start.elapsed().as_nanos() as u64;
            return Some(number);
        }
        None
    }

    /// Returns the totals of the served requests, for each client in order.
    pub fn served(&self) -> impl Iterator<Item = Served> + '_ {
        self.clients.iter().map(|client| client.served)
    }
}

#[cfg(test)]
mod tests {
    use super::{Accelerator, Origin, Schedule};
    use crate::payloads::Payloads;
    use crate::spec::{ClientSpec, Service};
    use proptest::prelude::*;
    use std::collections::VecDeque;
    use std::sync::Arc;
    use std::sync::mpsc::sync_channel;
    use std::time::{Duration, Instant};

    fn payloads() -> Arc<Payloads> {
        Arc::new(Payloads::new(4, 100, 0.0, 0).unwrap())
    }

    fn client(queues: usize) -> ClientSpec {
        ClientSpec { packet_bytes: 100, mtbr: 0.0, rate: None, queues }
    }

    #[test]
    fn queues_are_served_in_turn_and_own_requests_wait_for_a_round() {
        let own = Origin::Own(VecDeque::new());
        let others = [client(1), client(2)];
        let mut accelerator = Accelerator::new(Service::Regex, (payloads(), own), &others).unwrap();
        let mut order = Vec::new();
        for payload in 0..3 {
            accelerator.submit(payload);
            order.extend((0..4).filter_map(|_| accelerator.serve()));
        }
        assert_eq!(order, [0, 1, 2, 2].repeat(3));
        accelerator.enable_others(false);
        assert_eq!(accelerator.serve(), None);
        accelerator.submit(0);
        accelerator.submit(1);
        let (first, second, third) =
            (accelerator.serve(), accelerator.serve(), accelerator.serve());
        assert_eq!((first, second, third), (Some(0), Some(0), None));
        let items: Vec<u64> = accelerator.served().map(|served| served.items).collect();
        assert_eq!(items, [5, 3, 6]);
        assert_eq!(accelerator.served().next().unwrap().bytes, 500);
    }

    #[test]
    fn bounded_queues_refuse_requests_without_room() {
        let (sender, requests) = sync_channel(2);
        let first = (payloads(), Origin::Thread(requests));
        let mut accelerator = Accelerator::new(Service::Compression, first, &[]).unwrap();
        assert!(sender.try_send(0).is_ok() && sender.try_send(1).is_ok());
        assert!(sender.try_send(2).is_err());
        assert_eq!(accelerator.serve(), Some(0));
        assert!(sender.try_send(2).is_ok());
        drop(sender);
        let served = std::iter::from_fn(|| accelerator.serve()).count();
        assert_eq!(served, 2);
        let all = accelerator.served().next().unwrap();
        assert!(all.items == 3 && all.results > 0 && all.results < all.bytes);
    }

    proptest! {
        /// Checks that queues that always have requests are served equally often.
        #[test]
        fn queues_get_equal_shares(
            queues in proptest::collection::vec(1..5usize, 1..4),
            rounds in 1..6usize,
        ) {
            let specs: Vec<ClientSpec> = queues.iter().map(|&count| client(count)).collect();
            let first = (payloads(), Origin::Scheduled(Schedule::new(None)));
            let mut accelerator = Accelerator::new(Service::Regex, first, &specs).unwrap();
            let all = 1 + queues.iter().sum::<usize>();
            for _ in 0..all * rounds {
                prop_assert!(accelerator.serve().is_some());
            }
            let shares: Vec<u64> = accelerator.served().map(|served| served.items).collect();
            let expected = std::iter::once(1).chain(queues).map(|count| (count * rounds) as u64);
            prop_assert_eq!(shares, expected.collect::<Vec<_>>());
        }
    }

    #[test]
    fn requests_appear_when_due_and_are_dropped_without_room() {
        let mut schedule = Schedule::new(Some(10.0));
        let start = schedule.due;
        assert!(schedule.take(start, 4).is_some());
        assert!(schedule.take(start, 4).is_none());
        let after = |seconds| start + Duration::from_secs(seconds);
        let in_a_second = std::iter::from_fn(|| schedule.take(after(1), 4)).count();
        assert_eq!(in_a_second, 10);
        // A million requests are due after 100,000 seconds; 256 in the queue and the current one
        // remain.
        let late = std::iter::from_fn(|| schedule.take(after(100_000), 4)).count();
        assert_eq!(late, 257);
        let mut disabled = Schedule { enabled: false, ..Schedule::new(None) };
        assert!(disabled.take(Instant::now(), 4).is_none());
    }
}
