//! Stores paths as JSON, so that their times can be estimated again on other machines.

use crate::calls::Call;
use crate::code::Room;
use crate::effect::{Effect, Work};
use crate::path::{Element, Path, Step};
use crate::stores::Forwarded;
use serde::{Deserialize, Serialize};
use slowpath_target::Unit;

/// Number of BPF registers.
const REGISTERS: u8 = 11;

/// The stored form of an instruction. Its elements are:
///
/// - the kind of work;
/// - the registers that the instruction reads;
/// - the register that it writes;
/// - true if it jumps;
/// - the last store that it depends on, with true if it depends on several stores;
/// - the index of its call.
type StoredStep = (String, Vec<u8>, Option<u8>, bool, Option<(u32, bool)>, Option<u32>);

/// The stored form of a path: its instructions, and for each call the name, the amount of work, and
/// whether it returns 0. `rooms` has the map of each call, with number and size of its elements.
/// `reads` has the instructions that first access a cache line of an array's element, each with the
/// call that found the element. Older files lack both.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct StoredPath {
    steps: Vec<StoredStep>,
    calls: Vec<(String, u32, Option<bool>)>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    rooms: Vec<Option<(u32, u32, u32)>>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    reads: Vec<(u32, u32)>,
    /// Instructions that access a map element at a computed offset, as pairs: index of the
    /// instruction in the path, and index of the map in `tables`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    inside: Vec<(u32, u32)>,
    /// Maps that `inside` refers to: index of the map, number of elements, and size of an element
    /// in bytes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    tables: Vec<(u32, u32, u32)>,
}

impl Path {
    /// Returns the path as JSON.
    pub fn to_json(&self) -> String {
        let step = |step: &Step| {
            let Effect { work, reads, writes } = step.effect;
            let forwarded = step.forwarded.map(|f| (f.store, f.pieces));
            let reads = reads.into_iter().flatten().collect();
            (name(work).to_owned(), reads, writes, step.jumps, forwarded, step.call)
        };
        let call = |call: &Call| (call.name.clone(), call.bytes, call.zero);
        let numbers = |room: Room| (room.map, room.entries, room.element_bytes);
        let room = |call: &Call| call.room.map(numbers);
        let elements = |index: fn(Element) -> Option<u32>| {
            let steps = (0..).zip(&self.steps);
            steps.filter_map(|(at, step)| Some((at, index(step.element?)?))).collect()
        };
        let stored = StoredPath {
            steps: self.steps.iter().map(step).collect(),
            calls: self.calls().iter().map(call).collect(),
            rooms: self.calls().iter().map(room).collect(),
            reads: elements(|element| match element {
                Element::Found(call) => Some(call),
                Element::Inside(_) => None,
            }),
            inside: elements(|element| match element {
                Element::Found(_) => None,
                Element::Inside(table) => Some(table),
            }),
            tables: self.tables.iter().copied().map(numbers).collect(),
        };
        serde_json::to_string(&stored).unwrap_or_default()
    }

    /// Reads a path from the JSON that [`to_json`](Self::to_json) has written.
    ///
    /// # Errors
    /// A sentence that describes the problem.
    pub fn from_json(text: &str) -> Result<Path, String> {
        let stored: StoredPath = serde_json::from_str(text).map_err(|error| error.to_string())?;
        let rooms = stored.rooms.into_iter().chain(std::iter::repeat(None));
        let room = |(map, entries, element_bytes)| Room { map, entries, element_bytes };
        let calls: Vec<Call> = stored
            .calls
            .into_iter()
            .zip(rooms)
            .map(|((name, bytes, zero), at)| Call { name, bytes, zero, room: at.map(room) })
            .collect();
        let count = calls.len();
        let steps = stored.steps.into_iter().enumerate();
        let steps = steps.map(|(at, step)| {
            read(at, step, count).ok_or_else(|| format!("instruction {at} of the path is none"))
        });
        let mut steps: Vec<Step> = steps.collect::<Result<_, _>>()?;
        for (at, call) in stored.reads {
            match steps.get_mut(at as usize) {
                Some(step) if (call as usize) < count => step.element = Some(Element::Found(call)),
                _ => return Err(format!("instruction {at} of the path reads no element")),
            }
        }
        for (at, table) in stored.inside {
            match steps.get_mut(at as usize) {
                Some(step) if (table as usize) < stored.tables.len() => {
                    step.element = Some(Element::Inside(table));
                }
                _ => return Err(format!("instruction {at} of the path accesses no table")),
            }
        }
        let tables = stored.tables.into_iter().map(room).collect();
        Ok(Path::from_parts(steps, calls, tables))
    }
}

fn read(at: usize, stored: StoredStep, calls: usize) -> Option<Step> {
    let (work, read, writes, jumps, forwarded, call) = stored;
    let work = work_of(&work)?;
    let known = |register: &u8| *register < REGISTERS;
    if read.len() > 3 || !read.iter().chain(&writes).all(known) {
        return None;
    }
    let mut reads = [None; 3];
    for (slot, register) in reads.iter_mut().zip(read) {
        *slot = Some(register);
    }
    let forwarded = match forwarded {
        Some((store, pieces)) if (store as usize) < at => Some(Forwarded { store, pieces }),
        Some(_) => return None,
        None => None,
    };
    let fits = call.is_none_or(|call| (call as usize) < calls);
    let is_call = call.is_some() == (work == Work::Kernel);
    let effect = Effect { work, reads, writes };
    (fits && is_call).then_some(Step { effect, jumps, forwarded, call, element: None })
}

fn name(work: Work) -> &'static str {
    match work {
        Work::Renamed => "renamed",
        Work::Constant => "constant",
        Work::Function => "function",
        Work::Kernel => "call",
        Work::On(unit) => unit.name(),
    }
}

fn work_of(text: &str) -> Option<Work> {
    let units = Unit::ALL.map(Work::On);
    let others = [Work::Renamed, Work::Constant, Work::Function, Work::Kernel];
    units.into_iter().chain(others).find(|&work| name(work) == text)
}

#[cfg(test)]
mod tests;
