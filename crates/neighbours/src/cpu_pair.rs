//! Detects the effects of other load on the same processor, which a virtual machine cannot see
//! directly.
//!
//! The round-trip time of a cache line between two CPUs shows where they are. Virtual CPUs migrate,
//! and while two of them are behind different last-level caches, they share no cache that
//! competitors could use up. The time of a loop that needs only its core shows whether another
//! hardware thread uses the same core. If this is our own second thread, the loop takes longer
//! while that thread runs than while it sleeps.

use std::hint::{black_box, spin_loop};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use serde::Serialize;

use crate::cpus;
use crate::error::NeighbourError;

/// Round trips in a row.
const ROUNDS: u64 = 100;
/// Time for which round trips are tried.
const TIME: Duration = Duration::from_millis(1);
/// Iterations of a busy wait between two checks of whether to go on.
const LOOK: u32 = 1 << 10;
/// Number of times that the loop is timed; the shortest counts.
const PACES: usize = 10;
const STEPS: u64 = 20_000;

/// Observations on two CPUs.
#[derive(Clone, Copy, Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "Surroundings"))]
pub struct CpuPairObservation {
    /// Round-trip time in seconds of a cache line between the two CPUs; `None` if the second one
    /// did not answer in time.
    pub handover: Option<f64>,
    /// Seconds of a loop on the first CPU while the second one sleeps.
    pub alone: f64,
    /// Seconds of the loop on both CPUs at the same time.
    pub paces: [f64; 2],
}

/// A cache line that two threads write in turns.
#[derive(Default)]
#[repr(align(128))]
struct Line(AtomicU64);

/// Observes two CPUs for some milliseconds.
///
/// # Errors
/// If a thread cannot be started or pinned to its CPU.
pub fn observe_cpu_pair(one: usize, other: usize) -> Result<CpuPairObservation, NeighbourError> {
    let purpose = || "a look at CPUs".to_owned();
    let failed = |cause| NeighbourError::Thread { purpose: purpose(), cause };
    let (line, over) = (Line::default(), AtomicBool::new(false));
    let (line, over) = (&line, &over);
    let (begin, begun) = mpsc::channel::<()>();
    thread::scope(|scope| {
        let answers = thread::Builder::new().spawn_scoped(scope, move || {
            cpus::pin(other)?;
            // Sleep until the asking thread starts, or has failed.
            let _ = begun.recv();
            answer(line, over);
            Ok(pace())
        });
        let answers = answers.map_err(failed)?;
        let asks = thread::Builder::new().spawn_scoped(scope, move || {
            let pinned = cpus::pin(one);
            let found = pinned.map(|()| {
                let alone = pace();
                let _ = begin.send(());
                (alone, ask(line))
            });
            over.store(true, Ordering::Relaxed);
            Ok((found?, pace()))
        });
        // Even if the asking thread failed, the answering one must end.
        let asked = asks.map(|thread| thread.join());
        over.store(true, Ordering::Relaxed);
        let defect = |_| NeighbourError::Defect(purpose());
        let second = answers.join().map_err(defect)?.map_err(failed)?;
        let ((alone, handover), first) = asked.map_err(failed)?.map_err(defect)?.map_err(failed)?;
        Ok(CpuPairObservation { handover, alone, paces: [first, second] })
    })
}

/// Writes odd numbers and waits for the even ones that answer them. Returns the shortest round-trip
/// time.
fn ask(line: &Line) -> Option<f64> {
    let start = Instant::now();
    let (mut at, mut least) = (0, None);
    while start.elapsed() < TIME {
        let begun = Instant::now();
        for _ in 0..ROUNDS {
            line.0.store(at + 1, Ordering::Release);
            at += 2;
            let mut turns = 0;
            while line.0.load(Ordering::Acquire) != at {
                turns += 1;
                if turns % LOOK == 0 && start.elapsed() > TIME {
                    return least;
                }
                spin_loop();
            }
        }
        let each = begun.elapsed().as_secs_f64() / ROUNDS as f64;
        least = Some(least.map_or(each, |least: f64| least.min(each)));
    }
    least
}

/// Answers each odd number with the next even one.
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

/// Returns the seconds of a loop that keeps several units of a core busy without memory accesses.
fn pace() -> f64 {
    let times = (0..PACES).map(|_| {
        let begun = Instant::now();
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
        begun.elapsed().as_secs_f64()
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
        let found = found.into_iter().find(|look| look.handover.is_some());
        let look = found.expect("the other CPU never answered");
        assert!((1e-9..2e-3).contains(&look.handover.unwrap()), "{look:?}");
        assert!(look.paces.iter().chain([&look.alone]).all(|&pace| pace > 1e-6), "{look:?}");
        assert!(observe_cpu_pair(one, 1 << 20).is_err());
        assert!(observe_cpu_pair(1 << 20, other).is_err());
    }
}
