//! Stores the state that generated programs keep between the runs of a timed program. It consists
//! of 8-byte words in the value of a map.

use std::io;
use std::os::fd::BorrowedFd;

use slowpath_bpf::MapKind;

use crate::generated::{GeneratedError, KEY, map};
use crate::sys::{Cpus, RawMap};

/// Offset in bytes, within the state, of the start time of the current run, in nanoseconds. The
/// start time is 0 before the first run of a system call. The program that writes random flows
/// (`Feed`) stores 1 instead of a time.
pub const STARTED: i16 = 0;
/// Offset in bytes, within the state, of the total time in nanoseconds of all completed runs.
pub const NANOSECONDS: i16 = 8;
/// Offset in bytes, within the state, of the number of completed runs.
pub const RUNS: i16 = 16;
/// Offset in bytes, within the state, of the number of times that changes could not be undone.
pub const FAILURES: i16 = 24;
/// Offset in bytes, within the memory kept between runs, of the random number generator's state. It
/// selects the flow or the packet bytes of the next run.
pub const GENERATOR: i16 = 32;
/// Offset in bytes, within the state, of a flag that is 1 once any run has started.
pub const HAS_RUN: i16 = 40;
/// Size in bytes of the state that generated programs keep between runs.
const SIZE: u32 = 48;

/// The map in which generated programs keep their state between runs.
#[derive(Debug)]
pub struct State(RawMap);

impl State {
    /// Creates a state whose words are all 0.
    pub fn new(cpus: Cpus) -> Result<State, GeneratedError> {
        map("slowpath.state", MapKind::ARRAY, SIZE, cpus).map(State)
    }

    /// Returns the file descriptor of the map, which generated code refers to.
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.0.fd()
    }

    /// Sets all words before [`GENERATOR`] to 0, at the start of a system call that makes runs.
    pub fn start(&self) -> Result<(), GeneratedError> {
        let [generator] = self.read([GENERATOR])?;
        self.start_at(generator)
    }

    /// Like [`State::start`], but also sets the state of the random number generator.
    pub fn start_at(&self, generator: u64) -> Result<(), GeneratedError> {
        let mut words = self.words()?;
        words[..GENERATOR as usize].fill(0);
        words[GENERATOR as usize..GENERATOR as usize + 8].copy_from_slice(&generator.to_ne_bytes());
        self.0.update(&KEY, &words).map_err(refused)
    }

    /// Reads the words at several offsets in one snapshot.
    pub fn read<const COUNT: usize>(
        &self,
        at: [i16; COUNT],
    ) -> Result<[u64; COUNT], GeneratedError> {
        let words = self.words()?;
        Ok(at.map(|at| {
            let bytes = words.get(at as usize..at as usize + 8);
            bytes.and_then(|bytes| bytes.try_into().ok()).map_or(0, u64::from_ne_bytes)
        }))
    }

    fn words(&self) -> Result<Vec<u8>, GeneratedError> {
        self.0.lookup(&KEY).map_err(refused)
    }
}

fn refused(cause: io::Error) -> GeneratedError {
    GeneratedError::Refused { what: "a wrapper's state", cause }
}
