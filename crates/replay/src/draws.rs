//! Open values: values that a run of the interpreter draws instead of computing.

use serde::Serialize;
use slowpath_exec::concrete::Run;
use slowpath_ir::{DrawId, Op};

use crate::pair::Pair;

/// Largest difference between the limits of an open value that counts as a small range.
const FEW: u64 = 4096;

/// Name of the open value that stands for the key that the kernel passes to a callback.
const KEY: &str = "the element's key";

/// An open value that a run used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Drawn {
    /// Operation that draws the value.
    pub draw: DrawId,
    /// Smallest possible value.
    pub min: u64,
    /// Largest possible value.
    pub max: u64,
    /// True if the value is the key of an element that the kernel iterates over.
    pub is_key: bool,
}

impl Drawn {
    /// Returns true if the range is too large to try all values.
    pub fn has_large_range(&self) -> bool {
        self.max - self.min > FEW
    }

    /// Returns true if bytes that depend on the value are open: its range is large, and it is not a
    /// key. For a key, the keys of the maps are tried.
    pub fn is_wide(&self) -> bool {
        self.has_large_range() && !self.is_key
    }
}

/// An open value and its value in a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Choice {
    /// Source of the value: a helper, or an instruction.
    pub call: String,
    /// Name of the value among the results of the source.
    pub result: String,
    /// Value that reproduces the kernel's run; the smallest possible value if it is not determined.
    pub value: u64,
    /// True if the kernel used this value; false for clocks and random numbers, which may differ.
    pub determined: bool,
}

impl Pair {
    /// Returns the open values that a run used, in order.
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

    /// Pairs open values with the values `chosen` for them.
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
