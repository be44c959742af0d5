//! A path in the form that the simulation needs: the dependencies and the execution unit of each
//! instruction.

use crate::calls::{self, Call, Cases};
use crate::code::Code;
use crate::effect::{self, Effect, Work};
use crate::stores::{Forwarded, Stores};
use crate::values::{Base, Value, Values};
use slowpath_bpf::insn::{Call as Called, Insn};
use slowpath_target::Unit;
use std::collections::{HashMap, HashSet};

/// An executed instruction of a path, with what the simulation needs to know of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Step {
    pub effect: Effect,
    /// True if the next instruction of the path is not the next one in the program.
    pub jumps: bool,
    /// Earlier stores that wrote the bytes that the instruction loads. Calls that read a key count
    /// as loads.
    pub forwarded: Option<Forwarded>,
    /// Index of the call in [`Path::calls`], if the instruction calls the kernel.
    pub call: Option<u32>,
    /// Index of the call that found the array element that the instruction accesses, if it is the
    /// first access to this cache line of the element. The kernel's look-up in an array computes an
    /// address, so this access is the one that misses the caches.
    pub element: Option<u32>,
}

/// Size of a cache line in bytes.
const LINE: i64 = 64;

/// The instructions of one run of a program, in order.
#[derive(Clone, Debug)]
pub struct Path {
    pub(crate) steps: Vec<Step>,
    calls: Vec<Call>,
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
                let found = *elements.get(&access.base)?;
                lines.insert((access.base, access.offset.div_euclid(LINE))).then_some(found)
            });
            steps.push(Step { effect, jumps, forwarded, call, element: accessed });
            values.step(insn, place);
            if let Some(number) = call
                && calls[number as usize].is_address_only()
                && let Value::Address(base, _) = values.register(0)
            {
                elements.insert(base, number);
            }
        }
        Path { steps, calls }
    }

    /// Creates a path from its instructions and calls, which must refer to each other correctly.
    pub(crate) fn from_parts(steps: Vec<Step>, calls: Vec<Call>) -> Path {
        Path { steps, calls }
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
