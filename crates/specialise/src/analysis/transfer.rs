//! Computes the effect of each instruction on the abstract state of registers, stack and packet.

use super::arithmetic::{arithmetic, in_width, swapped};
use super::cells::loaded;
use super::fact_set::FactSet;
use super::helper_results::HelperEffect;
use super::inputs::AnalysisInputs;
use super::lookup;
use super::numbers::{Def, Number, Numbers};
use super::state::State;
use super::value::{Kind, Value};
use crate::fault::{self, Fault};
use crate::frozen;
use crate::graph::{BlockId, Instr, Op};
use crate::helpers::{self, Effect};
use slowpath_bpf::insn::{
    AluOp, Call, Imm64, Insn, Register, Size, Source, SwapKind, Width, helper,
};
use slowpath_domain::{Domain, transfer};

/// Offset of the pointer to the packet's start in the context (`struct xdp_md`).
const DATA: i64 = 0;
/// Offset of the pointer to the packet's end in the context.
const DATA_END: i64 = 4;

/// An abstract execution of one instruction, which is given by its block and its index in the
/// block.
pub(super) struct Step<'a> {
    pub inputs: &'a AnalysisInputs<'a>,
    pub numbers: &'a mut Numbers,
    pub block: BlockId,
    pub place: usize,
}

impl Step<'_> {
    /// Updates the abstract state with the effect of one instruction.
    pub fn run(&mut self, state: &mut State, instr: &Instr) {
        match instr.op {
            Op::Insn(insn) => self.insn(state, &insn),
            Op::Call(_) => self.call(state, helpers::UNKNOWN),
            Op::Address(dst, _) => {
                let number = self.result(0);
                state.set(dst, Value::new(Kind::NumberOrOtherAddress, number));
            }
        }
    }

    fn result(&mut self, which: u8) -> Number {
        self.numbers.of(Def::Result(self.block, self.place, which))
    }

    fn insn(&mut self, state: &mut State, insn: &Insn) {
        match *insn {
            Insn::Alu { width, op, dst, src } => {
                let right = self.source(state, src, width);
                let value = self.alu(state, (width, op), dst, src, right);
                state.set(dst, value);
            }
            Insn::Neg { width, dst } => {
                let value = *state.reg(dst);
                let number = self.numbers.of(Def::Neg(width, value.number));
                let domain = in_width(value.domain(), width, transfer::neg);
                state.set(dst, known(domain, number, value.reason));
            }
            Insn::MoveSigned { width, from, dst, src } => {
                let value = *state.reg(src);
                let number = self.numbers.of(Def::Signed(width, from, value.number));
                let low = transfer::extract(value.domain(), 0, from.bits());
                let domain = transfer::zext(transfer::sext(low, width.bits()), 64);
                state.set(dst, known(domain, number, value.reason));
            }
            Insn::Swap { kind, size, dst } => {
                let value = *state.reg(dst);
                let number = match kind {
                    SwapKind::Le => self.numbers.low(size.bits(), value.number),
                    _ => self.numbers.of(Def::Swap(SwapKind::Be, size, value.number)),
                };
                state.set(dst, known(swapped(value.domain(), kind, size), number, value.reason));
            }
            Insn::LoadImm64 { dst, value } => {
                let value = self.immediate(value);
                state.set(dst, value);
            }
            Insn::Load { size, signed, dst, base, offset } => {
                let mut value = self.load(state, *state.reg(base), offset.into(), size);
                if signed {
                    let number = self.numbers.of(Def::Signed(Width::W64, size, value.number));
                    let low = transfer::extract(value.domain(), 0, size.bits());
                    value = known(transfer::sext(low, 64), number, value.reason);
                }
                state.set(dst, value);
            }
            Insn::LoadAcquire { dst, .. } => {
                let number = self.result(0);
                state.set(dst, Value::new(Kind::Any, number));
            }
            Insn::Store { size, base, offset, src } => {
                let value = self.source(state, src, Width::W64);
                self.store(state, *state.reg(base), offset.into(), size, value);
            }
            Insn::StoreRelease { size, base, offset, .. } => {
                let number = self.result(0);
                let value = Value::new(Kind::Any, number);
                self.store(state, *state.reg(base), offset.into(), size, value);
            }
            Insn::Atomic { op, width, base, offset, src } => {
                let (memory, old) = (self.result(0), self.result(1));
                let size = if width == Width::W64 { Size::DW } else { Size::W };
                let value = Value::new(Kind::Any, memory);
                self.store(state, *state.reg(base), offset.into(), size, value);
                use slowpath_bpf::insn::AtomicOp::{Add, And, Cmpxchg, Or, Xchg, Xor};
                let returns = match op {
                    Add { fetch } | Or { fetch } | And { fetch } | Xor { fetch } => {
                        fetch.then_some(src)
                    }
                    Xchg => Some(src),
                    Cmpxchg => Some(Register::R0),
                };
                if let Some(reg) = returns {
                    state.set(reg, Value::new(Kind::Any, old));
                }
            }
            Insn::LoadPacket { .. } => {
                for reg in 0..6 {
                    state.regs[reg] = Value::new(Kind::Any, self.result(reg as u8));
                }
            }
            Insn::Call(Call::Helper(number)) => {
                let found = (number == helper::MAP_LOOKUP_ELEM)
                    .then(|| lookup::found(state, self.numbers, self.inputs));
                let known = HelperEffect::by(state, self.inputs, number);
                let lengths = state.length_reasons;
                self.call(state, helpers::effect(number));
                if let Some(known) = known {
                    state.length_reasons = lengths;
                    known.apply(state, self.numbers);
                }
                if let Some((kind, reason)) = found.flatten() {
                    state.regs[0].kind = kind;
                    state.regs[0].reason = reason;
                    if let Kind::Number(_) = kind {
                        state.regs[0].number = self.numbers.of(Def::Constant(0));
                    }
                }
            }
            Insn::Call(_) => self.call(state, helpers::UNKNOWN),
            // These end blocks.
            Insn::SecondSlot
            | Insn::Jump { .. }
            | Insn::Branch { .. }
            | Insn::MayGoto { .. }
            | Insn::Exit => {}
        }
    }

    /// Returns the abstract value of the right operand `src` of an operation on 32 or 64 bits
    /// (`width`).
    pub fn source(&mut self, state: &State, src: Source, width: Width) -> Value {
        match src {
            Source::Reg(reg) => *state.reg(reg),
            Source::Imm(value) => {
                let wide = i64::from(value) as u64;
                let value = if width == Width::W32 { wide & u64::from(u32::MAX) } else { wide };
                let number = self.numbers.of(Def::Constant(value));
                Value::new(Kind::Number(Domain::constant(64, value)), number)
            }
        }
    }

    fn immediate(&mut self, value: Imm64) -> Value {
        match value {
            Imm64::Value(value) => {
                let number = self.numbers.of(Def::Constant(value));
                Value::new(Kind::Number(Domain::constant(64, value)), number)
            }
            Imm64::MapValue { map, offset } => {
                let number = self.numbers.of(Def::Data(map, offset.into()));
                Value::new(Kind::GlobalData { map, offset: offset.into() }, number)
            }
            Imm64::Map(map) => {
                // The address of a map itself differs from all addresses of its values.
                let number = self.numbers.of(Def::Data(map, i64::MIN));
                Value::new(Kind::NumberOrOtherAddress, number)
            }
            _ => {
                let number = self.result(0);
                Value::new(Kind::NumberOrOtherAddress, number)
            }
        }
    }

    fn alu(
        &mut self,
        state: &State,
        (width, op): (Width, AluOp),
        dst: Register,
        src: Source,
        right: Value,
    ) -> Value {
        if op == AluOp::Mov {
            return self.moved(state, width, src, right);
        }
        let left = *state.reg(dst);
        let number = self.numbers.alu(width, op, left.number, right.number);
        if width == Width::W64
            && let Some(kind) = address(state, op, &left, &right)
        {
            // Equal addresses have equal numbers, whatever instructions computed them.
            let number = match kind {
                Kind::Stack(offset) => self.numbers.of(Def::Stack(offset)),
                Kind::GlobalData { map, offset } => self.numbers.of(Def::Data(map, offset)),
                _ => number,
            };
            let reason = match kind {
                Kind::MapValue { .. } => left.reason | right.reason,
                Kind::Number(domain) if !domain.is_full() => {
                    left.reason | right.reason | state.length_reasons.0 | state.length_reasons.1
                }
                _ => FactSet::NONE,
            };
            return Value { kind, number, reason, copy_of: None };
        }
        if !matches!((left.kind, right.kind), (Kind::Number(_), Kind::Number(_))) {
            let elsewhere = |value: &Value| {
                matches!(
                    value.kind,
                    Kind::Number(_)
                        | Kind::NumberOrOtherAddress
                        | Kind::GlobalData { .. }
                        | Kind::MapValue { .. }
                )
            };
            let kind = match (width, elsewhere(&left) && elsewhere(&right)) {
                (Width::W32, _) => Kind::Number(Domain::range(64, 0, u32::MAX.into())),
                (Width::W64, true) => Kind::NumberOrOtherAddress,
                (Width::W64, false) => Kind::Any,
            };
            return Value::new(kind, number);
        }
        let domain = arithmetic(width, op, left.domain(), right.domain());
        let same = leaves_alone(width, op, left.domain(), right.domain());
        let number = if same { left.number } else { number };
        known(domain, number, left.reason | right.reason)
    }

    fn moved(&mut self, state: &State, width: Width, src: Source, right: Value) -> Value {
        let copy_of = match src {
            Source::Reg(reg) => Some(state.source_of(&right).unwrap_or(reg).number()),
            Source::Imm(_) => None,
        };
        if width == Width::W64 {
            return Value { copy_of, ..right };
        }
        let number = self.numbers.low(32, right.number);
        let copy_of = copy_of.filter(|_| number == right.number);
        let domain = match right.kind {
            Kind::Number(domain) => in_width(domain, Width::W32, |low| low),
            _ => Domain::range(64, 0, u32::MAX.into()),
        };
        Value { copy_of, ..known(domain, number, right.reason) }
    }

    fn load(&mut self, state: &mut State, base: Value, offset: i64, size: Size) -> Value {
        let fresh = self.result(0);
        let bytes = size.bytes();
        let number = loaded(self.numbers, fresh, bytes);
        // The number may have stood for another value in an earlier iteration of a loop.
        state.sets.forget(number);
        let all = Domain::range(64, 0, slowpath_domain::mask(size.bits()));
        let (cells, at) = match base.kind {
            Kind::Packet { offset: start, .. } => (&mut state.packet, start.saturating_add(offset)),
            Kind::Stack(start) => (&mut state.stack, start.saturating_add(offset)),
            Kind::Context => return self.context(state, offset, size),
            Kind::GlobalData { map, offset: start } => {
                return self.data(map, start.saturating_add(offset), size, number);
            }
            Kind::MapValue { map, offset: start, entries: among, .. } => {
                let content = self.inputs.frozen.and_then(|frozen| frozen.map(map));
                let bits = content.and_then(|map| {
                    let entries = frozen::numbers(among, map.len());
                    map.value(entries, start.saturating_add(offset), bytes)
                });
                let reason = base.reason | FactSet::map(map);
                let domain = bits.and_then(|domain| domain.meet(&all)).unwrap_or(all);
                if domain == all {
                    return Value::new(Kind::Number(all), number);
                }
                let constant =
                    domain.as_constant().map(|value| self.numbers.of(Def::Constant(value)));
                return known(domain, constant.unwrap_or(number), reason);
            }
            Kind::SomewhereInPacket | Kind::NumberOrOtherAddress => {
                return Value::new(Kind::Number(all), number);
            }
            Kind::Number(_) | Kind::PacketEnd | Kind::Any => {
                let kind = if bytes == 8 { Kind::Any } else { Kind::Number(all) };
                return Value::new(kind, number);
            }
        };
        if let Some(value) = cells.read(at, bytes) {
            return Value { copy_of: None, ..value };
        }
        let (domain, reason) = cells.bits(at, bytes);
        let part = cells.part(at, bytes, self.numbers);
        let number = part.unwrap_or(number);
        let value = match domain.as_constant() {
            Some(constant) => {
                let number = self.numbers.of(Def::Constant(constant));
                Value { kind: Kind::Number(domain), number, reason, copy_of: None }
            }
            // A stack slot may hold an address.
            None if bytes == 8 && matches!(base.kind, Kind::Stack(_)) => {
                Value::new(Kind::Any, number)
            }
            None => known(domain, number, reason),
        };
        // Records the value, so that later reads of the same bytes get the same number. If some
        // bits are known, the cells of single bytes are kept instead.
        if part.is_none()
            && domain.unknown_bits() & slowpath_domain::mask(size.bits())
                == slowpath_domain::mask(size.bits())
        {
            cells.write(at, bytes, value, self.numbers);
        }
        value
    }

    fn context(&mut self, state: &State, offset: i64, size: Size) -> Value {
        let number = self.numbers.of(Def::Context(offset, state.ends));
        let kind = match (offset, size) {
            (DATA, Size::W) => Kind::Packet { offset: 0, checked: 0 },
            (DATA_END, Size::W) => Kind::PacketEnd,
            (8, Size::W) => Kind::Any,
            _ => {
                let number = loaded(self.numbers, number, size.bytes());
                let all = Domain::range(64, 0, slowpath_domain::mask(size.bits()));
                return Value::new(Kind::Number(all), number);
            }
        };
        Value::new(kind, number)
    }

    /// Returns the abstract value of a load from a map with one element, such as `.rodata`. If
    /// nothing changes the map, the value is a constant from its initial content.
    fn data(&mut self, map: u32, offset: i64, size: Size, number: Number) -> Value {
        let bytes = usize::from(size.bytes());
        let content = self.inputs.constants.get(map as usize).copied().flatten();
        let constant = content.and_then(|content| {
            let first = usize::try_from(offset).ok()?;
            let bytes = content.get(first..first.checked_add(bytes)?)?;
            Some(bytes.iter().rev().fold(0, |all, &byte| all << 8 | u64::from(byte)))
        });
        match constant {
            Some(value) => {
                let number = self.numbers.of(Def::Constant(value));
                Value::new(Kind::Number(Domain::constant(64, value)), number)
            }
            None => {
                let all = Domain::range(64, 0, slowpath_domain::mask(size.bits()));
                Value::new(Kind::Number(all), number)
            }
        }
    }

    fn store(&mut self, state: &mut State, base: Value, offset: i64, size: Size, value: Value) {
        let bytes = size.bytes();
        let number = self.numbers.low(size.bits(), value.number);
        let mut value = Value { copy_of: None, number, ..value };
        if bytes < 8 {
            let low = transfer::extract(value.domain(), 0, size.bits());
            value = known(transfer::zext(low, 64), number, value.reason);
        }
        match base.kind {
            Kind::Packet { .. } if fault::has(Fault::StoreForgotten) => {}
            Kind::Packet { offset: start, .. } => {
                let at = start.saturating_add(offset);
                state.packet.write(at, bytes, value, self.numbers);
            }
            Kind::Stack(start) => {
                let at = start.saturating_add(offset);
                state.stack.write(at, bytes, value, self.numbers);
            }
            Kind::SomewhereInPacket => state.packet.clear(),
            Kind::NumberOrOtherAddress
            | Kind::GlobalData { .. }
            | Kind::MapValue { .. }
            | Kind::Context => {}
            Kind::Number(_) | Kind::PacketEnd | Kind::Any => {
                state.packet.clear();
                state.stack.clear();
            }
        }
    }

    fn call(&mut self, state: &mut State, effect: Effect) {
        let arguments = &state.regs[1..=usize::from(effect.arguments)];
        if effect.writes && !fault::has(Fault::WrittenForgotten) {
            let packet = |value: &Value| {
                matches!(value.kind, Kind::Packet { .. } | Kind::SomewhereInPacket | Kind::Any)
            };
            let into_packet = arguments.iter().any(packet);
            if arguments.iter().any(|value| value.kind == Kind::Any) {
                state.stack.clear();
            }
            let frames = arguments.iter().filter_map(|value| match value.kind {
                Kind::Stack(offset) => Some(offset),
                _ => None,
            });
            if let Some(least) = frames.min() {
                // A function of the program may also write below the address in its argument.
                let whole = effect == helpers::UNKNOWN;
                state.stack.clear_from(if whole { i64::MIN / 2 } else { least });
            }
            if into_packet {
                state.packet.clear();
            }
        }
        if effect.moves_packet {
            if !fault::has(Fault::MoveForgotten) {
                state.packet.clear();
            }
            state.length = (0, u16::MAX.into());
            state.placed = state.placed.anywhere();
            state.length_reasons = (FactSet::NONE, FactSet::NONE);
            state.ends = self.result(6);
            for value in state.values_mut() {
                let of_packet = matches!(
                    value.kind,
                    Kind::Packet { .. } | Kind::SomewhereInPacket | Kind::PacketEnd
                );
                if of_packet {
                    *value = Value::new(Kind::Any, value.number);
                }
            }
        }
        for reg in 0..6 {
            state.regs[reg] = Value::new(Kind::Any, self.result(reg as u8));
        }
        state.regs[0].kind = if effect.returns_element {
            Kind::NumberOrOtherAddress
        } else if effect == helpers::UNKNOWN {
            Kind::Any
        } else {
            Kind::Number(Domain::full(64))
        };
    }
}

/// Creates a value from its domain (the numbers that it can be) and its value number. If the domain
/// excludes numbers, the value depends on the facts in `reason`.
fn known(domain: Domain, number: Number, reason: FactSet) -> Value {
    let reason = if domain.is_full() { FactSet::NONE } else { reason };
    Value { kind: Kind::Number(domain), number, reason, copy_of: None }
}

/// Returns the address that results from adding or subtracting two operands. Returns `None` if
/// neither operand is an address.
fn address(state: &State, op: AluOp, left: &Value, right: &Value) -> Option<Kind> {
    let negative = match op {
        AluOp::Add => false,
        AluOp::Sub => true,
        _ => return None,
    };
    match (left.kind, right.kind) {
        (Kind::Packet { offset: a, .. }, Kind::Packet { offset: b, .. }) if negative => {
            Some(Kind::Number(Domain::constant(64, a.wrapping_sub(b) as u64)))
        }
        (Kind::PacketEnd, Kind::Packet { offset, .. }) if negative => {
            let (min, max) = (state.length.0 - offset, state.length.1 - offset);
            Some(Kind::Number(Domain::signed(64, min, max)))
        }
        (_, Kind::Number(by)) => moved(left.kind, by, negative),
        (Kind::Number(by), _) if !negative => moved(right.kind, by, false),
        _ => None,
    }
}

/// Returns the address after adding the number `by`, or subtracting it if `negative` is true.
/// Returns `None` if the analysis does not track the result.
fn moved(kind: Kind, by: Domain, negative: bool) -> Option<Kind> {
    // No address is valid at a greater distance.
    let near = |offset: &i64| offset.unsigned_abs() < 1 << 32;
    let by = by.as_constant().map(|by| by as i64).filter(near);
    let by = by.map(|by| if negative { -by } else { by });
    Some(match (kind, by) {
        (Kind::Packet { offset, checked }, Some(by)) if near(&(offset + by)) => {
            Kind::Packet { offset: offset + by, checked }
        }
        (Kind::Packet { .. } | Kind::SomewhereInPacket, _) => Kind::SomewhereInPacket,
        (Kind::Stack(offset), Some(by)) if near(&(offset + by)) => Kind::Stack(offset + by),
        (Kind::Stack(_), _) => Kind::Any,
        (Kind::GlobalData { map, offset }, Some(by)) if near(&(offset + by)) => {
            Kind::GlobalData { map, offset: offset + by }
        }
        (Kind::MapValue { map, offset, entries: among, null: false }, Some(by))
            if near(&(offset + by)) =>
        {
            Kind::MapValue { map, offset: offset + by, entries: among, null: false }
        }
        (Kind::GlobalData { .. } | Kind::MapValue { .. } | Kind::NumberOrOtherAddress, _) => {
            Kind::NumberOrOtherAddress
        }
        _ => return None,
    })
}

/// Returns true if an operation with the right operand `b` does not change its left operand `a`.
/// Bit masks always count as changes, because the kernel's verifier may learn a bound from them.
fn leaves_alone(width: Width, op: AluOp, a: Domain, b: Domain) -> bool {
    if width == Width::W32 && a.hi() > u64::from(u32::MAX) {
        return false;
    }
    match op {
        AluOp::Add | AluOp::Sub | AluOp::Or | AluOp::Xor => b.as_constant() == Some(0),
        AluOp::Lsh | AluOp::Rsh | AluOp::Arsh => b.as_constant() == Some(0),
        AluOp::Mul | AluOp::Div => b.as_constant() == Some(1),
        AluOp::And | AluOp::Mod | AluOp::Mov | AluOp::Sdiv | AluOp::Smod => false,
    }
}
