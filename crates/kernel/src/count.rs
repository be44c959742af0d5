//! Counts the instructions that the kernel executes: a program with an addition to a counter in each
//! of its basic blocks. Everything else stays as it is: additions use registers that nobody reads
//! any more, or save them on the stack below everything that the program keeps there.
//!
//! The counter is a map of its own behind those of the object. What calls take besides the
//! instructions of the program is not counted; functions that helpers call back are.

mod answers;
mod rewrite;
#[cfg(test)]
mod tests;

pub use answers::Answer;
pub(crate) use rewrite::{Weights, replacements};
use slowpath_bpf::{BpfProgram, MapDef, MapKind};

use crate::again::again;
use crate::context::Context;
use crate::error::{LoadError, MapError, RunError};
use crate::loaded::{Loaded, TestRun};

/// Name of the counter's map.
const NAME: &str = "slowpath.count";

/// A program in the kernel that counts its instructions.
#[derive(Debug)]
pub struct Counted {
    loaded: Loaded,
    counter: usize,
    /// Whether the upper bits of the counter tell blocks apart.
    weighted: bool,
}

/// What the blocks that were executed add up to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tally {
    /// Instructions; of repeated runs all together, modulo 2^32.
    pub instructions: u64,
    /// The sum of a pseudo-random number for each block that was entered, as often as it was, modulo
    /// 2^64.
    pub fingerprint: u64,
}

impl Tally {
    /// Whether these are the blocks of `times` runs like the first. If they are not, it is told but
    /// for a chance of about 2^-32; that blocks come in another order is not.
    pub fn is_multiple_of(&self, first: &Tally, times: u32) -> bool {
        self.fingerprint == first.fingerprint.wrapping_mul(times.into())
    }
}

impl Counted {
    pub(crate) fn new(loaded: Loaded, counter: usize, weighted: bool) -> Counted {
        Counted { loaded, counter, weighted }
    }

    /// The program with its maps.
    pub fn loaded(&self) -> &Loaded {
        &self.loaded
    }

    /// Runs a packet once; what that gave, and how many instructions it took, those of programs
    /// behind tail calls included. A 64-bit immediate load is one.
    pub fn run(&self, packet: &[u8], context: &Context) -> Result<(TestRun, u64), RunError> {
        let (run, tally) = self.run_repeated(packet, context, 1)?;
        Ok((run, tally.instructions))
    }

    /// Runs a packet `repeat` times in one call (0 counts as 1), where nothing is set back between
    /// repetitions, see [`Loaded::run`]. Whether all took the same way, the sum says, if the program
    /// was loaded for that ([`Kernel::load_fingerprinted`](crate::Kernel::load_fingerprinted)).
    pub fn run_repeated(
        &self,
        packet: &[u8],
        context: &Context,
        repeat: u32,
    ) -> Result<(TestRun, Tally), RunError> {
        again(|| self.tally(|loaded| loaded.run_in(packet, repeat, context)))
    }

    fn instructions(&self, sum: u64) -> u64 {
        if self.weighted { sum & ((1 << rewrite::COUNT_BITS) - 1) } else { sum }
    }

    /// What the blocks add up to that are executed while `run` runs the program, in whatever way.
    /// Where a signal may end that, all of this is to be done [`again`].
    ///
    /// # Errors
    /// Those of `run`, and if the counter cannot be read.
    pub fn tally<T, E: From<RunError>>(
        &self,
        run: impl FnOnce(&Loaded) -> Result<T, E>,
    ) -> Result<(T, Tally), E> {
        let broken = |cause: Option<MapError>| E::from(RunError::NoCount { cause });
        let counter = self.loaded.map_at(self.counter).ok_or_else(|| broken(None))?;
        let key = 0u32.to_ne_bytes();
        counter.update(&key, &[0; 8]).map_err(|e| broken(Some(e)))?;
        let result = run(&self.loaded)?;
        let count = counter.lookup(&key).map_err(|e| broken(Some(e)))?;
        let count = count.and_then(|bytes| bytes.try_into().ok()).map(u64::from_ne_bytes);
        let sum = count.ok_or_else(|| broken(None))?;
        Ok((result, Tally { instructions: self.instructions(sum), fingerprint: sum }))
    }
}

/// The counter's map.
pub(crate) fn counter() -> MapDef {
    MapDef { kind: MapKind::ARRAY, key_size: 4, value_size: 8, max_entries: 1, ..MapDef::new(NAME) }
}

/// The program with additions to the counter, which is the map with this number, and with answers in
/// place of calls.
pub(crate) fn counting(
    program: &BpfProgram,
    counter: u32,
    answers: &[Answer],
    weights: Weights,
) -> Result<BpfProgram, LoadError> {
    let mut counting = rewrite::counting(program, counter, answers, weights)
        .map_err(|why| LoadError::NotCounted { program: program.name.clone(), why })?;
    // The kernel makes no test runs of programs behind a devmap or cpumap. As a program of a device
    // one does the same, unless it asks for what it does not find there: then it is refused.
    let frags = program.takes_fragments();
    counting.section = if frags { "xdp.frags" } else { "xdp" }.to_owned();
    Ok(counting)
}

/// The program with answers in place of calls, and nothing else.
pub(crate) fn answering(program: &BpfProgram, answers: &[Answer]) -> Result<BpfProgram, LoadError> {
    rewrite::answering(program, answers)
        .map_err(|why| LoadError::NotAnswered { program: program.name.clone(), why })
}
