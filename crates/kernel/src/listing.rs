//! Which programs, maps and links there are in the kernel, whoever made them: by their numbers, which
//! are not used again while the machine runs.

use std::io;
use std::os::fd::AsFd;

use crate::Loaded;
use crate::sys::{Listed, next_id, program_address, program_id};

/// The numbers of all programs, in order. Needs `CAP_SYS_ADMIN`.
pub fn programs() -> io::Result<Vec<u32>> {
    all(Listed::Programs)
}

/// The numbers of all maps, in order. Needs `CAP_SYS_ADMIN`.
pub fn maps() -> io::Result<Vec<u32>> {
    all(Listed::Maps)
}

/// The numbers of all links, in order. Needs `CAP_SYS_ADMIN`.
pub fn links() -> io::Result<Vec<u32>> {
    all(Listed::Links)
}

fn all(of: Listed) -> io::Result<Vec<u32>> {
    let mut numbers = Vec::new();
    while let Some(next) = next_id(of, numbers.last().copied().unwrap_or(0))? {
        numbers.push(next);
    }
    Ok(numbers)
}

impl Loaded {
    /// The number that the kernel has given to the program.
    ///
    /// # Errors
    /// If the kernel does not tell.
    pub fn number(&self) -> io::Result<u32> {
        program_id(self.fd().as_fd())
    }

    /// Where its machine code starts in a cache line, in bytes, of which there are [`LINE`]; `None`
    /// where the kernel does not tell, as to who may not see addresses.
    pub fn place_in_line(&self) -> Option<usize> {
        let address = program_address(self.fd().as_fd()).ok().filter(|&address| address != 0)?;
        usize::try_from(address % LINE).ok()
    }
}

/// Bytes of a cache line.
pub const LINE: u64 = 64;
