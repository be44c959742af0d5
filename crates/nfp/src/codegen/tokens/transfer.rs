//! Analyses one function from its start to its end: finds the abstract values before each
//! instruction.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};

use slowpath_bpf::insn::helper::MAP_LOOKUP_ELEM;
use slowpath_bpf::insn::{AluOp, AtomicOp, Call, Condition, Imm64, Insn, Register, Source, Width};

use slowpath_bpf::{Referent, VariableKind};

use super::code::Code;
use super::value::{Cell, Kind, NUMBER, Origin, Value, split_place};
use crate::codegen::helpers;

/// Upper limit of packet lengths in bytes that the analysis assumes.
const LONGEST: u64 = (1 << 16) - 1;
/// Number of joins at an instruction after which bounds that still grow are widened.
const JOINS_BEFORE_WIDENING: u32 = 4;

/// Abstract values of registers and stack slots before an instruction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct State {
    /// Values of `r0` to `r10`.
    pub registers: [Value; 11],
    /// Known values of 8-byte stack slots, by stack position ([`Value::place`]).
    pub stack: BTreeMap<i64, Value>,
}

impl State {
    pub fn register(&self, register: Register) -> &Value {
        &self.registers[usize::from(register.number())]
    }

    fn with(&self, register: Register, value: Value) -> Self {
        let mut state = self.clone();
        state.registers[usize::from(register.number())] = value;
        state
    }

    fn operand(&self, source: Source) -> Value {
        match source {
            Source::Reg(register) => self.register(register).clone(),
            Source::Imm(value) => Value::constant(i64::from(value) as u64),
        }
    }

    /// Sets `size` stack bytes at the stack position `place` ([`Value::place`]) to a value; `None`
    /// makes them unknown.
    fn put(&mut self, place: i64, size: i64, value: Option<Value>) {
        self.stack.retain(|&at, _| at + 8 <= place || place + size <= at);
        if let Some(value) = value {
            self.stack.insert(place, value);
        }
    }

    fn join(&self, other: &Self, at: usize, widen: bool) -> Self {
        let registers = std::array::from_fn(|number| {
            let origin = Origin::Joined(at, Cell::Register(number as u8));
            self.registers[number].join(&other.registers[number], origin, widen)
        });
        let both = self.stack.iter().filter_map(|(&place, value)| {
            let origin = Origin::Joined(at, Cell::Stack(place));
            Some((place, value.join(other.stack.get(&place)?, origin, widen)))
        });
        State { registers, stack: both.collect() }
    }
}

/// State at the entry of a function, and the effects of the functions that this function calls.
pub(super) struct Entry<'a> {
    /// Values of `r1` to `r5`.
    pub arguments: &'a [Value; 5],
    /// Known values in stack frames of callers, by stack position ([`Value::place`]).
    pub stack: &'a BTreeMap<i64, Value>,
    /// Results of functions, by the name of the function.
    pub results: &'a BTreeMap<String, Value>,
    /// Values that functions write to callers' stack frames, by function name and stack position
    /// ([`Value::place`]); `None` if a value is unknown.
    pub written: &'a BTreeMap<String, BTreeMap<i64, Option<Value>>>,
}

/// Returns the abstract values before each instruction of the function at `first..end`; `None` for
/// unreachable instructions.
pub(super) fn analyze(
    code: &Code<'_>,
    (first, end): (usize, usize),
    entry: &Entry<'_>,
) -> Vec<Option<State>> {
    let mut states: Vec<Option<State>> = vec![None; end - first];
    let mut rounds = vec![0; end - first];
    let mut registers = [const { NUMBER }; 11];
    registers[1..6].clone_from_slice(entry.arguments);
    registers[10] = Value::pointer(Kind::Stack, Origin::Frame, Some(0));
    let Some(start) = states.first_mut() else { return states };
    *start = Some(State { registers, stack: entry.stack.clone() });
    let insns = &code.program.insns;
    let targets: BTreeSet<usize> =
        (first..end).filter_map(|slot| insns[slot].jump_target(slot)).collect();
    let mut pending = BinaryHeap::from([Reverse(first)]);
    while let Some(Reverse(slot)) = pending.pop() {
        let Some(state) = &states[slot - first] else { continue };
        for (next, after) in successors(code, slot, end, state, entry) {
            let joined = match &states[next - first] {
                Some(before) if targets.contains(&next) => {
                    let round = &mut rounds[next - first];
                    *round += 1;
                    before.join(&after, next, *round > JOINS_BEFORE_WIDENING)
                }
                _ => after,
            };
            if states[next - first].as_ref() != Some(&joined) {
                states[next - first] = Some(joined);
                pending.push(Reverse(next));
            }
        }
    }
    states
}

/// Returns the indices of the instructions that can follow an instruction, each with the state
/// before it.
fn successors(
    code: &Code<'_>,
    slot: usize,
    end: usize,
    state: &State,
    entry: &Entry<'_>,
) -> Vec<(usize, State)> {
    let insn = code.program.insns[slot];
    let inside = |slot: &usize| *slot < end;
    let next = Some(slot + insn.slots().max(1)).filter(inside);
    let goal = insn.jump_target(slot).filter(inside);
    match insn {
        Insn::Exit => Vec::new(),
        Insn::Jump { .. } => goal.map(|goal| (goal, state.clone())).into_iter().collect(),
        Insn::Branch { width, cond, dst, src, .. } => {
            let compared = Comparison { width, dst, src };
            let one_way = next.is_none() || goal.is_none() || next == goal;
            let mut found = Vec::new();
            for (to, taken) in [(next, next != Some(slot + 1)), (goal, goal != Some(slot + 1))] {
                let cond = if taken { Some(cond) } else { opposite(cond) };
                let Some(to) = to.filter(|_| one_way || compared.may_hold(cond, state)) else {
                    continue;
                };
                found.push((to, compared.refined(cond, state)));
            }
            found
        }
        _ => next.map(|next| (next, executed(code, slot, state, entry))).into_iter().collect(),
    }
}

/// Returns the condition under which a branch is not taken; `None` for [`Condition::Set`].
fn opposite(cond: Condition) -> Option<Condition> {
    use Condition::{Eq, Ge, Gt, Le, Lt, Ne, Set, Sge, Sgt, Sle, Slt};
    Some(match cond {
        Eq => Ne,
        Ne => Eq,
        Gt => Le,
        Ge => Lt,
        Lt => Ge,
        Le => Gt,
        Sgt => Sle,
        Sge => Slt,
        Slt => Sge,
        Sle => Sgt,
        Set => return None,
    })
}

struct Comparison {
    width: Width,
    dst: Register,
    src: Source,
}

impl Comparison {
    /// Returns true if the condition can hold within the operands' bounds.
    fn may_hold(&self, cond: Option<Condition>, state: &State) -> bool {
        use Condition::{Eq, Ge, Gt, Le, Lt, Ne, Set, Sge, Sgt, Sle, Slt};
        let (mut left, mut right) = (state.register(self.dst).clone(), state.operand(self.src));
        if (left.kind, right.kind) != (Kind::Number, Kind::Number) {
            return true;
        }
        if self.width == Width::W32 {
            (left, right) = (left.narrowed(), right.narrowed());
        }
        let negative = left.high.max(right.high) >> (self.width.bits() - 1) != 0;
        let least = |value: &Value| value.offset.unwrap_or(0) as u64;
        match cond {
            None | Some(Set) => true,
            Some(Sgt | Sge | Slt | Sle) if negative => true,
            Some(Eq) => least(&left) <= right.high && least(&right) <= left.high,
            Some(Ne) => left.offset.is_none() || left.offset != right.offset,
            Some(Gt | Sgt) => left.high > least(&right),
            Some(Ge | Sge) => left.high >= least(&right),
            Some(Lt | Slt) => least(&left) < right.high,
            Some(Le | Sle) => least(&left) <= right.high,
        }
    }

    /// Returns the abstract state after the branch goes the way on which its comparison holds. If
    /// the comparison is with a constant, the compared register gets tighter bounds.
    fn refined(&self, cond: Option<Condition>, state: &State) -> State {
        let Source::Imm(limit) = self.src else { return state.clone() };
        let Ok(limit) = u64::try_from(limit) else { return state.clone() };
        let known = state.register(self.dst);
        let high = match cond {
            Some(Condition::Eq) if known.kind == Kind::Number || limit == 0 => {
                return state.with(self.dst, Value::constant(limit));
            }
            Some(Condition::Lt) => limit.saturating_sub(1),
            Some(Condition::Le) => limit,
            _ => return state.clone(),
        };
        let compares_all_bits = self.width == Width::W64 || known.high <= u32::MAX.into();
        if known.kind != Kind::Number || known.offset.is_some() || !compares_all_bits {
            return state.clone();
        }
        state.with(self.dst, Value::up_to(known.high.min(high)))
    }
}

fn executed(code: &Code<'_>, slot: usize, state: &State, entry: &Entry<'_>) -> State {
    let (dst, value) = match code.program.insns[slot] {
        Insn::Call(_) => return called(code, slot, state, entry),
        Insn::Store { size, base, offset, src } => {
            let base = state.register(base);
            let mut after = state.clone();
            if base.kind == Kind::Stack {
                if let Some(place) = base.place(offset.into()) {
                    let value = match src {
                        Source::Reg(src) if size.bytes() == 8 => Some(state.register(src).clone()),
                        _ => None,
                    };
                    after.put(place, size.bytes().into(), value);
                } else {
                    after.stack.clear();
                }
            }
            return after;
        }
        Insn::Load { size, dst, base, offset, .. } => {
            (dst, loaded(state, base, size.bits(), offset.into()))
        }
        Insn::Alu { width, op: AluOp::Mov, dst, src } => (dst, in_width(state.operand(src), width)),
        Insn::Alu { width, op, dst, src } => {
            let (left, right) = (state.register(dst), state.operand(src));
            (dst, arithmetic(slot, (width, op), left, &right))
        }
        Insn::LoadImm64 { dst, value } => (dst, code.constant(slot, value)),
        Insn::Swap { size, dst, .. } => (dst, Value::up_to(u64::MAX >> (64 - size.bits()))),
        Insn::Neg { width, dst } => (dst, in_width(NUMBER, width)),
        Insn::Atomic { op, width, src, .. } => match op {
            AtomicOp::Cmpxchg => (Register::R0, in_width(NUMBER, width)),
            _ if op.fetches() => (src, in_width(NUMBER, width)),
            _ => return state.clone(),
        },
        _ => return state.clone(),
    };
    state.with(dst, value)
}

fn in_width(value: Value, width: Width) -> Value {
    if width == Width::W64 { value } else { value.narrowed() }
}

impl Code<'_> {
    fn constant(&self, slot: usize, value: Imm64) -> Value {
        let Some(Referent { name, kind }) = self.variables.get(&slot) else {
            return match value {
                Imm64::Value(value) => Value::constant(value),
                _ => NUMBER,
            };
        };
        let kind = match kind {
            VariableKind::Map => Kind::Map,
            VariableKind::Constant => Kind::Table,
            VariableKind::Other => Kind::Global,
        };
        Value::pointer(kind, Origin::Symbol(name.as_str().into()), Some(0))
    }
}

fn called(code: &Code<'_>, slot: usize, state: &State, entry: &Entry<'_>) -> State {
    let mut after = state.clone();
    let mut result = NUMBER;
    if let Insn::Call(Call::Helper(number)) = code.program.insns[slot] {
        let [_, map, key, ..] = &state.registers;
        if number == MAP_LOOKUP_ELEM {
            let map = map.one_map().filter(|_| key.is_variable()).cloned();
            let kind = if map.is_some() { Kind::Element } else { Kind::Global };
            result = Value { map, ..Value::pointer(kind, Origin::Call(slot), Some(0)) };
        } else if !helpers::returns_number(number) {
            result = Value::of(Kind::Returned);
        }
    } else if let Some(name) = code.callee(slot) {
        if let Some(returned) = entry.results.get(name) {
            result = match (&returned.origin, returned.offset) {
                (&Origin::Passed { register, .. }, Some(offset)) => {
                    state.registers[usize::from(register)].clone().moved(offset)
                }
                _ if matches!(returned.kind, Kind::Packet | Kind::Element) => {
                    Value { origin: Origin::Call(slot), ..returned.clone() }
                }
                _ => returned.clone(),
            };
        }
        for (&place, value) in entry.written.get(name).into_iter().flatten() {
            let (register, distance) = split_place(place);
            let pointer = usize::try_from(register).ok().and_then(|at| state.registers.get(at));
            if let Some(place) = pointer.and_then(|pointer| pointer.place(distance)) {
                after.put(place, 8, value.clone());
            }
        }
    }
    after.registers[0] = result;
    after.registers[1..6].fill(NUMBER);
    after
}

fn loaded(state: &State, base: Register, bits: u8, offset: i64) -> Value {
    let base = state.register(base);
    let high = u64::MAX >> (64 - bits);
    let whole = bits == 64;
    match base.kind {
        Kind::Context => {
            let at = base.offset.unwrap_or(0).wrapping_add(offset);
            match base.origin {
                Origin::Context { end, .. } if at == end => {
                    Value::pointer(Kind::PacketEnd, Origin::None, Some(0))
                }
                Origin::Context { data, .. } if at == data => {
                    Value::pointer(Kind::Packet, Origin::Data, Some(0))
                }
                Origin::Context { .. } => Value { high, ..Value::of(Kind::Field) },
                _ if whole => Value::pointer(Kind::Packet, Origin::Field(at), Some(0)),
                _ => Value::up_to(high),
            }
        }
        _ if !whole => Value::up_to(high),
        Kind::Stack => {
            let place = base.place(offset);
            place.and_then(|place| state.stack.get(&place)).cloned().unwrap_or(NUMBER)
        }
        _ => match base.pointee() {
            Kind::Element | Kind::Global | Kind::Table | Kind::Returned => Value::of(Kind::Inner),
            _ => NUMBER,
        },
    }
}

fn arithmetic(slot: usize, (width, op): (Width, AluOp), left: &Value, right: &Value) -> Value {
    let start = Value::pointer(Kind::Packet, Origin::Data, Some(0));
    if op == AluOp::Sub && left.kind == Kind::PacketEnd && *right == start {
        return Value::up_to(LONGEST);
    }
    if width == Width::W32 {
        return numbers(op, &left.narrowed(), &right.narrowed(), width);
    }
    let swapped = left.kind.is_numeric();
    let (pointer, other) = if swapped { (right, left) } else { (left, right) };
    if pointer.kind.is_numeric() {
        return numbers(op, left, right, width);
    }
    let moves = op == AluOp::Add || (op == AluOp::Sub && !swapped);
    if !moves || !other.kind.is_numeric() {
        return NUMBER;
    }
    match other.offset.filter(|_| pointer.offset.is_some() && !pointer.several) {
        Some(by) if op == AluOp::Add => pointer.clone().moved(by),
        Some(by) => pointer.clone().moved(by.wrapping_neg()),
        None => {
            let stack = pointer.kind == Kind::Stack;
            Value {
                kind: pointer.kind,
                origin: if stack { pointer.origin.clone() } else { Origin::Moved(slot) },
                offset: (pointer.kind == Kind::Packet).then_some(0),
                varies: stack || pointer.kind == Kind::Element,
                map: pointer.map.clone(),
                ..NUMBER
            }
        }
    }
}

/// Returns the result of arithmetic on numbers, or an upper bound of it.
fn numbers(op: AluOp, left: &Value, right: &Value, width: Width) -> Value {
    use AluOp::{Add, And, Div, Lsh, Mod, Mul, Or, Rsh, Sub, Xor};
    if matches!(op, Add | Sub) && (left.kind, right.kind) != (Kind::Number, Kind::Number) {
        return Value::of(if left.kind == Kind::Number { right.kind } else { left.kind });
    }
    let most = if width == Width::W64 { u64::MAX } else { u32::MAX.into() };
    let known = right.offset.map(|value| value as u64);
    let amount = known.map(|value| value & u64::from(width.bits() - 1));
    if let (Some(a), Some(b), Some(amount)) = (left.offset, known, amount) {
        let a = a as u64;
        let value = match op {
            Add => Some(a.wrapping_add(b)),
            Sub => Some(a.wrapping_sub(b)),
            Mul => Some(a.wrapping_mul(b)),
            And => Some(a & b),
            Or => Some(a | b),
            Xor => Some(a ^ b),
            Lsh => Some(a << amount),
            Rsh => Some(a >> amount),
            _ => None,
        };
        if let Some(value) = value {
            return Value::constant(value & most);
        }
    }
    let divisor = known.filter(|&value| value != 0);
    let high = match op {
        And => left.high.min(right.high).into(),
        Or | Xor => u128::from(u64::MAX.unbounded_shr((left.high | right.high).leading_zeros())),
        Add => u128::from(left.high) + u128::from(right.high),
        Mul => u128::from(left.high) * u128::from(right.high),
        Lsh => amount.map_or(u128::from(most), |amount| u128::from(left.high) << amount),
        Rsh => (left.high >> amount.unwrap_or(0)).into(),
        Div => (left.high / divisor.unwrap_or(1)).into(),
        Mod => divisor.map_or(left.high, |divisor| left.high.min(divisor - 1)).into(),
        _ => u128::from(most),
    };
    Value::up_to(u64::try_from(high).unwrap_or(u64::MAX).min(most))
}
