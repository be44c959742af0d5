//! Finds the abstract values in all functions of a program, across calls. A caller passes
//! arguments, and the values in stack frames to which the arguments point. A function returns a
//! result, and may change these values.

use std::collections::BTreeMap;

use slowpath_bpf::insn::Insn;

use super::code::Code;
use super::transfer::{Entry, State, analyze};
use super::value::{Kind, NUMBER, Origin, Value, WORD_BYTES, split_place};

/// Maximum number of rounds of the analysis. Each round follows values through one more call. The
/// kernel allows eight nested frames.
const ROUNDS: u32 = 32;
/// Maximum size of a stack frame in bytes.
const FRAME: i64 = 512;

/// The abstract values with which functions are called, and those that they return, by function
/// name.
#[derive(Default, PartialEq)]
struct CallValues {
    arguments: BTreeMap<String, [Value; 5]>,
    /// Values in stack frames of callers when a function starts, by function name and stack
    /// position ([`Value::place`]).
    stacks: BTreeMap<String, BTreeMap<i64, Value>>,
    results: BTreeMap<String, Value>,
    /// Values that a function writes to stack frames of callers, by function name and stack
    /// position ([`Value::place`]). `None` if a value is unknown.
    written: BTreeMap<String, BTreeMap<i64, Option<Value>>>,
}

/// Returns the abstract values before each instruction. `results` describes the results of
/// functions that are not part of the program.
pub(super) fn analyze_all(
    code: &Code<'_>,
    arguments: &[Value; 5],
    results: &BTreeMap<String, Value>,
) -> Vec<Option<State>> {
    let entry = &code.program.name;
    let start = || CallValues {
        arguments: BTreeMap::from([(entry.clone(), arguments.clone())]),
        stacks: BTreeMap::from([(entry.clone(), BTreeMap::new())]),
        results: results.clone(),
        written: BTreeMap::new(),
    };
    let mut values = start();
    let mut states = vec![None; code.program.insns.len()];
    for _ in 0..ROUNDS {
        let mut found = start();
        for (name, first, end) in code.functions() {
            let Some(arguments) = values.arguments.get(name) else {
                states[first..end].fill(None);
                continue;
            };
            let stack = &values.stacks[name];
            let (results, written) = (&values.results, &values.written);
            let entry = Entry { arguments, stack, results, written };
            states.splice(first..end, analyze(code, (first, end), &entry));
            for (slot, state) in (first..end).zip(&states[first..end]) {
                if let Some(state) = state {
                    found.add(code, name, slot, state, stack);
                }
            }
        }
        if found == values {
            break;
        }
        values = found;
    }
    states
}

impl CallValues {
    /// Records the values that flow between functions at an instruction. At a call, these are the
    /// arguments. At an exit, these are the result and the values written to callers' stack frames.
    fn add(
        &mut self,
        code: &Code<'_>,
        name: &str,
        slot: usize,
        state: &State,
        stack: &BTreeMap<i64, Value>,
    ) {
        if let Some(callee) = code.own_callee(slot) {
            let registers: [Value; 5] = std::array::from_fn(|at| argument(state, at + 1));
            let stack_arguments = stack_arguments(state);
            let (arguments, stack) = match (self.arguments.get(callee), self.stacks.get(callee)) {
                (Some(old), Some(stack)) => {
                    let arguments = std::array::from_fn(|at| old[at].merged(&registers[at]));
                    let both = stack.iter().filter_map(|(&place, old)| {
                        Some((place, old.merged(stack_arguments.get(&place)?)))
                    });
                    (arguments, both.collect())
                }
                _ => (registers, stack_arguments),
            };
            self.arguments.insert(callee.to_owned(), arguments);
            self.stacks.insert(callee.to_owned(), stack);
        } else if code.program.insns[slot] == Insn::Exit {
            let result = state.registers[0].as_result(Origin::Argument(0));
            let result = match self.results.get(name) {
                Some(old) => old.merged(&result),
                None => result,
            };
            self.results.insert(name.to_owned(), result);
            let written = written(state, stack);
            let written = match self.written.get(name) {
                Some(old) => join_written(old, &written),
                None => written,
            };
            self.written.insert(name.to_owned(), written);
        }
    }
}

/// Returns the abstract value of an argument register at a call, converted for use in the called
/// function.
fn argument(state: &State, register: usize) -> Value {
    let value = &state.registers[register];
    match value.kind {
        Kind::Stack => {
            let begin = match value.origin {
                Origin::Passed { start, .. } => start,
                _ => Some(0),
            };
            let start = begin.and_then(|begin| Some(begin.wrapping_add(value.offset?)));
            let origin = Origin::Passed { register: register as u8, start };
            Value { varies: value.varies, ..Value::pointer(Kind::Stack, origin, Some(0)) }
        }
        _ => value.rebased(Origin::Argument(register as i64)),
    }
}

impl Value {
    /// Converts an abstract value for use in another function. Pointers into the packet or a map
    /// element get the given origin and the offset 0.
    fn rebased(&self, origin: Origin) -> Self {
        match self.kind {
            Kind::Packet | Kind::Element => Value { origin, offset: Some(0), ..self.clone() },
            _ => self.clone(),
        }
    }

    /// Converts the result of a function for use in its caller. Also converts values that the
    /// function writes to the caller's stack frame.
    fn as_result(&self, origin: Origin) -> Self {
        match (self.kind, &self.origin) {
            (Kind::Stack, Origin::Passed { .. }) => self.clone(),
            (Kind::Stack, _) => Value::pointer(Kind::Stack, Origin::Caller, None),
            _ => self.rebased(origin),
        }
    }

    /// Returns an abstract value that covers two values from different calls or returns.
    fn merged(&self, other: &Self) -> Self {
        if self == other {
            return self.clone();
        }
        if (self.kind, other.kind) == (Kind::Stack, Kind::Stack) {
            return self.join_stack(other);
        }
        if self.kind == other.kind {
            if self.map != other.map {
                return Value::pointer(Kind::Global, Origin::Several, None);
            }
            let same = self.origin == other.origin;
            let origin = if same { self.origin.clone() } else { Origin::Several };
            let varies = self.varies || other.varies;
            let map = self.map.clone();
            return Value { varies, map, ..Value::pointer(self.kind, origin, None) };
        }
        self.or_null(other).unwrap_or_else(|| self.mixed(other, Origin::Several))
    }

    /// Returns an abstract value that covers two stack pointers from different calls.
    fn join_stack(&self, other: &Self) -> Self {
        let varies = self.varies || other.varies;
        let pointer =
            |origin, offset| Value { varies, ..Value::pointer(Kind::Stack, origin, offset) };
        let (
            &Origin::Passed { register, start: one },
            &Origin::Passed { register: same, start: two },
        ) = (&self.origin, &other.origin)
        else {
            let same = self.origin == other.origin;
            return pointer(if same { self.origin.clone() } else { Origin::Caller }, None);
        };
        if register != same {
            return pointer(Origin::Caller, None);
        }
        let anywhere = Origin::Passed { register, start: None };
        if self.offset != other.offset {
            return pointer(anywhere, None);
        }
        let (Some(one), Some(two)) = (one, two) else { return pointer(anywhere, self.offset) };
        let varies = varies || one.wrapping_sub(two).rem_euclid(WORD_BYTES) != 0;
        let origin = Origin::Passed { register, start: Some(one.min(two)) };
        Value { varies, ..pointer(origin, self.offset) }
    }
}

/// Returns the values in stack frames that the arguments of a call point to. Keys are stack
/// positions ([`Value::place`]) in the called function.
fn stack_arguments(state: &State) -> BTreeMap<i64, Value> {
    let mut found = BTreeMap::new();
    for register in 1..6 {
        let origin = Origin::Passed { register, start: Some(0) };
        let in_callee = Value::pointer(Kind::Stack, origin, Some(0)).place(0);
        let start = state.registers[usize::from(register)].place(0);
        let (Some(start), Some(in_callee)) = (start, in_callee) else { continue };
        for (place, value) in state.stack.range(start..start.saturating_add(FRAME)) {
            if value.kind != Kind::Stack {
                let at = in_callee + place - start;
                found.insert(at, value.rebased(Origin::Argument(at)));
            }
        }
    }
    found
}

/// Returns the values that a function has changed in the stack frames of its callers, by stack
/// position ([`Value::place`]); `None` for an unknown value.
fn written(state: &State, stack: &BTreeMap<i64, Value>) -> BTreeMap<i64, Option<Value>> {
    let places = state.stack.keys().chain(stack.keys());
    let changed = places
        .filter(|place| split_place(**place).0 != 0 && state.stack.get(place) != stack.get(place));
    let value = |place| Some(state.stack.get(place)?.as_result(Origin::Written(*place)));
    changed.map(|place| (*place, value(place))).collect()
}

/// Combines the values that two paths write to callers' stack frames. A value that only one of the
/// paths writes becomes unknown (`None`).
fn join_written(
    one: &BTreeMap<i64, Option<Value>>,
    other: &BTreeMap<i64, Option<Value>>,
) -> BTreeMap<i64, Option<Value>> {
    let places = one.keys().chain(other.keys());
    let both = |place| {
        let (one, other) = (one.get(place)?.as_ref()?, other.get(place)?.as_ref()?);
        Some(one.merged(other))
    };
    places.map(|place| (*place, both(place))).collect()
}

/// Returns values for all five argument registers. Registers without a value in `values` hold any
/// number.
pub(super) fn arguments(values: Vec<Value>) -> [Value; 5] {
    let mut all = [const { NUMBER }; 5];
    for (to, value) in all.iter_mut().zip(values) {
        *to = value;
    }
    all
}
