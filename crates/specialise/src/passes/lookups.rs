//! Replaces look-ups in frozen maps by key comparisons, if a look-up can find only a few entries.
//! The found value is then in a read-only map with one element, whose address is known.
//!
//! The kernel inlines look-ups in arrays; these are replaced only if one element is possible.

use super::log::{Change, Log};
use crate::analysis::{Analysis, Kind, Lookup, State};
use crate::fault::{self, Fault};
use crate::frozen::{Candidates, MaskedByte};
use crate::graph::{Block, BlockId, End, Graph, Instr, Op, Test};
use slowpath_bpf::insn::{
    AluOp, Call, Condition, Imm64, Insn, Register, Size, Source, Width, helper,
};
use slowpath_ir::KnownBits;

/// Maximum number of map entries whose keys are compared to replace a look-up.
const FEW: usize = 8;

/// Register that contains the address of the key. The next constants name registers that the key
/// comparisons may use, because the replaced call would overwrite them.
const KEY: Register = Register::R2;
const PARTS: [Register; 3] = [Register::R3, Register::R4, Register::R5];
const MASKED: Register = Register::R1;
const RESULT: Register = Register::R0;

/// Replaces look-ups in frozen maps by key comparisons. Returns true if the graph changed; the
/// analysis is then out of date.
pub(crate) fn inline_lookups(
    graph: &mut Graph,
    analysis: &mut Analysis<'_>,
    values: Option<u32>,
    log: &mut Log,
) -> bool {
    let Some(values) = values else { return false };
    let mut changed = false;
    for block in graph.order(0) {
        // Later calls are replaced first, so that the positions of earlier ones stay valid.
        let mut calls = Vec::new();
        analysis.walk(graph, block, |place, instr, state| {
            if instr.op == Op::Insn(Insn::Call(Call::Helper(helper::MAP_LOOKUP_ELEM))) {
                calls.push((place, state.clone()));
            }
        });
        for (place, state) in calls.into_iter().rev() {
            let Some(lookup) = analysis.lookup(&state) else { continue };
            let Some(search) = Search::of(&lookup, &state) else { continue };
            let compared = search.entries.len() - usize::from(search.last_is_found);
            let origin = graph.blocks[block].insns[place].origin;
            log.note(origin, Change::Inlined(compared as u32), lookup.reason);
            search.put_in(graph, (block, place), values);
            changed = true;
        }
    }
    changed
}

/// Bytes of a map key that one instruction compares.
#[derive(Clone, Copy)]
struct Part {
    offset: usize,
    size: Size,
}

/// The key comparisons that replace a look-up.
struct Search {
    parts: Vec<Part>,
    /// Pattern that the key must match for each map entry, and offset in bytes of the entry's value
    /// in the map of values.
    entries: Vec<(Vec<MaskedByte>, u32)>,
    /// True if a key that matches no other entry certainly matches the last entry, so that the last
    /// comparison can be left out.
    last_is_found: bool,
}

impl Search {
    /// Plans the key comparisons that replace a look-up. Returns `None` if the look-up should stay.
    fn of(lookup: &Lookup<'_>, state: &State) -> Option<Search> {
        let Candidates { entries, none } = &lookup.candidates;
        let entry = |&entry: &usize| (lookup.map.pattern(entry), lookup.map.place(entry));
        let mut search = Search {
            parts: Vec::new(),
            entries: entries.iter().map(entry).collect(),
            last_is_found: !none,
        };
        if entries.len() <= 1 && *none == entries.is_empty() {
            return Some(search);
        }
        if !lookup.map.is_searched() || entries.len() > FEW {
            return None;
        }
        let is_known = |place: usize| {
            lookup.key.get(place).copied().flatten().and_then(KnownBits::constant).is_some()
        };
        // The prefix length in the key decides which other bytes are compared, so it must be known.
        if lookup.map.has_prefixes() && !(0..4).all(is_known) {
            return None;
        }
        let (cells, first) = match state.regs[2].kind {
            Kind::Stack(offset) => (&state.stack, offset),
            Kind::Packet { offset, .. } => (&state.packet, offset),
            _ => return None,
        };
        let mut offset = 0;
        while offset < lookup.key.len() {
            let at = first + offset as i64;
            let fits = |size: &&Size| {
                let bytes = usize::from(size.bytes());
                // The kernel requires aligned accesses to the stack.
                at % bytes as i64 == 0 && offset + bytes <= lookup.key.len()
            };
            let sizes = [Size::DW, Size::W, Size::H, Size::B];
            // If the bytes were written in one store, a register may still hold them.
            let whole = |size: &&Size| fits(size) && cells.read(at, size.bytes()).is_some();
            let size = sizes.iter().find(whole).or_else(|| sizes.iter().find(fits))?;
            let bytes = offset..offset + usize::from(size.bytes());
            let matters = |(pattern, _): &(Vec<MaskedByte>, u32)| {
                pattern[bytes.clone()].iter().any(|&(mask, _)| mask != 0)
            };
            if !bytes.clone().all(is_known) && search.entries.iter().any(matters) {
                search.parts.push(Part { offset, size: *size });
            }
            offset = bytes.end;
        }
        if fault::has(Fault::KeyTooShort) {
            search.parts.pop();
        }
        if fault::has(Fault::EntryForgotten) {
            search.entries.pop();
        }
        Some(search)
    }

    /// Replaces the call of a look-up in the graph by the key comparisons. `values` is the index in
    /// the object of the map that contains the values.
    fn put_in(self, graph: &mut Graph, (block, place): (BlockId, usize), values: u32) {
        let rest = graph.blocks[block].insns.split_off(place + 1);
        let origin = graph.blocks[block].insns.pop().map_or(0, |call| call.origin);
        let Block { end, origin: end_origin, .. } = graph.blocks[block];
        let mut builder = Builder { graph, origin };
        builder.graph.blocks.push(Block { insns: rest, end, origin: end_origin });
        let behind = builder.graph.blocks.len() - 1;
        let result = |value| Insn::LoadImm64 { dst: RESULT, value };
        let zero =
            Insn::Alu { width: Width::W64, op: AluOp::Mov, dst: RESULT, src: Source::Imm(0) };
        let mut next = builder.block(vec![zero], End::Jump(behind));
        let at_once = self.parts.len() <= PARTS.len();
        for (number, (pattern, place)) in self.entries.iter().enumerate().rev() {
            let value = Imm64::MapValue { map: values, offset: *place };
            let mut to = builder.block(vec![result(value)], End::Jump(behind));
            let last = number + 1 == self.entries.len();
            if !(last && self.last_is_found) {
                for (part, &Part { offset, size }) in self.parts.iter().enumerate().rev() {
                    let bytes = &pattern[offset..offset + usize::from(size.bytes())];
                    let reg = PARTS[if at_once { part } else { 0 }];
                    let mut insns = Vec::new();
                    if !at_once {
                        insns.push(load(reg, offset, size));
                    }
                    let Some(test) = comparison(reg, size, bytes, &mut insns) else { continue };
                    to = builder.block(insns, End::Branch { test, taken: next, other: to });
                }
            }
            next = to;
        }
        let instr = |insn| Instr { op: Op::Insn(insn), origin };
        let insns = &mut builder.graph.blocks[block].insns;
        if at_once {
            let loads = self.parts.iter().zip(PARTS);
            insns.extend(loads.map(|(part, reg)| instr(load(reg, part.offset, part.size))));
        }
        (builder.graph.blocks[block].end, builder.graph.blocks[block].origin) =
            (End::Jump(next), origin);
    }
}

struct Builder<'a> {
    graph: &'a mut Graph,
    origin: usize,
}

impl Builder<'_> {
    fn block(&mut self, insns: Vec<Insn>, end: End) -> BlockId {
        let origin = self.origin;
        let instr = |insn| Instr { op: Op::Insn(insn), origin };
        let insns = insns.into_iter().map(instr).collect();
        self.graph.blocks.push(Block { insns, end, origin });
        self.graph.blocks.len() - 1
    }
}

fn load(dst: Register, offset: usize, size: Size) -> Insn {
    let offset = i16::try_from(offset).unwrap_or(i16::MAX);
    Insn::Load { size, signed: false, dst, base: KEY, offset }
}

/// Returns a test that holds if a register does not contain the required bytes of a key. Appends
/// the instructions that prepare the test to `insns`. Returns `None` if the masks exclude all bits.
fn comparison(
    reg: Register,
    size: Size,
    bytes: &[MaskedByte],
    insns: &mut Vec<Insn>,
) -> Option<Test> {
    let number = |of: fn(&MaskedByte) -> u8| {
        bytes.iter().rev().fold(0, |all, byte| all << 8 | u64::from(of(byte)))
    };
    let (mask, value) = (number(|&(mask, _)| mask), number(|&(_, value)| value));
    if mask == 0 {
        return None;
    }
    let width = if size == Size::DW { Width::W64 } else { Width::W32 };
    // Immediates have 32 bits.
    let short = |number: u64| match width {
        Width::W32 => Some(number as u32 as i32),
        Width::W64 => i32::try_from(number as i64).ok(),
    };
    let whole = |number| Insn::LoadImm64 { dst: RESULT, value: Imm64::Value(number) };
    let mut dst = reg;
    if mask != slowpath_domain::mask(size.bits()) {
        let (op, src) = (AluOp::Mov, Source::Reg(reg));
        insns.push(Insn::Alu { width: Width::W64, op, dst: MASKED, src });
        let src = short(mask).map_or(Source::Reg(RESULT), Source::Imm);
        if src == Source::Reg(RESULT) {
            insns.push(whole(mask));
        }
        insns.push(Insn::Alu { width, op: AluOp::And, dst: MASKED, src });
        dst = MASKED;
    }
    let src = short(value).map_or(Source::Reg(RESULT), Source::Imm);
    if src == Source::Reg(RESULT) {
        insns.push(whole(value));
    }
    Some(Test { width, cond: Condition::Ne, dst, src })
}

#[cfg(test)]
mod tests;
