//! Stays on one CPU: maps have a value for each, and one of them is compared.

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// Keeps the calling thread on one of the CPUs that it may be on. Where that is forbidden, nothing
/// happens.
pub fn pin(which: usize) {
    let Ok(allowed) = sched_getaffinity(None) else { return };
    let cpus: Vec<usize> = (0..CpuSet::MAX_CPU).filter(|&cpu| allowed.is_set(cpu)).collect();
    let mut one = CpuSet::new();
    one.set(cpus[which % cpus.len().max(1)]);
    let _ = sched_setaffinity(None, &one);
}

/// Does a job once on every CPU at the same time, each on a thread that stays there; what they
/// return. The job is told its number and how many there are.
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
