//! The values that a run drew: what the interpreter lets open.

use serde::Serialize;
use slowpath_exec::concrete::Run;
use slowpath_ir::{DrawId, Op};

use crate::pair::Pair;

/// Open values with more possibilities than this make bytes open.
const FEW: u64 = 4096;

/// How the element's key is called that the kernel tells a callback.
const KEY: &str = "the element's key";

/// An open value that a run met.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Drawn {
    /// What is called so.
    pub draw: DrawId,
    /// The least that it can be.
    pub min: u64,
    /// The greatest.
    pub max: u64,
    /// Whether it is the key of an element that the kernel goes through.
    pub key: bool,
}

impl Drawn {
    /// Whether it can be too much for all to be tried.
    pub fn many(&self) -> bool {
        self.max - self.min > FEW
    }

    /// The same, but for keys: these are tried.
    pub fn wide(&self) -> bool {
        self.many() && !self.key
    }
}

/// An open value and what it was in a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Choice {
    /// What yields it: a helper, or an instruction.
    pub call: String,
    /// Which of its results it is.
    pub result: String,
    /// The value that does what the kernel did; where it is not determined, the least.
    pub value: u64,
    /// Whether the kernel's is known to be the same: of clocks and random numbers it is not.
    pub determined: bool,
}

impl Pair {
    /// The open values that a run met, in order.
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

    /// The open values with what they were.
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
