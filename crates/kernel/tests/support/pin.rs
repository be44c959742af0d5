//! Pins threads to CPUs. Per-CPU maps have a value for each CPU, and tests compare only the value
//! of one CPU.

use std::sync::atomic::{AtomicUsize, Ordering};

use rustix::thread::{CpuSet, sched_getaffinity, sched_getcpu, sched_setaffinity};

/// Pins the calling thread to one of the CPUs that it may use. `number` modulo the number of these
/// CPUs selects the CPU. Does nothing if the operating system does not allow it.
pub fn pin(number: usize) {
    let Ok(allowed) = sched_getaffinity(None) else { return };
    let cpus: Vec<usize> = (0..CpuSet::MAX_CPU).filter(|&cpu| allowed.is_set(cpu)).collect();
    let mut one = CpuSet::new();
    one.set(cpus[number % cpus.len().max(1)]);
    let _ = sched_setaffinity(None, &one);
}

/// Pins the calling thread to the CPU on which it runs. Tests that run at the same time keep their
/// own CPUs.
pub fn pin_here() {
    let mut one = CpuSet::new();
    one.set(sched_getcpu());
    let _ = sched_setaffinity(None, &one);
}

/// Runs a job on all CPUs at the same time, on one pinned thread for each CPU. The arguments of the
/// job are the index of its thread and the number of threads. Returns all results.
pub fn on_every_cpu<T: Send>(job: impl Fn(usize, usize) -> T + Sync) -> Vec<T> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        let start = |number| {
            let job = &job;
            scope.spawn(move || {
                pin(number);
                job(number, threads)
            })
        };
        let workers: Vec<_> = (0..threads).map(start).collect();
        workers.into_iter().map(|worker| worker.join().expect("no panic")).collect()
    })
}

/// Runs a job for each number below `count`, on all CPUs as [`on_every_cpu`] does. Durations may
/// differ widely, because an idle thread takes the next number. Returns all results, in any order.
pub fn each_on_every_cpu<T: Send>(count: usize, job: impl Fn(usize) -> T + Sync) -> Vec<T> {
    let next = AtomicUsize::new(0);
    let take = || Some(next.fetch_add(1, Ordering::Relaxed)).filter(|&number| number < count);
    on_every_cpu(|_, _| std::iter::from_fn(take).map(&job).collect::<Vec<T>>())
        .into_iter()
        .flatten()
        .collect()
}
