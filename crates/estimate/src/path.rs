//! A path in the form that the simulation needs: the dependencies and the execution unit of each
//! instruction.

use crate::calls::{self, Call, Cases};
use crate::code::{Code, LINE, Room};
use crate::effect::{self, Effect, Work};
use crate::stores::{Forwarded, Stores};
use crate::values::{Base, Value, Values};
use slowpath_bpf::insn::{Call as Called, Insn};
use slowpath_target::Unit;
use std::collections::{HashMap, HashSet};

/// An executed instruction of a path, with the data that the simulation needs: registers, execution
/// unit, earlier stores, and calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Step {
    pub effect: Effect,
    /// True if execution continues elsewhere than at the following instruction of the program.
    pub jumps: bool,
    /// Earlier stores that wrote the bytes that the instruction loads. Calls that read a key count
    /// as loads.
    pub forwarded: Option<Forwarded>,
    /// Index of the call in [`Path::calls`], if the instruction calls the kernel.
    pub call: Option<u32>,
    /// Element of a map that the instruction accesses, if it is the first access to this cache line
    /// of the element.
    pub element: Option<Element>,
}

/// An element of a map whose first access misses the caches if the map is large.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Element {
    /// The element of an array that the call with this index found. The kernel's look-up in an array
    /// only computes an address.
    Found(u32),
    /// An access at a computed offset inside an element. The number is the index of the map in
    /// [`Path::tables`].
    Inside(u32),
}

/// The instructions of one run of a program, in order.
#[derive(Clone, Debug)]
pub struct Path {
    pub(crate) steps: Vec<Step>,
    calls: Vec<Call>,
    /// Maps whose elements the path accesses at computed offsets, like tables.
    pub(crate) tables: Vec<Room>,
}

impl Path {
    /// Creates the path of a run. `executed` lists the executed instructions in order, each with
    /// its number in `code` and its cost class. Instructions whose numbers `code` does not contain
    /// are treated as additions.
    pub fn new<'c>(code: &Code, executed: impl IntoIterator<Item = (u32, &'c str)>) -> Path {
        let (path, classes): (Vec<u32>, Vec<&str>) = executed.into_iter().unzip();
        let (mut steps, mut calls) = (Vec::with_capacity(path.len()), Vec::new());
        let (mut values, mut stores) = (Values::new(), Stores::default());
        let mut cases = Cases::default();
        let mut elements: HashMap<Base, u32> = HashMap::new();
        let mut tables: Vec<Room> = Vec::new();
        let mut lines = HashSet::new();
        let unknown = Insn::Exit;
        for (at, &number) in path.iter().enumerate() {
            let insn = code.insns.get(number as usize).unwrap_or(&unknown);
            let effect = effect::of(insn);
            let call = (effect.work == Work::Kernel).then(|| {
                calls.push(cases.call(code, &values, &path, at, classes[at]));
                calls.len() as u32 - 1
            });
            let behind = number + insn.slots().max(1) as u32;
            let jumps = path.get(at + 1).is_some_and(|&next| next != behind);
            let place = values.place(insn);
            let mut forwarded = None;
            match (effect.work, place) {
                (Work::On(Unit::Load), Some(place)) => forwarded = stores.load(place),
                (Work::On(Unit::Store), Some(place)) => stores.store(at as u32, place),
                (Work::Kernel, _) => {
                    if let &Insn::Call(Called::Helper(helper)) = insn
                        && let Some(call) = calls.last()
                    {
                        forwarded = stores.loads(&calls::key(code, &values, helper, call));
                    }
                }
                _ => {}
            }
            let accessed = values.accessed(insn).and_then(|access| {
                let element = match elements.get(&access.base) {
                    Some(&call) => Element::Found(call),
                    None => {
                        let room = *code.rooms.get(values.inside(access.base)? as usize)?;
                        let known = tables.iter().position(|table| *table == room);
                        let index = known.unwrap_or(tables.len());
                        if known.is_none() {
                            tables.push(room);
                        }
                        Element::Inside(index as u32)
                    }
                };
                lines
                    .insert((access.base, access.offset.div_euclid(LINE.into())))
                    .then_some(element)
            });
            steps.push(Step { effect, jumps, forwarded, call, element: accessed });
            values.step(insn, place);
            if let Some(number) = call
                && let found = &calls[number as usize]
                && let Value::Address(base, _) = values.register(0)
            {
                if found.is_address_only() {
                    elements.insert(base, number);
                }
                if let Some(room) = found.room
                    && found.is_in_array()
                {
                    values.found(room.map);
                }
            }
        }
        Path { steps, calls, tables }
    }

    /// Creates a path from its instructions, calls and tables, whose indices must refer to each
    /// other correctly.
    pub(crate) fn from_parts(steps: Vec<Step>, calls: Vec<Call>, tables: Vec<Room>) -> Path {
        Path { steps, calls, tables }
    }

    /// Returns the kernel calls of the path, in order.
    pub fn calls(&self) -> &[Call] {
        &self.calls
    }

    /// Returns the number of instructions of the path.
    pub fn len(&self) -> usize {
        self.steps.len()
    }

    /// Returns true if the path has no instructions.
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }
}

#[cfg(test)]
mod tests;
