//! Reads two clocks of a thread: wall-clock time and CPU time.

use std::time::{Duration, Instant};

/// Wall-clock time and CPU time of a thread at one moment.
#[derive(Clone, Copy, Debug)]
pub struct Moment {
    /// Monotonic wall-clock time.
    pub wall: Instant,
    /// Total CPU time of the thread; `None` if the system does not provide it.
    pub cpu: Option<Duration>,
}

pub fn now() -> Moment {
    Moment { wall: Instant::now(), cpu: thread_time() }
}

#[cfg(target_os = "linux")]
fn thread_time() -> Option<Duration> {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    let (seconds, rest) = (u64::try_from(time.tv_sec).ok()?, u32::try_from(time.tv_nsec).ok()?);
    Some(Duration::new(seconds, rest))
}

#[cfg(not(target_os = "linux"))]
fn thread_time() -> Option<Duration> {
    None
}

#[cfg(test)]
mod tests {
    #[test]
    fn cpu_time_does_not_exceed_wall_time() {
        let start = super::now();
        let sum = (0..1_000_000u64).fold(0, |sum, next| std::hint::black_box(sum ^ next));
        let end = super::now();
        assert_ne!(sum, 1);
        let (Some(before), Some(after)) = (start.cpu, end.cpu) else { return };
        assert!(after > before);
        let slack = std::time::Duration::from_millis(1);
        assert!(after - before <= end.wall - start.wall + slack);
    }
}
