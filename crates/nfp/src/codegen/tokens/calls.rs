//! Abstract values of all functions of a program, through calls. Functions have the arguments that
//! their callers pass, with the values in frames that these point to. They leave a result, and
//! values in those frames.

use std::collections::BTreeMap;

use slowpath_bpf::insn::Insn;

use super::code::Code;
use super::transfer::{Entry, State, analyze};
use super::value::{Kind, NUMBER, Origin, Value, WORD_BYTES, passed};

/// Number of rounds, each of which follows values through one more call. The kernel allows eight
/// frames.
const ROUNDS: u32 = 32;
/// Size limit of a frame in bytes.
const FRAME: i64 = 512;

/// Values that functions are called with and leave, by function.
#[derive(Default, PartialEq)]
struct Passed {
    arguments: BTreeMap<String, [Value; 5]>,
    stacks: BTreeMap<String, BTreeMap<i64, Value>>,
    results: BTreeMap<String, Value>,
    left: BTreeMap<String, BTreeMap<i64, Option<Value>>>,
}

/// Returns the abstract values before each instruction. `results` has those of functions that are
/// not part of the program.
pub(super) fn analyze_all(
    code: &Code<'_>,
    arguments: &[Value; 5],
    results: &BTreeMap<String, Value>,
) -> Vec<Option<State>> {
    let entry = &code.program.name;
    let start = || Passed {
        arguments: BTreeMap::from([(entry.clone(), arguments.clone())]),
        stacks: BTreeMap::from([(entry.clone(), BTreeMap::new())]),
        results: results.clone(),
        left: BTreeMap::new(),
    };
    let mut passed = start();
    let mut states = vec![None; code.program.insns.len()];
    for _ in 0..ROUNDS {
        let mut found = start();
        for (name, first, end) in code.functions() {
            let Some(arguments) = passed.arguments.get(name) else {
                states[first..end].fill(None);
                continue;
            };
            let stack = &passed.stacks[name];
            let (results, left) = (&passed.results, &passed.left);
            let entry = Entry { arguments, stack, results, left };
            states.splice(first..end, analyze(code, (first, end), &entry));
            for (slot, state) in (first..end).zip(&states[first..end]) {
                if let Some(state) = state {
                    found.add(code, name, slot, state, stack);
                }
            }
        }
        if found == passed {
            break;
        }
        passed = found;
    }
    states
}

impl Passed {
    /// Adds the values that an instruction passes to another function, or leaves at an exit.
    fn add(
        &mut self,
        code: &Code<'_>,
        name: &str,
        slot: usize,
        state: &State,
        stack: &BTreeMap<i64, Value>,
    ) {
        if let Some(callee) = code.own_callee(slot) {
            let given: [Value; 5] = std::array::from_fn(|at| argument(state, at + 1));
            let handed = handed(state);
            let (arguments, stack) = match (self.arguments.get(callee), self.stacks.get(callee)) {
                (Some(old), Some(stack)) => {
                    let arguments = std::array::from_fn(|at| old[at].merged(&given[at]));
                    let both = stack
                        .iter()
                        .filter_map(|(&place, old)| Some((place, old.merged(handed.get(&place)?))));
                    (arguments, both.collect())
                }
                _ => (given, handed),
            };
            self.arguments.insert(callee.to_owned(), arguments);
            self.stacks.insert(callee.to_owned(), stack);
        } else if code.program.insns[slot] == Insn::Exit {
            let result = state.registers[0].left(Origin::Argument(0));
            let result = match self.results.get(name) {
                Some(old) => old.merged(&result),
                None => result,
            };
            self.results.insert(name.to_owned(), result);
            let left = left(state, stack);
            let left = match self.left.get(name) {
                Some(old) => either(old, &left),
                None => left,
            };
            self.left.insert(name.to_owned(), left);
        }
    }
}

/// Returns the value of an argument in the called function.
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
        _ => value.elsewhere(Origin::Argument(register as i64)),
    }
}

impl Value {
    /// Returns the value in another function, where pointers have this origin.
    fn elsewhere(&self, origin: Origin) -> Self {
        match self.kind {
            Kind::Packet | Kind::Element => Value { origin, offset: Some(0), ..self.clone() },
            _ => self.clone(),
        }
    }

    /// Returns a value that a function leaves, in its caller.
    fn left(&self, origin: Origin) -> Self {
        match (self.kind, &self.origin) {
            (Kind::Stack, Origin::Passed { .. }) => self.clone(),
            (Kind::Stack, _) => Value::pointer(Kind::Stack, Origin::Caller, None),
            _ => self.elsewhere(origin),
        }
    }

    /// Returns the join of values from different calls or exits.
    fn merged(&self, other: &Self) -> Self {
        if self == other {
            return self.clone();
        }
        if (self.kind, other.kind) == (Kind::Stack, Kind::Stack) {
            return self.in_frames(other);
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

    /// Returns a pointer into one of two frames of callers, or to one of two places in them.
    fn in_frames(&self, other: &Self) -> Self {
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

/// Returns the values behind the arguments of a call, by place in the called function.
fn handed(state: &State) -> BTreeMap<i64, Value> {
    let mut found = BTreeMap::new();
    for register in 1..6 {
        let behind = Origin::Passed { register, start: Some(0) };
        let behind = Value::pointer(Kind::Stack, behind, Some(0)).place(0);
        let start = state.registers[usize::from(register)].place(0);
        let (Some(start), Some(behind)) = (start, behind) else { continue };
        for (place, value) in state.stack.range(start..start.saturating_add(FRAME)) {
            if value.kind != Kind::Stack {
                let at = behind + place - start;
                found.insert(at, value.elsewhere(Origin::Argument(at)));
            }
        }
    }
    found
}

/// Returns the values that a function has changed behind its arguments, by place.
fn left(state: &State, stack: &BTreeMap<i64, Value>) -> BTreeMap<i64, Option<Value>> {
    let places = state.stack.keys().chain(stack.keys());
    let changed =
        places.filter(|place| passed(**place).0 != 0 && state.stack.get(place) != stack.get(place));
    let value = |place| Some(state.stack.get(place)?.left(Origin::Left(*place)));
    changed.map(|place| (*place, value(place))).collect()
}

/// Returns the values that are left on either path. A value that only one leaves is unknown.
fn either(
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

/// Returns arguments for a function: the first ones as given, and any number for the others.
pub(super) fn arguments(given: Vec<Value>) -> [Value; 5] {
    let mut all = [const { NUMBER }; 5];
    for (to, value) in all.iter_mut().zip(given) {
        *to = value;
    }
    all
}
