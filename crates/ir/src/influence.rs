//! Finds the inputs that can decide which path a run takes, by a forward taint analysis without a
//! solver.
//!
//! The analysis follows registers from operation to operation. Its facts about memory cover all
//! stores of the program, in any order. It tracks memory at constant distances from the base of a
//! region, in words of eight bytes. The result may contain too many inputs, but never too few: an
//! input outside the result does not decide a branch, whatever the values of other inputs.

use std::collections::HashMap;

use crate::{
    BinaryOp, BlockId, Destination, InputId, InputKind, Liveness, Op, Operand, OriginOp, Program,
    Reg, RegionId, Terminator,
};

/// Maximum number of inputs that one pass of the analysis tracks, because each has one bit of a
/// 64-bit mask.
const TOGETHER: usize = 64;
/// Number of the last region that has a bit of its own in masks of regions. All regions with larger
/// numbers share this bit.
const LAST_REGION: usize = 63;

/// Inputs to track, each with the region whose bytes contain the value of the input.
pub type Sources<'a> = &'a [(InputId, RegionId)];

/// Returns the inputs in `sources` that may influence a branch or a condition that a run relies on.
///
/// A load from the region of an input counts as a read of the input, unless the offset of the load
/// is constant. For constant offsets, front ends read the input directly.
pub fn decisive_inputs(program: &Program, sources: Sources<'_>) -> Vec<InputId> {
    let liveness = Liveness::of(program);
    let mut found = Vec::new();
    for group in sources.chunks(TOGETHER) {
        let decisive = Analysis::new(program, group).run(program, &liveness);
        let bits = (0..).zip(group).filter(|(bit, _)| decisive >> bit & 1 == 1);
        found.extend(bits.map(|(_, &(input, _))| input));
    }
    found
}

/// A fact about one value: the inputs that it depends on, and the memory that it may point to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Fact {
    /// Mask of the tracked inputs that the value depends on.
    inputs: u64,
    /// Mask of the regions that the value may point into.
    regions: u64,
    /// If the value is a region's base plus a constant: the region, and the constant in bytes;
    /// otherwise `None`.
    place: Option<(RegionId, u64)>,
}

impl Fact {
    fn with(self, other: Fact) -> Fact {
        let place = self.place.filter(|_| self.place == other.place);
        Fact { inputs: self.inputs | other.inputs, regions: self.regions | other.regions, place }
    }

    /// Returns the fact about a result that is computed from the value of this fact. The result
    /// depends on the same inputs and regions, but its distance from a base is unknown.
    fn computed(self) -> Fact {
        Fact { place: None, ..self }
    }
}

type State = HashMap<Reg, Fact>;

struct Analysis {
    /// For each tracked input, a mask with the bit that stands for the input.
    bits: HashMap<InputId, u64>,
    /// Facts about stored values at constant distances from the base of a region. The key consists
    /// of the region and the number of the 8-byte word.
    words: HashMap<(u8, u64), Fact>,
    /// Facts about stored values at unknown distances from the base of a region, one fact for each
    /// region.
    anywhere: [Fact; TOGETHER],
    /// Facts about all values stored to each region, one fact for each region.
    all: [Fact; TOGETHER],
    /// Mask of the tracked inputs that can influence a branch, or the condition of an assumption
    /// ([`Op::Rely`]).
    decisive: u64,
    /// True if the facts about memory or `decisive` have grown since the last pass over the blocks.
    changed: bool,
}

fn region_bit(region: RegionId) -> u8 {
    region.index().min(LAST_REGION) as u8
}

/// Returns the indices of the set bits of `mask`.
fn bits_of(mask: u64) -> impl Iterator<Item = u8> {
    (0..64u8).filter(move |bit| mask >> bit & 1 == 1)
}

impl Analysis {
    fn new(program: &Program, sources: Sources<'_>) -> Self {
        let mut analysis = Analysis {
            bits: HashMap::new(),
            words: HashMap::new(),
            anywhere: [Fact::default(); TOGETHER],
            all: [Fact::default(); TOGETHER],
            decisive: 0,
            changed: false,
        };
        for (bit, &(input, region)) in (0..).zip(sources) {
            let inputs = 1 << bit;
            analysis.bits.insert(input, inputs);
            let fact = Fact { inputs, ..Fact::default() };
            if region.index() < program.regions.len() {
                analysis.record_store(region_bit(region), None, fact);
            }
        }
        analysis
    }

    fn run(mut self, program: &Program, liveness: &Liveness) -> u64 {
        let mut start = State::new();
        self.ops(program, &program.prologue, &mut start);
        let mut before: Vec<Option<State>> = vec![None; program.blocks.len()];
        loop {
            self.changed = false;
            let mut work = vec![program.entry];
            merge(&mut before[program.entry.index()], &start, liveness, program.entry);
            let mut seen = vec![false; program.blocks.len()];
            while let Some(block) = work.pop() {
                seen[block.index()] = true;
                let mut state = before[block.index()].clone().unwrap_or_default();
                self.ops(program, &program.block(block).ops, &mut state);
                let terminator = &program.block(block).terminator;
                if let Terminator::Branch { cond, .. } = *terminator {
                    let cond = fact(&state, cond.into());
                    self.decide(cond);
                }
                for edge in terminator.edges() {
                    let Destination::Block(next) = edge.target else { continue };
                    let grown = merge(&mut before[next.index()], &state, liveness, next);
                    if grown || !seen[next.index()] {
                        seen[next.index()] = true;
                        work.push(next);
                    }
                }
            }
            if !self.changed {
                return self.decisive;
            }
        }
    }

    fn decide(&mut self, fact: Fact) {
        self.changed |= fact.inputs & !self.decisive != 0;
        self.decisive |= fact.inputs;
    }

    fn ops(&mut self, program: &Program, ops: &[OriginOp], state: &mut State) {
        for origin in ops {
            let op = origin.op;
            let mut result =
                op.operands().map(|operand| fact(state, operand)).fold(None, |all, fact| {
                    Some(all.map_or(fact, |all: Fact| all.with(fact)).computed())
                });
            match op {
                Op::Copy { src, .. } => result = Some(fact(state, src)),
                Op::Binary { op: BinaryOp::Add, a, b, .. } => {
                    let place = |base: Operand, offset: Operand| match (fact(state, base), offset) {
                        (Fact { place: Some((region, at)), .. }, Operand::Const { value, .. }) => {
                            Some((region, at.wrapping_add(value)))
                        }
                        _ => None,
                    };
                    let place = place(a, b).or_else(|| place(b, a));
                    result = result.map(|fact| Fact { place, ..fact });
                }
                Op::Input { input, .. } => {
                    result = Some(match program.inputs[input.index()].kind {
                        InputKind::BaseAddress(region) => Fact {
                            inputs: 0,
                            regions: 1 << region_bit(region),
                            place: Some((region, 0)),
                        },
                        _ => Fact {
                            inputs: self.bits.get(&input).copied().unwrap_or(0),
                            ..Fact::default()
                        },
                    });
                }
                Op::Load { dst, addr } => {
                    let bytes = u64::from(program.width(dst)).div_ceil(8);
                    result = Some(self.load(fact(state, addr), bytes));
                }
                Op::Store { addr, value } => {
                    let bytes = u64::from(match value {
                        Operand::Reg(reg) => program.width(reg),
                        Operand::Const { width, .. } => width,
                    });
                    self.store(fact(state, addr), bytes.div_ceil(8), fact(state, value));
                }
                Op::Clear { addr, bytes } => {
                    let addr = fact(state, addr).computed();
                    self.store(addr, 1, Fact { regions: 0, ..fact(state, bytes) });
                }
                Op::Rely { cond, .. } => self.decide(fact(state, cond)),
                _ => {}
            }
            if let Some(dst) = op.dst() {
                state.insert(dst, result.unwrap_or_default());
            }
        }
    }

    fn load(&self, addr: Fact, bytes: u64) -> Fact {
        let mut found = Fact { inputs: addr.inputs, ..Fact::default() };
        if let Some((region, offset)) = addr.place {
            let region = region_bit(region);
            found = found.with(self.anywhere[usize::from(region)]);
            for word in words(offset, bytes) {
                found = found.with(self.words.get(&(region, word)).copied().unwrap_or_default());
            }
            return found.computed();
        }
        for region in bits_of(addr.regions) {
            found = found.with(self.all[usize::from(region)]);
        }
        found.computed()
    }

    fn store(&mut self, addr: Fact, bytes: u64, value: Fact) {
        let value = Fact { inputs: value.inputs | addr.inputs, ..value }.computed();
        if let Some((region, offset)) = addr.place {
            for word in words(offset, bytes) {
                self.record_store(region_bit(region), Some(word), value);
            }
            return;
        }
        for region in bits_of(addr.regions) {
            self.record_store(region, None, value);
        }
    }

    /// Adds a stored value to the facts about a word of a region. If `word` is `None`, the value
    /// may be anywhere in the region.
    fn record_store(&mut self, region: u8, word: Option<u64>, value: Fact) {
        let cell = match word {
            Some(word) => self.words.entry((region, word)).or_default(),
            None => &mut self.anywhere[usize::from(region)],
        };
        let merged = cell.with(value).computed();
        self.changed |= merged != *cell;
        *cell = merged;
        let region_fact = &mut self.all[usize::from(region)];
        *region_fact = region_fact.with(value).computed();
    }
}

/// Returns the numbers of the 8-byte words of a region that an access covers.
fn words(offset: u64, bytes: u64) -> impl Iterator<Item = u64> {
    (0..bytes).map(move |byte| offset.wrapping_add(byte) >> 3)
}

fn fact(state: &State, operand: Operand) -> Fact {
    match operand {
        Operand::Reg(reg) => state.get(&reg).copied().unwrap_or_default(),
        Operand::Const { .. } => Fact::default(),
    }
}

/// Adds the facts about live registers in `state` to `into`, the state at the start of `block`.
/// Returns true if `into` has changed.
fn merge(into: &mut Option<State>, state: &State, liveness: &Liveness, block: BlockId) -> bool {
    let live = liveness.live_in(block);
    let new = live.filter_map(|reg| Some((reg, *state.get(&reg)?)));
    let Some(known) = into else {
        *into = Some(new.collect());
        return true;
    };
    let mut grown = false;
    for (reg, fact) in new {
        match known.get_mut(&reg) {
            Some(old) => {
                let all = old.with(fact);
                grown |= all != *old;
                *old = all;
            }
            None => {
                known.insert(reg, fact);
                grown = true;
            }
        }
    }
    grown
}
