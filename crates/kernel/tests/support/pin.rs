//! Pinning of threads to CPUs: per-CPU maps have a value for each CPU, and tests compare one of
//! them.

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// Pins the calling thread to one of its allowed CPUs, chosen by `number` modulo their count. Does
/// nothing if the system forbids it.
pub fn pin(number: usize) {
    let Ok(allowed) = sched_getaffinity(None) else { return };
    let cpus: Vec<usize> = (0..CpuSet::MAX_CPU).filter(|&cpu| allowed.is_set(cpu)).collect();
    let mut one = CpuSet::new();
    one.set(cpus[number % cpus.len().max(1)]);
    let _ = sched_setaffinity(None, &one);
}

/// Runs a job on all CPUs at the same time, each on a pinned thread, and returns the results. The
/// job receives its number and the number of threads.
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
