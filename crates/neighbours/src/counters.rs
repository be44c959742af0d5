//! Reads the hardware performance counters of a thread, or tells why they are not available.

use serde::Serialize;

/// Counts of hardware events of a thread. A count is null if the CPU does not count the event.
#[derive(Clone, Copy, Debug, Default, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Counted {
    /// Number of retired instructions.
    pub instructions: Option<u64>,
    /// Number of cycles of the CPU core.
    pub cycles: Option<u64>,
    /// Number of accesses to the last-level cache.
    pub cache_references: Option<u64>,
    /// Number of misses in the last-level cache.
    pub cache_misses: Option<u64>,
}

impl Counted {
    /// Returns by how much the counts have increased since `before`.
    #[must_use]
    pub fn since(&self, before: &Counted) -> Counted {
        let added = |now: Option<u64>, then: Option<u64>| Some(now?.saturating_sub(then?));
        Counted {
            instructions: added(self.instructions, before.instructions),
            cycles: added(self.cycles, before.cycles),
            cache_references: added(self.cache_references, before.cache_references),
            cache_misses: added(self.cache_misses, before.cache_misses),
        }
    }
}

#[cfg(target_os = "linux")]
mod linux {
    use std::fs::File;
    use std::io::{self, Read};
    use std::os::fd::FromRawFd;

    use super::Counted;

    /// `struct perf_event_attr` in its first version (`PERF_ATTR_SIZE_VER0` of
    /// `include/uapi/linux/perf_event.h`).
    #[repr(C)]
    #[derive(Default)]
    struct Attributes {
        kind: u32,
        size: u32,
        config: u64,
        sample_period: u64,
        sample_type: u64,
        read_format: u64,
        flags: u64,
        wakeup: u32,
        breakpoint: u32,
        config1: u64,
    }

    const HARDWARE: u32 = 0;
    /// Event numbers `PERF_COUNT_HW_INSTRUCTIONS`, `PERF_COUNT_HW_CPU_CYCLES`,
    /// `PERF_COUNT_HW_CACHE_REFERENCES` and `PERF_COUNT_HW_CACHE_MISSES`.
    const EVENTS: [u64; 4] = [1, 0, 2, 3];
    /// The flags `exclude_kernel` and `exclude_hv`: counts only events in user mode, which needs no
    /// privileges.
    const USER_ONLY: u64 = 1 << 5 | 1 << 6;

    fn open(config: u64) -> io::Result<File> {
        let size = size_of::<Attributes>() as u32;
        let attributes =
            Attributes { kind: HARDWARE, size, config, flags: USER_ONLY, ..Attributes::default() };
        let (this_thread, any_cpu, no_group, close_on_exec) = (0, -1, -1, 8u64);
        // SAFETY: the kernel reads `size` bytes of the structure, which outlives the call.
        #[expect(unsafe_code, reason = "no wrapper for this system call")]
        let fd = unsafe {
            libc::syscall(
                libc::SYS_perf_event_open,
                &raw const attributes,
                this_thread,
                any_cpu,
                no_group,
                close_on_exec,
            )
        };
        match i32::try_from(fd) {
            // SAFETY: the kernel has just returned this descriptor, and no other code owns it.
            #[expect(unsafe_code, reason = "the system call returns a number")]
            Ok(fd) if fd >= 0 => Ok(unsafe { File::from_raw_fd(fd) }),
            _ => Err(io::Error::last_os_error()),
        }
    }

    /// Hardware counters of the thread that opened them.
    #[derive(Debug)]
    pub struct Counters([Option<File>; 4]);

    impl Counters {
        /// Opens those hardware counters of the calling thread that the system supports.
        pub fn open() -> Counters {
            Counters(EVENTS.map(|event| open(event).ok()))
        }

        /// Reads the counters. Returns `None` if neither instructions nor cycles are counted.
        pub fn read(&mut self) -> Option<Counted> {
            let [instructions, cycles, cache_references, cache_misses] =
                self.0.each_mut().map(|file| {
                    let mut bytes = [0; 8];
                    file.as_mut()?.read_exact(&mut bytes).ok()?;
                    Some(u64::from_ne_bytes(bytes))
                });
            let found = Counted { instructions, cycles, cache_references, cache_misses };
            instructions.or(cycles).is_some().then_some(found)
        }
    }

    /// Returns the reason if there are no hardware counters, and a way to enable them. Returns
    /// `None` if there are counters.
    pub fn why_no_counters() -> Option<String> {
        let error = open(EVENTS[0]).err()?;
        let paranoid = std::fs::read_to_string("/proc/sys/kernel/perf_event_paranoid");
        Some(match error.raw_os_error() {
            Some(libc::EACCES | libc::EPERM) => format!(
                "the kernel does not let this process count events \
                 (kernel.perf_event_paranoid is {}); run as root, or with CAP_PERFMON",
                paranoid.as_deref().map_or("unknown", str::trim)
            ),
            Some(libc::ENOENT | libc::ENODEV | libc::EOPNOTSUPP) => {
                "this CPU, or the virtual machine, has no counters of instructions".to_owned()
            }
            Some(libc::ENOSYS) => "the kernel has no perf_event_open".to_owned(),
            _ => format!("perf_event_open: {error}"),
        })
    }
}

#[cfg(target_os = "linux")]
pub use linux::{Counters, why_no_counters};

/// Replacement for the hardware counters on systems where they are not supported. It counts
/// nothing.
#[cfg(not(target_os = "linux"))]
#[derive(Debug)]
pub struct Counters;

#[cfg(not(target_os = "linux"))]
impl Counters {
    pub fn open() -> Counters {
        Counters
    }

    pub fn read(&mut self) -> Option<Counted> {
        None
    }
}

/// Returns the reason why this system has no hardware counters.
#[cfg(not(target_os = "linux"))]
pub fn why_no_counters() -> Option<String> {
    Some("only Linux has perf_event_open".to_owned())
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::{Counters, why_no_counters};

    #[test]
    fn there_are_counters_or_a_reason() {
        let mut counters = Counters::open();
        match (counters.read(), why_no_counters()) {
            (Some(before), None) => {
                let sum = (0..100_000u64).fold(0, |sum, one| std::hint::black_box(sum ^ one));
                assert_ne!(sum, 1);
                let counted = counters.read().map(|after| after.since(&before));
                assert!(counted.and_then(|one| one.instructions).is_some_and(|one| one > 100_000));
            }
            (None, Some(reason)) => assert!(!reason.is_empty()),
            (found, reason) => panic!("{found:?} and {reason:?}"),
        }
    }
}
