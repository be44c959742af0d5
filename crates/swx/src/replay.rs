//! Repeats a run of a lifted pipeline in the interpreter, with the same packet, memory and drawn
//! values.

use std::collections::{BTreeMap, HashMap};

use slowpath_ir::{BlockId, InputId, Op as MicroOp, Program, RegionId};

use crate::interpret::{
    Found, Machine, Request, RunError, Source, World, data_size, default_action, default_data,
};
use crate::lift::{COLOUR, ENTRY, HASH, Layout, MEMBER, OUTCOME};
use crate::spec::Spec;

/// State of a lifted pipeline before a run.
#[derive(Clone, Debug, Default)]
pub struct Start {
    /// Known bytes of memory, by region and offset.
    pub bytes: BTreeMap<(RegionId, u64), u8>,
    /// Value of all other bytes. `None` if they are those of a new pipeline.
    pub fill: Option<u8>,
    /// Known inputs. All others have the value of a new pipeline.
    pub inputs: HashMap<InputId, u64>,
    /// True for the first packet that a pipeline processes, false for any later packet.
    pub is_new: bool,
}

impl Start {
    /// Sets `bytes` to the content of a region from `offset` on.
    fn set(&self, bytes: &mut [u8], region: RegionId, offset: u64) {
        for (at, byte) in (offset..).zip(bytes) {
            *byte = self.bytes.get(&(region, at)).copied().or(self.fill).unwrap_or(*byte);
        }
    }
}

/// Creates an interpreter with the state `start`, for a packet of `length` bytes.
///
/// # Errors
/// Returns an error if a struct is not declared or too large.
pub fn machine<'a>(
    spec: &'a Spec,
    layout: &Layout,
    length: usize,
    start: &Start,
) -> Result<Machine<'a>, RunError> {
    let mut machine = Machine::new(spec, vec![0; length])?;
    if !start.is_new {
        machine.follow_packet();
    }
    start.set(&mut machine.packet, layout.packet, 0);
    start.set(&mut machine.meta, layout.metadata, 0);
    for (header, &room) in spec.headers.iter().zip(&layout.rooms) {
        if let Some(header) = machine.headers.get_mut(header.name.as_str()) {
            start.set(&mut header.own, layout.headers, room);
            start.set(&mut header.earlier, layout.earlier, room);
        }
    }
    for (array, &region) in spec.register_arrays.iter().zip(&layout.arrays) {
        let Some(registers) = machine.registers.get_mut(array.name.as_str()) else { continue };
        if let Some(fill) = start.fill {
            registers.initial = u64::from_le_bytes([fill; 8]);
        }
        let end = 8 * u64::from(array.size).next_power_of_two();
        let known = start.bytes.range((region, 0)..(region, end));
        for (&(_, offset), &byte) in known {
            let mut value = registers.get(offset / 8).to_le_bytes();
            value[offset as usize % 8] = byte;
            registers.set(offset / 8, u64::from_le_bytes(value));
        }
    }
    let input = |id| start.inputs.get(&id).copied();
    machine.port = input(layout.port).unwrap_or(machine.port);
    machine.hit = input(layout.hit).map_or(machine.hit, |hit| hit != 0);
    machine.entry = input(layout.entry).unwrap_or(machine.entry);
    if let Some(number) = input(layout.action) {
        let named = usize::try_from(number).ok().and_then(|number| spec.actions.get(number));
        machine.action = named.map_or_else(String::new, |action| action.name.clone());
    }
    Ok(machine)
}

/// Environment for the interpreter that returns the values which a run of the lifted pipeline has
/// drawn, such as results of lookups.
#[derive(Clone)]
pub struct Results<'a> {
    spec: &'a Spec,
    layout: &'a Layout,
    start: &'a Start,
    /// Drawn values, by index of the executed instruction and name of the result.
    values: HashMap<(usize, String), u64>,
}

impl<'a> Results<'a> {
    /// Collects the drawn values of a run through `blocks`. `values` contains them in order.
    pub fn new(
        spec: &'a Spec,
        layout: &'a Layout,
        start: &'a Start,
        (program, blocks): (&Program, impl Iterator<Item = BlockId>),
        values: impl IntoIterator<Item = u64>,
    ) -> Results<'a> {
        let drawn = draws(program, blocks);
        let values = drawn.into_iter().zip(values).collect();
        Results { spec, layout, start, values }
    }

    fn value(&self, step: usize, result: &str) -> Option<u64> {
        self.values.get(&(step, result.to_owned())).copied()
    }

    fn found(&self, request: &Request<'_>) -> Option<Found> {
        let lookup = self.layout.lookups.iter().find(|lookup| lookup.name == request.table)?;
        let number = self.value(request.step, OUTCOME).unwrap_or(0);
        let outcome = lookup.outcomes.get(usize::try_from(number).ok()?)?;
        let action = &self.spec.actions.get(outcome.action)?.name;
        let default = default_action(self.spec, request.table)?;
        let stated = !outcome.hit && default.name == *action;
        let data = default_data(self.spec, default).ok().filter(|_| stated);
        let mut data = data.unwrap_or_else(|| vec![0; data_size(self.spec, action).unwrap_or(0)]);
        let region = self.layout.action_data.get(&(request.pass, request.at));
        if let (None, Some(&region)) = (&outcome.data, region) {
            self.start.set(&mut data, region, 0);
        }
        let entry = self.value(request.step, ENTRY).unwrap_or(1);
        let entry = if outcome.hit { entry } else { 0 };
        Some(Found { hit: outcome.hit, action: action.clone(), data, entry })
    }
}

impl World for Results<'_> {
    fn lookup(&mut self, request: &Request<'_>) -> Found {
        let none = || Found { hit: false, action: String::new(), data: Vec::new(), entry: 0 };
        self.found(request).unwrap_or_else(none)
    }

    fn value(&mut self, source: Source<'_>, step: usize) -> u64 {
        let result = match source {
            Source::Hash(_) => HASH,
            Source::Meter => COLOUR,
            Source::Selector(_) => MEMBER,
        };
        Results::value(self, step, result).unwrap_or(0)
    }
}

/// Returns the drawn values of a path, in order, each with the index of the executed instruction
/// and the name of the result.
fn draws(program: &Program, blocks: impl Iterator<Item = BlockId>) -> Vec<(usize, String)> {
    let mut draws = Vec::new();
    let mut executed = 0_usize;
    for block in blocks {
        let block = program.block(block);
        for origin in &block.ops {
            let MicroOp::Unknown { draw, .. } = origin.op else { continue };
            let position = block.insns.iter().position(|&insn| insn == origin.insn);
            // The outcome of a lookup continues the instruction before the block.
            let before = executed.saturating_sub(1);
            let step = position.map_or(before, |position| executed + position);
            draws.push((step, program.draws[draw.index()].result.clone()));
        }
        executed += block.insns.len();
    }
    draws
}

/// Returns the indices in the lifted program of the instructions that the interpreter executed.
pub fn executed(spec: &Spec, layout: &Layout, machine: &Machine<'_>) -> Vec<u32> {
    let number = |&(action, at): &(Option<&str>, usize)| {
        let function = action.and_then(|name| spec.actions.iter().position(|a| a.name == name));
        let first = layout.firsts[function.unwrap_or(spec.actions.len())];
        first + at as u32
    };
    machine.executed().iter().map(number).collect()
}
