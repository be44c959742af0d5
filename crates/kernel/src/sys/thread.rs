//! Reads and sets CPU, priority and signals of the calling thread, and reads the clock.

#[cfg(target_os = "linux")]
mod linux {
    use std::io;

    use libc::{CLOCK_MONOTONIC, CLOCK_MONOTONIC_RAW, SCHED_FIFO, SIG_BLOCK};

    /// Returns the time in nanoseconds of the clock `CLOCK_MONOTONIC_RAW`, which is never adjusted.
    /// Returns 0 on an error.
    pub fn monotonic_raw() -> u64 {
        time(CLOCK_MONOTONIC_RAW)
    }

    fn time(clock: libc::clockid_t) -> u64 {
        let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: the structure outlives the call, which fills it.
        let read = unsafe { libc::clock_gettime(clock, &mut now) };
        if read == 0 {
            (now.tv_sec as u64).saturating_mul(1_000_000_000).saturating_add(now.tv_nsec as u64)
        } else {
            0
        }
    }

    /// Returns the time in nanoseconds of the clock that BPF programs read (`bpf_ktime_get_ns`).
    /// Returns 0 on an error.
    pub fn monotonic() -> u64 {
        time(CLOCK_MONOTONIC)
    }

    /// Pins the calling thread to one CPU.
    pub fn pin(cpu: usize) -> io::Result<()> {
        pin_thread(0, cpu)
    }

    /// Pins a thread, given by its id, to one CPU. The id 0 stands for the calling thread.
    pub fn pin_thread(thread: i32, cpu: usize) -> io::Result<()> {
        if cpu >= libc::CPU_SETSIZE as usize {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        // SAFETY: a set of zeros is valid, the CPU is below its size, and the address and size
        // passed are those of the set.
        let result = unsafe {
            let mut set: libc::cpu_set_t = std::mem::zeroed();
            libc::CPU_SET(cpu, &mut set);
            libc::sched_setaffinity(thread, size_of::<libc::cpu_set_t>(), &set)
        };
        if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }

    /// Returns the CPU that the calling thread is running on. Returns `None` if the system does not
    /// report it.
    pub fn cpu() -> Option<usize> {
        // SAFETY: the call has no arguments.
        usize::try_from(unsafe { libc::sched_getcpu() }).ok()
    }

    /// Gives the calling thread real-time priority, so that it runs before all threads without it.
    pub fn real_time() -> io::Result<()> {
        real_time_thread(0, 1)
    }

    /// Gives a thread, given by its id, a real-time priority from 1 up. The id 0 stands for the
    /// calling thread.
    pub fn real_time_thread(thread: i32, priority: i32) -> io::Result<()> {
        let param = libc::sched_param { sched_priority: priority };
        // SAFETY: the structure outlives the call, which only reads it.
        let result = unsafe { libc::sched_setscheduler(thread, SCHED_FIFO, &param) };
        if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }

    pub fn thread_id() -> i32 {
        // SAFETY: the call has no arguments and always succeeds.
        unsafe { libc::gettid() }
    }

    /// Blocks all signals for the calling thread, so that other threads receive them.
    pub fn block_signals() {
        // SAFETY: the set is initialised before it is read, and outlives both calls.
        unsafe {
            let mut set: libc::sigset_t = std::mem::zeroed();
            libc::sigfillset(&mut set);
            libc::pthread_sigmask(SIG_BLOCK, &set, std::ptr::null_mut());
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod linux {
    use std::io;

    pub fn monotonic_raw() -> u64 {
        0
    }

    pub fn monotonic() -> u64 {
        0
    }

    pub fn pin(_: usize) -> io::Result<()> {
        Err(io::Error::from_raw_os_error(libc::ENOSYS))
    }

    pub fn pin_thread(_: i32, _: usize) -> io::Result<()> {
        Err(io::Error::from_raw_os_error(libc::ENOSYS))
    }

    pub fn real_time_thread(_: i32, _: i32) -> io::Result<()> {
        Err(io::Error::from_raw_os_error(libc::ENOSYS))
    }

    pub fn cpu() -> Option<usize> {
        None
    }

    pub fn real_time() -> io::Result<()> {
        Err(io::Error::from_raw_os_error(libc::ENOSYS))
    }

    pub fn thread_id() -> i32 {
        0
    }

    pub fn block_signals() {}
}

pub use linux::{
    block_signals, cpu, monotonic, monotonic_raw, pin, pin_thread, real_time, real_time_thread,
    thread_id,
};

/// Pins the calling thread to its current CPU, so that all runs of a program use the same values of
/// per-CPU maps. Returns false if the operating system does not allow it.
pub fn pin_to_current_cpu() -> bool {
    cpu().is_some_and(|cpu| pin(cpu).is_ok())
}
