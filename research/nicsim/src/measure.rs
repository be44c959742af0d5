//! Computes the outcome of a run from the counters at two times.

use crate::accelerator::Served;
use crate::address::LINE;
use crate::cores::Shared;
use crate::count::Counts;
use crate::device::Device;
use crate::function::{Function, Functions};
use crate::outcome::{AcceleratorOutcome, ClientOutcome, Counters, MemoryOutcome, Outcome};
use crate::setup::Parts;
use crate::state::ClientState;
use crate::time::{Time, seconds};

/// All counters of a simulation at one time.
#[derive(Debug)]
pub struct Snapshot {
    time: Time,
    counts: Vec<Counts>,
    inside: Vec<u64>,
    served: Vec<Vec<Served>>,
    /// Total service time of each accelerator.
    worked: Vec<Time>,
    memory: (u64, u64, Time),
}

impl Snapshot {
    /// Copies all counters at the present time.
    pub fn of(parts: &Parts, shared: &Shared, time: Time) -> Self {
        Snapshot {
            time,
            counts: parts.clients.iter().map(|client| client.counts.clone()).collect(),
            inside: parts.clients.iter().map(|client| client.inside.0).collect(),
            served: parts.accelerators.iter().map(|one| one.served().to_vec()).collect(),
            worked: parts.accelerators.iter().map(|one| one.worked(time)).collect(),
            memory: shared.memory.counted(),
        }
    }
}

/// Computes the outcome of the time between two snapshots. The caller has to set the number of
/// events in it.
pub fn outcome(
    device: &Device,
    functions: &Functions,
    parts: &Parts,
    shared: &Shared,
    (before, after): (&Snapshot, &Snapshot),
) -> Outcome {
    let duration = after.time - before.time;
    let mut occupancy = vec![0; parts.clients.len()];
    for line in shared.caches.last_level() {
        let first = line * shared.caches.sampling();
        let owns = |client: &ClientState| client.lines.0 <= first && first < client.lines.1;
        if let Some(owner) = parts.clients.iter().position(owns) {
            occupancy[owner] += LINE * u64::from(shared.caches.sampling());
        }
    }
    let clients = parts.clients.iter().enumerate().map(|(at, client)| {
        let change = Change {
            duration,
            before: &before.counts[at],
            after: &after.counts[at],
            sampling: shared.caches.sampling(),
        };
        ClientOutcome {
            inside: (before.inside[at], after.inside[at]),
            occupancy: occupancy[at],
            ..client_outcome(device, functions.get(&client.name), client, &change)
        }
    });
    let clients = clients.collect();
    let accelerators = parts.names.iter().enumerate().map(|(at, name)| {
        let worked = after.worked[at] - before.worked[at];
        (name.clone(), accelerator((worked, duration), &before.served[at], &after.served[at]))
    });
    let difference = |at: fn(&(u64, u64, Time)) -> u64| at(&after.memory) - at(&before.memory);
    let reads = difference(|memory| memory.1);
    Outcome {
        device: device.name.clone(),
        seconds: seconds(duration),
        clients,
        accelerators: accelerators.collect(),
        memory: MemoryOutcome {
            busy: difference(|memory| memory.0) as f64 / shared.memory.capacity(duration),
            waited_ns: each(difference(|memory| memory.2), reads),
        },
        events: 0,
        packets: after.counts.iter().map(|counts| counts.begun).sum(),
    }
}

struct Change<'a> {
    duration: Time,
    before: &'a Counts,
    after: &'a Counts,
    sampling: u32,
}

fn client_outcome(
    device: &Device,
    function: Option<&Function>,
    client: &ClientState,
    change: &Change<'_>,
) -> ClientOutcome {
    let Change { before, after, duration, .. } = change;
    let per_second = |count: f64| count / seconds(*duration);
    let all = *duration as f64 * client.cores.len() as f64;
    let idle = (after.idle - before.idle) as f64 / all;
    let cycles = seconds(*duration) * client.cores.len() as f64 * device.cores.clock_hz;
    let worked = after.instructions - before.instructions;
    let polled = cycles * idle * device.cores.poll_ipc;
    let (reads, writes) = function.map_or((0.0, 0.0), |one| (one.reads, one.writes));
    let l2_reads = after.l2_reads - before.l2_reads;
    let l2_writes = (after.l2_writes - before.l2_writes) * u64::from(change.sampling);
    let done = after.done - before.done;
    ClientOutcome {
        function: client.name.clone(),
        throughput: per_second(done as f64),
        counters: Counters {
            ipc: (worked + polled) / cycles,
            irt: per_second(worked + polled),
            l2crd: per_second(l2_reads as f64),
            l2cwr: per_second(l2_writes as f64),
            memrd: per_second(worked * reads + polled * device.cores.poll_reads),
            memwr: per_second(worked * writes + polled * device.cores.poll_writes),
            wss_mb: client.pages.count() as f64 * 4096.0 * 1e-6,
        },
        begun: after.begun - before.begun,
        done,
        inside: (0, 0),
        sojourn_ns: each(after.sojourn - before.sojourn, done),
        mean_inside: (after.inside_time - before.inside_time) as f64 / *duration as f64,
        idle,
        misses: (after.misses - before.misses) as f64 / (l2_reads as f64).max(1.0),
        occupancy: 0,
    }
}

fn accelerator(
    (worked, duration): (Time, Time),
    before: &[Served],
    after: &[Served],
) -> AcceleratorOutcome {
    let change = |at: fn(&Served) -> u64| -> Vec<u64> {
        before.iter().zip(after).map(|(before, after)| at(after) - at(before)).collect()
    };
    let requests = change(|served| served.requests);
    let busy = change(|served| served.busy);
    let mean = |times: &[Time]| -> Vec<f64> {
        times.iter().zip(&requests).map(|(&time, &count)| each(time, count)).collect()
    };
    AcceleratorOutcome {
        busy: worked as f64 / duration as f64,
        served: requests.iter().map(|count| *count as f64 / seconds(duration)).collect(),
        service_ns: mean(&busy),
        sojourn_ns: mean(&change(|served| served.sojourn)),
    }
}

/// Returns the average time of `count` items in nanoseconds; 0 without items.
fn each(time: Time, count: u64) -> f64 {
    if count == 0 { 0.0 } else { time as f64 / 1000.0 / count as f64 }
}
