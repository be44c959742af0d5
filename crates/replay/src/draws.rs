//! Finds the open values of a run: the values that the interpreter cannot compute, such as the time
//! or a random number.

use serde::Serialize;
use slowpath_exec::concrete::Run;
use slowpath_ir::{DrawId, Op};

use crate::pair::Pair;

/// Maximum size of an open value's range that counts as small: the difference between the largest
/// and the smallest value.
const FEW: u64 = 4096;

/// Name of the open value that stands for a key which the kernel passes to a callback.
const KEY: &str = "the element's key";

/// An open value that a run used: a value that the interpreter cannot compute, such as a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Drawn {
    /// Identifier of the operation of the lifted program (the intermediate representation) that
    /// obtains the value.
    pub draw: DrawId,
    /// Smallest possible value.
    pub min: u64,
    /// Largest possible value.
    pub max: u64,
    /// True if the value is the key of a map element that the kernel passes to a callback.
    pub is_key: bool,
}

impl Drawn {
    /// Returns true if the range of the value is too large to try all values.
    pub fn has_large_range(&self) -> bool {
        self.max - self.min > FEW
    }

    /// Returns true if the value has a large range and is not a key. Bytes that depend on such a
    /// value are not compared with the kernel's. For a key, all keys in the maps are tried instead.
    pub fn is_wide(&self) -> bool {
        self.has_large_range() && !self.is_key
    }
}

/// A value that the interpreter cannot compute, such as a time, with the number that was chosen for
/// it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Choice {
    /// Name of the helper or instruction that returned the value.
    pub call: String,
    /// Name of the value, which distinguishes it from other results of the same helper or
    /// instruction.
    pub result: String,
    /// Number with which the interpreter reproduces the kernel's run. If the run does not show the
    /// kernel's number, it is the smallest possible one.
    pub value: u64,
    /// True if the kernel used exactly this number. False for clocks and random numbers, where the
    /// kernel may have used another one.
    pub determined: bool,
}

impl Pair {
    /// Returns the values that a run used but the interpreter cannot compute, in the order of their
    /// use.
    pub fn drawn(&self, run: &Run) -> Vec<Drawn> {
        if run.unknowns == 0 {
            return Vec::new();
        }
        let program = &self.lifted.program;
        let blocks = run.path.iter().map(|taken| program.block(taken.block));
        let ops = program.prologue.iter().chain(blocks.flat_map(|block| &block.ops));
        let drawn = |op: Op| match op {
            Op::Unknown { min, max, draw, .. } => {
                let is_key = program.draws[draw.index()].result == KEY;
                Some(Drawn { draw, min, max, is_key })
            }
            _ => None,
        };
        ops.filter_map(|origin| drawn(origin.op)).collect()
    }

    /// Combines the open values `drawn`, which the interpreter cannot compute, with the numbers
    /// `chosen` for them, in the same order.
    pub fn choices(&self, drawn: &[Drawn], chosen: &[u64]) -> Vec<Choice> {
        let choice = |(drawn, &value): (&Drawn, &u64)| {
            let draw = &self.lifted.program.draws[drawn.draw.index()];
            Choice {
                call: draw.call.clone(),
                result: draw.result.clone(),
                value,
                determined: !drawn.is_wide(),
            }
        };
        drawn.iter().zip(chosen).map(choice).collect()
    }
}
