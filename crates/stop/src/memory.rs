//! Measures the memory that the process uses.

#[cfg(target_os = "linux")]
pub(crate) use linux::Watch;
#[cfg(not(target_os = "linux"))]
pub(crate) use nothing::Watch;

#[cfg(target_os = "linux")]
mod linux {
    use std::fs::File;
    use std::os::unix::fs::FileExt;

    /// The smallest page size of the supported Linux systems, in bytes. With larger pages, the
    /// memory limit takes effect later.
    const PAGE: u64 = 4096;

    /// A check that the resident memory of the process stays below a limit. It reads the second
    /// number of `/proc/self/statm`, in pages (`proc(5)`).
    #[derive(Debug)]
    pub(crate) struct Watch {
        statm: File,
        /// Limit of the resident memory in bytes.
        limit: u64,
    }

    impl Watch {
        /// Creates a check with a limit in bytes. Returns `None` if `/proc/self/statm` is not
        /// available.
        pub fn new(limit: u64) -> Option<Self> {
            File::open("/proc/self/statm").ok().map(|statm| Watch { statm, limit })
        }

        /// Returns true if the resident memory of the process exceeds the limit.
        pub fn is_exceeded(&self) -> bool {
            let mut text = [0; 128];
            let Ok(length) = self.statm.read_at(&mut text, 0) else { return false };
            let text = std::str::from_utf8(&text[..length]).unwrap_or_default();
            let pages = text.split(' ').nth(1).and_then(|pages| pages.parse::<u64>().ok());
            pages.is_some_and(|pages| pages.saturating_mul(PAGE) > self.limit)
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod nothing {
    #[derive(Debug)]
    pub(crate) struct Watch;

    impl Watch {
        pub fn new(_limit: u64) -> Option<Self> {
            None
        }

        pub fn is_exceeded(&self) -> bool {
            false
        }
    }
}
