//! Pins the calling thread to one CPU for a limited time, because per-CPU maps are compared only on
//! the CPU that runs the program. Afterwards restores the affinity, because the thread belongs to
//! the caller.

use std::marker::PhantomData;

/// A guard that pins the calling thread to one CPU until it is dropped. It has no effect if pinning
/// is forbidden or unsupported.
#[derive(Debug)]
pub struct Pinned {
    #[cfg(target_os = "linux")]
    before: Option<rustix::thread::CpuSet>,
    /// Makes the type `!Send`, because it restores the affinity of the thread that created it.
    of_this_thread: PhantomData<*const ()>,
}

#[cfg(target_os = "linux")]
mod linux {
    use super::{PhantomData, Pinned};
    use rustix::thread::{CpuSet, sched_getaffinity, sched_getcpu, sched_setaffinity};

    impl Pinned {
        /// Pins the calling thread to a CPU until the guard is dropped.
        pub fn to(cpu: usize) -> Pinned {
            let before = sched_getaffinity(None).ok().filter(|set| {
                let mut one = CpuSet::new();
                let allowed = cpu < CpuSet::MAX_CPU && set.is_set(cpu);
                if allowed {
                    one.set(cpu);
                }
                allowed && set.count() > 1 && sched_setaffinity(None, &one).is_ok()
            });
            Pinned { before, of_this_thread: PhantomData }
        }
    }

    impl Drop for Pinned {
        fn drop(&mut self) {
            if let Some(before) = &self.before {
                // If the affinity cannot be restored, the thread stays pinned.
                let _: rustix::io::Result<()> = sched_setaffinity(None, before);
            }
        }
    }

    /// Returns the number of the CPU that the calling thread is running on.
    pub fn current() -> usize {
        sched_getcpu()
    }
}

#[cfg(target_os = "linux")]
pub use linux::current;

#[cfg(not(target_os = "linux"))]
impl Pinned {
    /// Does nothing, because this system cannot pin threads.
    pub fn to(_: usize) -> Pinned {
        Pinned { of_this_thread: PhantomData }
    }
}

/// Returns 0, because this system has no kernel that runs BPF programs.
#[cfg(not(target_os = "linux"))]
pub fn current() -> usize {
    0
}
