//! Counts the instructions that the kernel executes in a program. Inserts instructions into each
//! basic block of the program that add to a counter. The rest of the program is unchanged. The
//! additions use dead registers, or save registers on the stack below the program's own data.
//!
//! The counter is a separate map. Its index follows those of the object's maps. The count includes
//! functions that helpers call back, but not the work of helpers themselves.

mod answers;
mod rewrite;
#[cfg(test)]
mod tests;

pub use answers::Answer;
pub(crate) use rewrite::{Weights, replacements};
use slowpath_bpf::{BpfProgram, MapDef, MapKind, ProgramKind};

use crate::context::Context;
use crate::error::{LoadError, MapError, RunError};
use crate::loaded::{LoadedProgram, TestRun};
use crate::retry::retry;

/// Name of the map that contains the counter of executed instructions.
const NAME: &str = "slowpath.count";

/// A loaded program that counts the instructions that it executes.
#[derive(Debug)]
pub struct CountingProgram {
    loaded: LoadedProgram,
    counter: usize,
    /// True if the upper bits of the counter contain a sum of pseudo-random numbers, one for each
    /// executed block.
    weighted: bool,
}

/// Counts over all runs in one call: the number of executed instructions, and a fingerprint of the
/// executed blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tally {
    /// Number of instructions in all repetitions. If the program also computes a fingerprint, the
    /// number is modulo 2^32.
    pub instructions: u64,
    /// Sum of the pseudo-random numbers of all executed blocks, modulo 2^64. A block that is
    /// executed several times counts several times.
    pub fingerprint: u64,
}

impl Tally {
    /// Returns true if this can be the tally of `times` runs that each execute the same blocks as
    /// one run with the tally `first`. The order of the blocks does not matter. Runs that execute
    /// other blocks are accepted with a probability of about 2^-32.
    pub fn is_multiple_of(&self, first: &Tally, times: u32) -> bool {
        self.fingerprint == first.fingerprint.wrapping_mul(times.into())
    }
}

impl CountingProgram {
    pub(crate) fn new(loaded: LoadedProgram, counter: usize, weighted: bool) -> CountingProgram {
        CountingProgram { loaded, counter, weighted }
    }

    /// Returns the loaded program, whose maps include the counter.
    pub fn loaded(&self) -> &LoadedProgram {
        &self.loaded
    }

    /// Runs a packet once. Returns the result and the number of executed instructions, including
    /// those of tail-called programs. A 64-bit immediate load counts as one instruction.
    pub fn run(&self, packet: &[u8], context: &Context) -> Result<(TestRun, u64), RunError> {
        let (run, tally) = self.run_repeated(packet, context, 1)?;
        Ok((run, tally.instructions))
    }

    /// Runs a packet `repeat` times in one call (0 counts as 1), without restoring anything between
    /// repetitions, see [`LoadedProgram::run`]. The tally shows whether all repetitions executed
    /// the same blocks, if the program was loaded with
    /// [`Kernel::load_fingerprinted`](crate::Kernel::load_fingerprinted).
    pub fn run_repeated(
        &self,
        packet: &[u8],
        context: &Context,
        repeat: u32,
    ) -> Result<(TestRun, Tally), RunError> {
        retry(|| self.tally(|loaded| loaded.run_in(packet, repeat, context)))
    }

    fn instructions(&self, sum: u64) -> u64 {
        if self.weighted { sum & ((1 << rewrite::COUNT_BITS) - 1) } else { sum }
    }

    /// Calls `run`, and returns its result. Also returns the tally of all program runs that `run`
    /// makes. A signal can end `run` early. To handle this, retry the whole call with [`retry`].
    ///
    /// # Errors
    /// The errors that `run` returns, and an error if the counter cannot be read.
    pub fn tally<T, E: From<RunError>>(
        &self,
        run: impl FnOnce(&LoadedProgram) -> Result<T, E>,
    ) -> Result<(T, Tally), E> {
        let broken = |cause: Option<MapError>| E::from(RunError::NoCount { cause });
        let counter = self.loaded.map_by_number(self.counter).ok_or_else(|| broken(None))?;
        let key = 0u32.to_ne_bytes();
        counter.update(&key, &[0; 8]).map_err(|e| broken(Some(e)))?;
        let result = run(&self.loaded)?;
        let count = counter.lookup(&key).map_err(|e| broken(Some(e)))?;
        let count = count.and_then(|bytes| bytes.try_into().ok()).map(u64::from_ne_bytes);
        let sum = count.ok_or_else(|| broken(None))?;
        Ok((result, Tally { instructions: self.instructions(sum), fingerprint: sum }))
    }
}

/// Returns the definition of the map that contains the counter of executed instructions.
pub(crate) fn counter() -> MapDef {
    MapDef { kind: MapKind::ARRAY, key_size: 4, value_size: 8, max_entries: 1, ..MapDef::new(NAME) }
}

/// Adds instructions to a program that count its executed instructions. Also replaces the calls
/// listed in `answers` by fixed results. `counter` is the index of the map that contains the
/// counter.
pub(crate) fn counting(
    program: &BpfProgram,
    counter: u32,
    answers: &[Answer],
    weights: Weights,
) -> Result<BpfProgram, LoadError> {
    let mut counting = rewrite::counting(program, counter, answers, weights)
        .map_err(|reason| LoadError::NotCounted { program: program.name.clone(), reason })?;
    // The kernel makes no test runs of devmap and cpumap programs, so they are loaded as device
    // programs, which behave alike. The verifier rejects a program that reads a context field that
    // device programs lack.
    if program.kind != ProgramKind::SchedCls {
        let frags = program.accepts_fragments();
        counting.section = if frags { "xdp.frags" } else { "xdp" }.to_owned();
    }
    Ok(counting)
}

/// Replaces the calls listed in `answers` by fixed results. The program does not count
/// instructions.
pub(crate) fn answering(program: &BpfProgram, answers: &[Answer]) -> Result<BpfProgram, LoadError> {
    rewrite::answering(program, answers)
        .map_err(|reason| LoadError::NotAnswered { program: program.name.clone(), reason })
}
