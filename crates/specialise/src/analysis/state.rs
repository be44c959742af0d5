//! The abstract state at a program point: registers, the stack frame and the packet.

use super::cells::{Cells, loaded};
use super::fact_set::{FIELDS, FOLLOWED, FactSet};
use super::inputs::AnalysisInputs;
use super::numbers::{Def, Location, Number, Numbers};
use super::position::{PacketPosition, Range};
use super::sets::ValueSets;
use super::value::{Kind, Value};
use crate::fault::{self, Fault};
use crate::graph::BlockId;
use slowpath_bpf::insn::Register;
use slowpath_domain::Domain;
use slowpath_ir::{Field, PacketFacts};
use std::cmp::Reverse;
use std::collections::BTreeSet;

/// Knowledge about registers, the stack frame and the packet at a program point.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct State {
    pub regs: [Value; 11],
    /// Known content of the stack, by offset from the frame pointer.
    pub stack: Cells,
    /// Known content of the packet, by offset from its first byte.
    pub packet: Cells,
    /// Minimum and maximum length of the packet, in bytes.
    pub length: (i64, i64),
    /// The facts on which the minimum and the maximum length depend.
    pub length_reasons: (FactSet, FactSet),
    pub placed: PacketPosition,
    /// Value number of the current start and end of the packet. It changes with each call that may
    /// move one of them.
    pub ends: Number,
    /// Possible values of numbers that can have only a few values.
    pub sets: ValueSets,
}

impl State {
    /// Returns the state at the start of the program.
    pub fn start(inputs: &AnalysisInputs<'_>, numbers: &mut Numbers) -> State {
        let facts = inputs.facts;
        let mut regs = [0; 11].map(|_| Value::new(Kind::Any, 0));
        for (reg, value) in (0..).zip(&mut regs) {
            value.number = numbers.of(Def::Start(reg));
        }
        regs[1].kind = Kind::Context;
        regs[10] = Value::new(Kind::Stack(0), numbers.of(Def::Stack(0)));
        let mut packet = Cells::default();
        for (&offset, bits) in facts.bits.range(..FOLLOWED) {
            let (ones, zeros) = (u64::from(bits.value), u64::from(bits.mask & !bits.value));
            let domain = Domain::from_bits(64, zeros | !0xff, ones);
            let number = match domain.as_constant() {
                Some(byte) => numbers.of(Def::Constant(byte)),
                None => received(numbers, Field { offset, bytes: 1 }),
            };
            let reason = FactSet::byte(offset);
            let value = Value { kind: Kind::Number(domain), number, reason, copy_of: None };
            packet.write(offset.into(), 1, value, numbers);
        }
        let sets = one_of(facts, &mut packet, numbers);
        let length = (facts.min_length.into(), facts.max_length.into());
        State {
            regs,
            stack: Cells::default(),
            packet,
            length,
            placed: PacketPosition::arrived(inputs, Range(length.0, length.1)),
            length_reasons: (FactSet::LENGTH, FactSet::LENGTH),
            ends: numbers.of(Def::Constant(0)),
            sets,
        }
    }

    pub fn reg(&self, reg: Register) -> &Value {
        &self.regs[usize::from(reg.number())]
    }

    pub fn set(&mut self, reg: Register, value: Value) {
        self.regs[usize::from(reg.number())] = value;
    }

    /// Returns the register from which a value was copied, if this register still contains the
    /// value.
    pub fn source_of(&self, value: &Value) -> Option<Register> {
        let source = Register::new(value.copy_of?)?;
        let same = self.reg(source).number == value.number;
        (same || fault::has(Fault::StaleCopy)).then_some(source)
    }

    /// Returns a state that covers two states at the start of a basic block. If `widen` is true,
    /// ranges that grow are extended to their limits, so that the analysis of loops ends.
    pub fn join(&self, other: &State, block: BlockId, numbers: &mut Numbers, widen: bool) -> State {
        let mut join = |place: Location, a: &Value, b: &Value| {
            if fault::has(Fault::OneWayOnly) {
                return *a;
            }
            let number =
                if a.number == b.number { a.number } else { numbers.of(Def::Merge(block, place)) };
            let kind = if widen { a.kind.widen(b.kind) } else { a.kind.join(b.kind) };
            let reason = match kind {
                Kind::Number(domain) if !domain.is_full() => a.reason | b.reason,
                Kind::MapValue { .. } => a.reason | b.reason,
                _ => FactSet::NONE,
            };
            let copy_of = a.copy_of.filter(|_| a.copy_of == b.copy_of);
            Value { kind, number, reason, copy_of }
        };
        let mut regs = self.regs;
        for (reg, value) in (0..).zip(&mut regs) {
            *value = join(Location::Register(reg), value, &other.regs[usize::from(reg)]);
        }
        let stack = self.stack.join(&other.stack, &mut join, Location::Stack);
        let packet = self.packet.join(&other.packet, &mut join, Location::Packet);
        let mut length = (self.length.0.min(other.length.0), self.length.1.max(other.length.1));
        if widen && length.0 < self.length.0 {
            length.0 = 0;
        }
        if widen && length.1 > self.length.1 {
            length.1 = i64::from(u16::MAX);
        }
        let ends = if self.ends == other.ends {
            self.ends
        } else {
            numbers.of(Def::Merge(block, Location::Ends))
        };
        let (min, max) = self.length_reasons;
        let length_reasons = (min | other.length_reasons.0, max | other.length_reasons.1);
        let sets = self.sets.join(&other.sets);
        let placed = self.placed.join(other.placed, widen);
        State { regs, stack, packet, length, placed, length_reasons, ends, sets }
    }

    /// Lists all values in registers and memory, so that they can be changed.
    pub fn values_mut(&mut self) -> impl Iterator<Item = &mut Value> {
        self.regs.iter_mut().chain(self.stack.values_mut()).chain(self.packet.values_mut())
    }

    /// Lists, for each packet pointer in registers and on the stack, the packet length in bytes
    /// that bounds checks have proved for it.
    pub fn packet_pointers(&self) -> impl Iterator<Item = i64> {
        let values = self.regs.iter().chain(self.stack.iter().map(|(_, cell)| &cell.value));
        values.filter_map(|value| match value.kind {
            Kind::Packet { checked, .. } => Some(checked),
            _ => None,
        })
    }
}

/// Returns the value number of a packet field's content at the start of the program.
fn received(numbers: &mut Numbers, field: Field) -> Number {
    let number = numbers.of(Def::Result(BlockId::MAX, field.offset.into(), field.bytes));
    loaded(numbers, number, field.bytes)
}

/// Returns the possible values of packet fields that have only a few values. Also writes the fields
/// to `packet`, which describes the packet as it was received.
fn one_of(facts: &PacketFacts, packet: &mut Cells, numbers: &mut Numbers) -> ValueSets {
    let mut sets = ValueSets::default();
    let followed = |&(_, (field, _)): &(usize, (&Field, &BTreeSet<u64>))| {
        field.end() <= FOLLOWED.into() && field.bytes.is_power_of_two()
    };
    let mut fields: Vec<_> =
        facts.values.iter().enumerate().take(FIELDS).filter(followed).collect();
    // Larger fields come first, because smaller fields may be parts of them.
    fields.sort_by_key(|&(index, (field, _))| (Reverse(field.bytes), index));
    let mut placed: Vec<(Field, Number)> = Vec::new();
    for (index, (&field, values)) in fields {
        let shares = |(other, _): &&(Field, Number)| {
            usize::from(field.offset) < other.end() && usize::from(other.offset) < field.end()
        };
        let number = match placed.iter().find(shares) {
            None => {
                let (at, bytes) = (field.offset.into(), field.bytes);
                let (domain, reason) = packet.bits(at, bytes);
                if domain.as_constant().is_some() {
                    continue;
                }
                let number = received(numbers, field);
                // If the known bits of the bytes already imply the known part of a value, it does
                // not depend on the fact about the field.
                let range = Domain::range(64, 0, slowpath_domain::mask(8 * bytes));
                let domain = domain.meet(&range).unwrap_or(range);
                let value = Value { kind: Kind::Number(domain), number, reason, copy_of: None };
                packet.write(at, bytes, value, numbers);
                placed.push((field, number));
                number
            }
            Some(&(other, whole)) if other.offset <= field.offset && field.end() <= other.end() => {
                numbers.part(whole, (field.offset - other.offset) as u8, field.bytes)
            }
            Some(_) => continue,
        };
        let kept = values.iter().rev().skip(fault::has(Fault::ValueForgotten).into());
        let loaded = kept.map(|value| value.swap_bytes() >> (64 - 8 * u32::from(field.bytes)));
        sets.insert(number, loaded, FactSet::field(index));
    }
    sets
}
