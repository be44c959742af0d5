//! Detects if other load on the same physical processor affects two CPUs of a virtual machine. The
//! virtual machine cannot see this load directly. Two times show it:
//!
//! - The time that a cache line takes from one CPU to the other and back. It shows whether the CPUs
//!   currently share a last-level cache, which can change because virtual CPUs migrate. If they do
//!   not, they share no cache that competitors could use up.
//! - The time of a loop without memory accesses. It is longer if another hardware thread uses the
//!   same core. If the second CPU is that thread, the loop takes longer while the second CPU is
//!   busy.

use std::hint::{black_box, spin_loop};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use serde::Serialize;

use crate::cpus;
use crate::error::NeighbourError;

/// Number of round trips of a cache line that are timed together.
const ROUNDS: u64 = 100;
/// Duration for which round trips of a cache line are timed.
const TIME: Duration = Duration::from_millis(1);
/// Number of iterations of a busy wait after which the clock is read.
const CHECK_INTERVAL: u32 = 1 << 10;
/// Number of times that the arithmetic loop is timed; the shortest time counts.
const LOOPS: usize = 10;
/// Number of iterations of the arithmetic loop.
const STEPS: u64 = 20_000;

/// Times that show how two CPUs affect each other.
#[derive(Clone, Copy, Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "Surroundings"))]
pub struct CpuPairObservation {
    /// Time in seconds that a cache line takes from the first CPU to the second and back; null if
    /// the second CPU did not answer in time.
    pub handover: Option<f64>,
    /// Time in seconds of a loop on the first CPU while the second one sleeps.
    pub alone: f64,
    /// Times in seconds of the same loop on the first and on the second CPU, while both execute it.
    pub paces: [f64; 2],
}

/// A cache line that two threads write in turn, with a counter.
#[derive(Default)]
#[repr(align(128))]
struct Line(AtomicU64);

/// Measures for some milliseconds how much two CPUs affect each other. `one` and `other` are the
/// numbers of the CPUs.
///
/// # Errors
/// If a thread cannot be started or pinned to its CPU.
pub fn observe_cpu_pair(one: usize, other: usize) -> Result<CpuPairObservation, NeighbourError> {
    let purpose = || "the inspection of CPUs".to_owned();
    let failed = |cause| NeighbourError::Thread { purpose: purpose(), cause };
    let (line, over) = (Line::default(), AtomicBool::new(false));
    let (line, over) = (&line, &over);
    let (sender, start) = mpsc::channel::<()>();
    thread::scope(|scope| {
        let second = thread::Builder::new().spawn_scoped(scope, move || {
            cpus::pin(other)?;
            // Sleep until the first thread starts round trips, or has failed.
            let _ = start.recv();
            answer(line, over);
            Ok(pace())
        });
        let second = second.map_err(failed)?;
        let first = thread::Builder::new().spawn_scoped(scope, move || {
            let pinned = cpus::pin(one);
            let found = pinned.map(|()| {
                let alone = pace();
                let _ = sender.send(());
                (alone, round_trip_time(line))
            });
            over.store(true, Ordering::Relaxed);
            Ok((found?, pace()))
        });
        // Even if the first thread failed, the second one must end.
        let first = first.map(|thread| thread.join());
        over.store(true, Ordering::Relaxed);
        let defect = |_| NeighbourError::Defect(purpose());
        let second = second.join().map_err(defect)?.map_err(failed)?;
        let ((alone, handover), first) = first.map_err(failed)?.map_err(defect)?.map_err(failed)?;
        Ok(CpuPairObservation { handover, alone, paces: [first, second] })
    })
}

/// Writes odd numbers to the cache line, and waits until the other thread answers each with the
/// next even number. Returns the mean time of a round trip in seconds, in the fastest series of
/// `ROUNDS` round trips. Returns `None` if the other thread did not answer in time.
fn round_trip_time(line: &Line) -> Option<f64> {
    let start = Instant::now();
    let (mut at, mut least) = (0, None);
    while start.elapsed() < TIME {
        let round = Instant::now();
        for _ in 0..ROUNDS {
            line.0.store(at + 1, Ordering::Release);
            at += 2;
            let mut spins = 0;
            while line.0.load(Ordering::Acquire) != at {
                spins += 1;
                if spins % CHECK_INTERVAL == 0 && start.elapsed() > TIME {
                    return least;
                }
                spin_loop();
            }
        }
        let each = round.elapsed().as_secs_f64() / ROUNDS as f64;
        least = Some(least.map_or(each, |least: f64| least.min(each)));
    }
    least
}

/// Waits for odd numbers in the cache line, and answers each of them with the next even number,
/// until `over` is set.
fn answer(line: &Line, over: &AtomicBool) {
    while !over.load(Ordering::Relaxed) {
        let at = line.0.load(Ordering::Acquire);
        if at % 2 == 1 {
            line.0.store(at + 1, Ordering::Release);
        } else {
            spin_loop();
        }
    }
}

/// Returns the time in seconds of an arithmetic loop. The loop keeps several execution units of a
/// core busy and does not access memory.
fn pace() -> f64 {
    let times = (0..LOOPS).map(|_| {
        let start = Instant::now();
        let (mut a, mut b, mut c) = (black_box(1_u64), black_box(2_u64), black_box(3_u64));
        let (mut d, mut e, mut f) = (black_box(4_u64), black_box(5_u64), black_box(6_u64));
        for step in 0..STEPS {
            a = a.wrapping_mul(3).wrapping_add(step);
            b = (b ^ step).wrapping_add(7);
            c = c.wrapping_add(b >> 3);
            d ^= c.wrapping_add(step);
            e = e.wrapping_mul(5).wrapping_add(1);
            f = f.wrapping_add(e ^ d);
        }
        black_box((a, b, c, d, e, f));
        start.elapsed().as_secs_f64()
    });
    times.fold(f64::INFINITY, f64::min)
}

#[cfg(test)]
mod tests {
    use super::observe_cpu_pair;
    use crate::cpus::allowed;

    #[test]
    fn lines_are_handed_over_between_cpus() {
        let [one, other, ..] = allowed()[..] else {
            eprintln!("skipped: there is one CPU only");
            return;
        };
        // On a busy machine the other CPU may not answer in time, so try again.
        let found = (0..200).map(|_| observe_cpu_pair(one, other).unwrap());
        let found = found.into_iter().find(|pair| pair.handover.is_some());
        let pair = found.expect("the other CPU never answered");
        assert!((1e-9..2e-3).contains(&pair.handover.unwrap()), "{pair:?}");
        assert!(pair.paces.iter().chain([&pair.alone]).all(|&pace| pace > 1e-6), "{pair:?}");
        assert!(observe_cpu_pair(one, 1 << 20).is_err());
        assert!(observe_cpu_pair(1 << 20, other).is_err());
    }
}
