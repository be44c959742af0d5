//! What a concrete run starts from, and what it is told on its way.

use rustc_hash::FxHashMap;
use slowpath_ir::{InputId, InputKind, Program, RegionId};
use std::collections::HashMap;

/// Bytes by region and offset. Runs look up every byte that they touch, so hashing has to be cheap.
pub type ByteMap = FxHashMap<(RegionId, u64), u8>;

/// What a run starts from. Everything that is not given has the value of `fill` or is the least
/// that it can be.
#[derive(Clone, Debug, Default)]
pub struct Environment {
    /// Values of inputs.
    pub inputs: HashMap<InputId, u64>,
    /// Initial bytes by region and offset (modulo the width of addresses), of regions whose content
    /// the program does not know.
    pub memory: ByteMap,
    /// Every other byte of these.
    pub fill: u8,
    /// What [`Op::Unknown`](slowpath_ir::Op::Unknown) yields, in order of execution over the whole run; behind the end, the
    /// least value that the operation can yield.
    pub unknowns: Vec<u64>,
    /// Numbers of pairs ([`BinaryOp::Intern`](slowpath_ir::BinaryOp::Intern)), different for different pairs. A pair that is not
    /// here gets a number that no other pair has.
    pub interned: HashMap<(u64, u64), u32>,
    /// If given, no number from this one on is among [`Environment::interned`]: with many pairs, a
    /// run need not look for a free number then.
    pub unnumbered: Option<u32>,
    /// Regions of which a run tells what it read ([`Run::read`](super::Run::read)).
    pub watched: Vec<RegionId>,
}

/// Distance between the base addresses of regions, so that none reaches into another.
const SPREAD: u64 = 0x0100_0000;

impl Environment {
    /// The least value of every input, but for base addresses, which are far apart; every byte of
    /// memory is `fill`.
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
