//! Lists the ids of all BPF programs, maps and links in the kernel, whichever process created them.
//! The kernel does not reuse an id until the machine reboots.

use std::io;
use std::os::fd::AsFd;

use crate::LoadedProgram;
use crate::sys::{ObjectKind, next_id, program_address, program_id};

/// Returns the ids of all programs in ascending order. Needs `CAP_SYS_ADMIN`.
pub fn programs() -> io::Result<Vec<u32>> {
    ids(ObjectKind::Programs)
}

/// Returns the ids of all maps in ascending order. Needs `CAP_SYS_ADMIN`.
pub fn maps() -> io::Result<Vec<u32>> {
    ids(ObjectKind::Maps)
}

/// Returns the ids of all links in ascending order. Needs `CAP_SYS_ADMIN`.
pub fn links() -> io::Result<Vec<u32>> {
    ids(ObjectKind::Links)
}

fn ids(kind: ObjectKind) -> io::Result<Vec<u32>> {
    let mut ids = Vec::new();
    while let Some(next) = next_id(kind, ids.last().copied().unwrap_or(0))? {
        ids.push(next);
    }
    Ok(ids)
}

impl LoadedProgram {
    /// Returns the id that the kernel gave to the program.
    ///
    /// # Errors
    /// If the kernel does not return it.
    pub fn id(&self) -> io::Result<u32> {
        program_id(self.fd().as_fd())
    }

    /// Returns the offset at which the machine code starts in a cache line of [`LINE`] bytes.
    /// Returns `None` if the kernel hides the address, as it does from unprivileged processes.
    pub fn cache_line_offset(&self) -> Option<usize> {
        let address = program_address(self.fd().as_fd()).ok().filter(|&address| address != 0)?;
        usize::try_from(address % LINE).ok()
    }
}

/// Size of a cache line in bytes.
pub const LINE: u64 = 64;
