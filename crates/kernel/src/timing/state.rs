//! What programs in front of those that are timed remember: words of 8 bytes in the value of a map, at
//! these offsets.

use std::io;
use std::os::fd::BorrowedFd;

use slowpath_bpf::MapKind;

use crate::generated::{GeneratedError, KEY, map};
use crate::sys::{Cpus, RawMap};

/// When the run started that is under way; 0 before the first of a call.
pub const STARTED: i16 = 0;
/// Nanoseconds of all runs that ended.
pub const NANOSECONDS: i16 = 8;
/// How many these are.
pub const RUNS: i16 = 16;
/// What could not be done.
pub const FAILURES: i16 = 24;
/// Which row of a rotation was the last, or from where flows are drawn.
pub const ROW: i16 = 32;
/// Whether there was a run at all, in this call or an earlier one.
pub const RAN: i16 = 40;
/// Size of it all.
const SIZE: u32 = 48;

/// The map.
#[derive(Debug)]
pub struct State(RawMap);

impl State {
    /// All words are 0.
    pub fn new(cpus: Cpus) -> Result<State, GeneratedError> {
        map("slowpath.state", MapKind::ARRAY, SIZE, cpus).map(State)
    }

    /// For code that uses it.
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.0.fd()
    }

    /// Forgets all runs of this call, but for the row.
    pub fn start(&self) -> Result<(), GeneratedError> {
        let mut words = self.words()?;
        words[..ROW as usize].fill(0);
        self.write(&words)
    }

    /// The same, and the row is this.
    pub fn start_at(&self, row: u64) -> Result<(), GeneratedError> {
        let mut words = self.words()?;
        words[..ROW as usize].fill(0);
        words[ROW as usize..ROW as usize + 8].copy_from_slice(&row.to_ne_bytes());
        self.write(&words)
    }

    /// The words at some offsets, as they are at one time.
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

    fn write(&self, words: &[u8]) -> Result<(), GeneratedError> {
        self.0.update(&KEY, words).map_err(refused)
    }

    fn words(&self) -> Result<Vec<u8>, GeneratedError> {
        self.0.lookup(&KEY).map_err(refused)
    }
}

fn refused(cause: io::Error) -> GeneratedError {
    GeneratedError::Refused { what: "a wrapper's state", cause }
}
