//! Finds the open values of a run: the values that the interpreter cannot compute, such as the time
//! or a random number.

use serde::Serialize;
use slowpath_exec::concrete::Run;
use slowpath_ir::{DrawId, Op};

use crate::pair::Pair;

/// If the largest and the smallest possible value differ by at most this number, the range is
/// small.
const FEW: u64 = 4096;

/// Name of the open value for the key that the kernel passes to a callback.
const KEY: &str = "the element's key";

/// An open value that a run used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Drawn {
    /// The operation of the lifted program that needs the value.
    pub draw: DrawId,
    /// Smallest value that is possible.
    pub min: u64,
    /// Largest value that is possible.
    pub max: u64,
    /// True if the value is the key of a map element that the kernel passes to a callback.
    pub is_key: bool,
}

impl Drawn {
    /// Returns true if the value has too many possible values to try them all.
    pub fn has_large_range(&self) -> bool {
        self.max - self.min > FEW
    }

    /// Returns true if bytes that depend on the value are not compared. This is so if its range is
    /// large, unless it is a key: for keys, the search tries the keys in the maps.
    pub fn is_wide(&self) -> bool {
        self.has_large_range() && !self.is_key
    }
}

/// An open value, together with the value that was chosen for it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Choice {
    /// The helper or instruction that the value comes from.
    pub call: String,
    /// Name of the value, which tells it apart from other results of the same helper or
    /// instruction.
    pub result: String,
    /// Value that reproduces the kernel's run. It is the smallest possible value if the run does
    /// not show which one the kernel used.
    pub value: u64,
    /// True if the kernel used exactly this value. False for clocks and random numbers, where the
    /// kernel's value may differ.
    pub determined: bool,
}

impl Pair {
    /// Returns the open values that a run used, in the order of their use.
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

    /// Combines open values with the values that were `chosen` for them, in the same order.
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
