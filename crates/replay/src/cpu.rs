//! Stays on one CPU: maps have a value for each, and the one of the CPU that runs the program is
//! compared. A thread that measures is pinned for ever, by `slowpath-kernel`; here it belongs to
//! somebody else, and gets its CPUs back.

use std::marker::PhantomData;

/// Keeps the calling thread on one CPU until it is dropped. Where that is forbidden or unknown,
/// nothing happens.
#[derive(Debug)]
pub struct Pinned {
    #[cfg(target_os = "linux")]
    before: Option<rustix::thread::CpuSet>,
    /// It is about the thread that made it.
    of_this_thread: PhantomData<*const ()>,
}

#[cfg(target_os = "linux")]
mod linux {
    use super::{PhantomData, Pinned};
    use rustix::thread::{CpuSet, sched_getaffinity, sched_getcpu, sched_setaffinity};

    impl Pinned {
        /// Pins the thread to a CPU.
        pub fn to(cpu: usize) -> Pinned {
            let before = sched_getaffinity(None).ok().filter(|set| {
                let mut one = CpuSet::new();
                let known = cpu < CpuSet::MAX_CPU && set.is_set(cpu);
                if known {
                    one.set(cpu);
                }
                known && set.count() > 1 && sched_setaffinity(None, &one).is_ok()
            });
            Pinned { before, of_this_thread: PhantomData }
        }
    }

    impl Drop for Pinned {
        fn drop(&mut self) {
            if let Some(before) = &self.before {
                // Where the thread may not go back, it stays.
                let _: rustix::io::Result<()> = sched_setaffinity(None, before);
            }
        }
    }

    /// The CPU that the calling thread is on.
    pub fn current() -> usize {
        sched_getcpu()
    }
}

#[cfg(target_os = "linux")]
pub use linux::current;

#[cfg(not(target_os = "linux"))]
impl Pinned {
    /// Does nothing.
    pub fn to(_: usize) -> Pinned {
        Pinned { of_this_thread: PhantomData }
    }
}

/// No kernel runs programs here.
#[cfg(not(target_os = "linux"))]
pub fn current() -> usize {
    0
}
