//! Open values: values that a run of the interpreter draws instead of computing.

use serde::Serialize;
use slowpath_exec::concrete::Run;
use slowpath_ir::{DrawId, Op};

use crate::pair::Pair;

/// Largest range of an open value that does not make dependent bytes open.
const FEW: u64 = 4096;

/// Name of the open value for the element's key that the kernel passes to a callback.
const KEY: &str = "the element's key";

/// An open value that a run used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Drawn {
    /// Identity of the draw.
    pub draw: DrawId,
    /// Smallest possible value.
    pub min: u64,
    /// Largest possible value.
    pub max: u64,
    /// True if it is the key of an element that the kernel iterates over.
    pub key: bool,
}

impl Drawn {
    /// Returns true if the range may be too large to try all values.
    pub fn many(&self) -> bool {
        self.max - self.min > FEW
    }

    /// Returns true if the range is large and the value is not a key; keys are tried from the map.
    pub fn wide(&self) -> bool {
        self.many() && !self.key
    }
}

/// An open value and its value in a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Choice {
    /// Source of the value: a helper, or an instruction.
    pub call: String,
    /// Name of the result among those of the source.
    pub result: String,
    /// Value that reproduces the kernel's behaviour, or the smallest one if it is not determined.
    pub value: u64,
    /// True if the kernel must have used the same value; false for clocks and random numbers.
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
                let key = program.draws[draw.index()].result == KEY;
                Some(Drawn { draw, min, max, key })
            }
            _ => None,
        };
        ops.filter_map(|origin| drawn(origin.op)).collect()
    }

    /// Returns the open values together with their values.
    pub fn choices(&self, drawn: &[Drawn], chosen: &[u64]) -> Vec<Choice> {
        let choice = |(drawn, &value): (&Drawn, &u64)| {
            let draw = &self.lifted.program.draws[drawn.draw.index()];
            Choice {
                call: draw.call.clone(),
                result: draw.result.clone(),
                value,
                determined: !drawn.wide(),
            }
        };
        drawn.iter().zip(chosen).map(choice).collect()
    }
}
