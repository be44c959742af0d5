//! Runs network functions (the subjects) and their competitors together for limited times, called
//! blocks.

use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use serde::Serialize;

use crate::clock::{Moment, now};
use crate::counters::{Counted, Counters};
use crate::cpus;
use crate::error::NeighbourError;
use crate::hosts;
use crate::memory::MemBench;
use crate::probe::Probe;
use crate::spec::{MixSpec, WorkSpec};
use crate::work::{Served, Work};

/// Interval between two calls of the callback by which the caller can end a block early.
const CHECK_INTERVAL: Duration = Duration::from_millis(10);
/// Longest time to wait for all threads to start measuring.
const MAX_WAIT: Duration = Duration::from_secs(2);
const WARMING: u8 = 0;
const MEASURING: u8 = 1;
const OVER: u8 = 2;

/// Results of one thread in a measured period, called a block.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Reading {
    /// Index of what the thread runs, among the subjects or competitors of the description.
    pub of: usize,
    /// Kind of the thread: `function`, `accelerator`, `mem-bench` or `probe`.
    pub name: &'static str,
    /// Number of the CPU that the thread runs on.
    pub cpu: usize,
    /// Duration of the measurement in seconds of wall-clock time.
    pub seconds: f64,
    /// CPU time of the thread in seconds during the measurement; null if the system does not
    /// provide it.
    pub cpu_seconds: Option<f64>,
    /// Work done during the measurement. The first element is the thread's own, and one follows for
    /// each client of its accelerator, if it has one.
    pub served: Vec<Served>,
    /// Counts of hardware events during the measurement; null if there are no counters.
    pub counted: Option<Counted>,
}

/// Results of all threads in a measured period.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Block {
    /// Results of the threads whose speed is measured.
    pub subjects: Vec<Reading>,
    /// Results of the threads of competitors, which disturb the others; empty if these did not run.
    pub competitors: Vec<Reading>,
}

struct Slot {
    of: usize,
    name: &'static str,
    cpu: usize,
    competes: bool,
    work: Mutex<Box<dyn Work>>,
}

/// Network functions and their competitors with their memory, ready to run.
pub struct Mix {
    slots: Vec<Slot>,
}

impl Mix {
    /// Allocates packets, tables and working sets, without running anything. `given` contains work
    /// that the caller implements: a [`WorkSpec::Given`] refers to one element by its index. Each
    /// element can be used only once.
    ///
    /// # Errors
    /// If the description is invalid, the process may not use the CPUs, or there is not enough
    /// memory.
    pub fn new(spec: &MixSpec, given: Vec<Box<dyn Work>>) -> Result<Mix, NeighbourError> {
        let mut given: Vec<_> = given.into_iter().map(Some).collect();
        let sides = [(false, &spec.subjects), (true, &spec.competitors)];
        let all = sides.iter().flat_map(|(competes, works)| {
            works.iter().enumerate().map(move |(of, work)| (*competes, of, work))
        });
        let all: Vec<_> = all.collect();
        let requests: Vec<(String, usize)> =
            all.iter().flat_map(|(competes, _, work)| purposes(work, *competes)).collect();
        cpus::check(&requests, &cpus::allowed())?;
        let mut slots = Vec::new();
        for (competes, of, work) in all {
            for (name, cpu, work) in threads(work, &mut given)? {
                slots.push(Slot { of, name, cpu, competes, work: Mutex::new(work) });
            }
        }
        Ok(Mix { slots })
    }

    /// Runs the subjects, whose speed is measured, and also the competitors if `competing` is set.
    /// Runs them for `warm` without measuring, and then for `time` with measuring.
    ///
    /// # Errors
    /// [`NeighbourError::Stopped`] if `go_on` returns false. Other errors if a thread fails or
    /// cannot be started.
    pub fn block(
        &self,
        competing: bool,
        warm: Duration,
        time: Duration,
        go_on: &dyn Fn() -> bool,
    ) -> Result<Block, NeighbourError> {
        let (phase, started_count) = (AtomicU8::new(WARMING), AtomicUsize::new(0));
        let active: Vec<&Slot> =
            self.slots.iter().filter(|slot| competing || !slot.competes).collect();
        let readings = thread::scope(|scope| {
            // Ends the threads even if this closure returns early.
            let _over = Over(&phase);
            let mut threads = Vec::new();
            for &slot in &active {
                let builder = thread::Builder::new().name(slot.name.to_owned());
                let started =
                    builder.spawn_scoped(scope, || run(slot, competing, &phase, &started_count));
                let failed =
                    |cause| NeighbourError::Thread { purpose: slot.name.to_owned(), cause };
                threads.push((slot, started.map_err(failed)?));
            }
            let waited = wait(warm, go_on).and_then(|()| {
                phase.store(MEASURING, Ordering::Relaxed);
                wait_for(&started_count, active.len(), go_on)?;
                wait(time, go_on)
            });
            phase.store(OVER, Ordering::Relaxed);
            let mut readings = Vec::new();
            for (slot, thread) in threads {
                let defect = |_| NeighbourError::Defect(slot.name.to_owned());
                readings.push((slot.competes, thread.join().map_err(defect)?));
            }
            waited.map(|()| readings)
        })?;
        let mut block = Block { subjects: Vec::new(), competitors: Vec::new() };
        for (competes, reading) in readings {
            let side = if competes { &mut block.competitors } else { &mut block.subjects };
            side.push(reading?);
        }
        Ok(block)
    }
}

/// Waits until `count` threads have started to measure, for at most [`MAX_WAIT`]. If other
/// processes keep the CPUs busy so that some start late, the measured CPU times show it.
fn wait_for(
    started_count: &AtomicUsize,
    count: usize,
    go_on: &dyn Fn() -> bool,
) -> Result<(), NeighbourError> {
    let start = Instant::now();
    while started_count.load(Ordering::Relaxed) < count && start.elapsed() < MAX_WAIT {
        wait(Duration::from_millis(1), go_on)?;
    }
    Ok(())
}

/// A guard that tells all threads to end when it is dropped.
struct Over<'a>(&'a AtomicU8);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(OVER, Ordering::Relaxed);
    }
}

/// Waits for `time`. Returns an error as soon as `go_on` returns false.
fn wait(time: Duration, go_on: &dyn Fn() -> bool) -> Result<(), NeighbourError> {
    let start = Instant::now();
    loop {
        if !go_on() {
            return Err(NeighbourError::Stopped);
        }
        let left = time.saturating_sub(start.elapsed());
        if left.is_zero() {
            return Ok(());
        }
        thread::sleep(left.min(CHECK_INTERVAL));
    }
}

/// Clocks, hardware counters and totals of work of a thread at one moment. The thread itself reads
/// them.
struct Snapshot {
    moment: Moment,
    served: Vec<Served>,
    counted: Option<Counted>,
}

fn run(
    slot: &Slot,
    competing: bool,
    phase: &AtomicU8,
    started_count: &AtomicUsize,
) -> Result<Reading, NeighbourError> {
    let failed = |cause| NeighbourError::Thread { purpose: slot.name.to_owned(), cause };
    cpus::pin(slot.cpu).map_err(failed)?;
    let mut work = slot.work.lock().unwrap_or_else(PoisonError::into_inner);
    let mut counters = Counters::open();
    work.begin(competing);
    let mut snapshot = |work: &dyn Work| Snapshot {
        moment: now(),
        served: work.served(),
        counted: counters.read(),
    };
    let mut start = None;
    loop {
        match phase.load(Ordering::Relaxed) {
            OVER => break,
            MEASURING if start.is_none() => {
                start = Some(snapshot(&**work));
                started_count.fetch_add(1, Ordering::Relaxed);
            }
            _ => {}
        }
        work.turn();
    }
    if let Some(reason) = work.failure() {
        return Err(NeighbourError::Given(reason));
    }
    let end = snapshot(&**work);
    let start = start.unwrap_or_else(|| snapshot(&**work));
    let both = end.served.iter().zip(&start.served);
    Ok(Reading {
        of: slot.of,
        name: slot.name,
        cpu: slot.cpu,
        seconds: end.moment.wall.saturating_duration_since(start.moment.wall).as_secs_f64(),
        cpu_seconds: (end.moment.cpu.zip(start.moment.cpu))
            .map(|(after, before)| after.saturating_sub(before).as_secs_f64()),
        served: both.map(|(after, before)| after.since(before)).collect(),
        counted: end.counted.zip(start.counted).map(|(after, before)| after.since(&before)),
    })
}

/// Returns the CPUs that the work needs, each with a description of its use for error messages.
fn purposes(work: &WorkSpec, competes: bool) -> Vec<(String, usize)> {
    let owner = if competes { "a competitor's " } else { "the " };
    let named = |what: &str, cpu: usize| (format!("{owner}{what}"), cpu);
    match work {
        WorkSpec::Function(spec) => {
            let second = spec.accelerator_cpu.map(|cpu| named("accelerator", cpu));
            std::iter::once(named("function", spec.cpu)).chain(second).collect()
        }
        WorkSpec::Accelerator(spec) => vec![named("accelerator", spec.cpu)],
        WorkSpec::Memory(spec) => vec![named("mem-bench", spec.cpu)],
        WorkSpec::Probe(spec) => vec![named("probe", spec.cpu)],
        WorkSpec::Given(spec) => vec![named("function", spec.cpu)],
    }
}

type Thread = (&'static str, usize, Box<dyn Work>);

fn threads(
    work: &WorkSpec,
    given: &mut [Option<Box<dyn Work>>],
) -> Result<Vec<Thread>, NeighbourError> {
    Ok(match work {
        WorkSpec::Function(spec) => {
            let names = ["function", "accelerator"];
            let made = hosts::function(spec)?;
            names.into_iter().zip(made).map(|(name, (cpu, work))| (name, cpu, work)).collect()
        }
        WorkSpec::Accelerator(spec) => {
            vec![("accelerator", spec.cpu, hosts::accelerator(spec)?)]
        }
        WorkSpec::Memory(spec) => vec![("mem-bench", spec.cpu, Box::new(MemBench::new(spec)?))],
        WorkSpec::Probe(spec) => vec![("probe", spec.cpu, Box::new(Probe::new(spec)?))],
        WorkSpec::Given(spec) => {
            let work = given.get_mut(spec.work).and_then(Option::take);
            let missing = NeighbourError::Unfit("there is no such work, or it runs already");
            vec![("function", spec.cpu, work.ok_or(missing)?)]
        }
    })
}
