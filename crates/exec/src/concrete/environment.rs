//! Inputs of a concrete run: the initial state, and the results of operations that may return any
//! value.

use rustc_hash::FxHashMap;
use slowpath_ir::{InputId, InputKind, Program, RegionId};
use std::collections::HashMap;

/// Bytes of memory, by region and offset. A run looks up every byte that it accesses, so the map
/// uses a fast hash function.
pub type ByteMap = FxHashMap<(RegionId, u64), u8>;

/// Inputs of a concrete run. Memory bytes that are not listed have the value `fill`. Inputs, and
/// results of [`Op::Unknown`](slowpath_ir::Op::Unknown), that are not listed have their minimum
/// value.
#[derive(Clone, Debug, Default)]
pub struct Environment {
    /// Values of the program's inputs.
    pub inputs: HashMap<InputId, u64>,
    /// Initial bytes by region and offset (modulo the width of addresses). Applies only to regions
    /// whose initial content the program does not state.
    pub memory: ByteMap,
    /// Value of all initial bytes that `memory` does not list, in regions whose content the program
    /// does not state.
    pub fill: u8,
    /// Results of [`Op::Unknown`](slowpath_ir::Op::Unknown), in order of execution over the whole
    /// run. If the list is too short, each later result is the minimum of its operation.
    pub unknowns: Vec<u64>,
    /// Numbers that identify pairs of values ([`BinaryOp::Intern`](slowpath_ir::BinaryOp::Intern)).
    /// Different pairs must have different numbers. A pair that is not listed gets an unused
    /// number.
    pub interned: HashMap<(u64, u64), u32>,
    /// A number above all numbers in [`Environment::interned`]. New pairs of values get this number
    /// and the following ones, without a search for unused numbers. `None` if no such number is
    /// known.
    pub unnumbered: Option<u32>,
    /// Regions from which [`Run::read`](super::Run::read) records each load.
    pub watched: Vec<RegionId>,
}

/// Distance between the base addresses of regions, large enough that regions do not overlap.
const SPREAD: u64 = 0x0100_0000;

impl Environment {
    /// Returns an environment in which all inputs have their minimum, base addresses are far apart,
    /// and all memory bytes are `fill`.
    pub fn with_fill(program: &Program, fill: u8) -> Self {
        let mut inputs = HashMap::new();
        for (index, input) in program.inputs.iter().enumerate() {
            let value = match input.kind {
                InputKind::BaseAddress(region) => {
                    (SPREAD * (u64::from(region.0) + 1)).min(input.max).max(input.min)
                }
                InputKind::PacketLength | InputKind::Unknown => input.min,
            };
            inputs.insert(InputId::from(index), value);
        }
        Environment { inputs, fill, ..Environment::default() }
    }
}
