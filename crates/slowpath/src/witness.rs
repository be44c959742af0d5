//! Witnesses: the packet and map content behind a satisfiable path, replayed before it is shown.

use crate::Error;
use crate::result::WitnessResult;
use serde_json::{Map, Value, json};
use slowpath_exec::Machine;
use slowpath_exec::concrete::{self, Environment, Taken};
use slowpath_ir::{InputId, InputKind, RegionId, RegionKind};
use slowpath_search::{FoundPath, Unrolled};
use slowpath_smt::{Model, Node, TermId};
use slowpath_target::CostModel;
use std::collections::{BTreeMap, BTreeSet, HashSet};

/// The byte that stands for "any" in a replay.
const FILL: u8 = 0xa5;

/// A packet and environment, and which parts of it the path depends on.
pub(crate) struct Witness {
    length: u32,
    /// Bytes that the path depends on, by region and offset.
    bytes: BTreeMap<(RegionId, u64), u8>,
    environment: Environment,
    /// What else the path depends on, one sentence each.
    pub notes: Vec<String>,
}

impl Witness {
    /// Reads the witness off the model of a path's conditions.
    pub fn new(machine: &Machine, found: &FoundPath) -> Self {
        let support = Support::of(machine, &found.conditions, &found.model);
        let mut notes = Vec::new();
        let program = machine.program();
        let mut environment = Environment::with_fill(program, FILL);
        for (index, input) in program.inputs.iter().enumerate() {
            let id = InputId::from(index);
            let Node::Var(var) = *machine.pool.node(machine.inputs()[index]) else { continue };
            if input.kind == InputKind::PacketLength {
                environment.inputs.insert(id, u64::from(found.length));
            } else if support.inputs.contains(&id) {
                let value = found.model.var(var).unwrap_or(input.min);
                environment.inputs.insert(id, value);
                notes.push(format!(
                    "the path needs {} = {value:#x} at the start, which no packet determines",
                    input.name
                ));
            }
        }
        for (&(region, offset), &byte) in &support.bytes {
            environment.memory.insert((region, offset), byte);
            let info = &program.regions[region.index()];
            let beyond = info.kind == RegionKind::Packet && offset >= u64::from(found.length);
            let private = matches!(info.kind, RegionKind::Stack | RegionKind::Context);
            if beyond {
                notes.push(format!(
                    "the path depends on byte {offset} of the packet buffer, behind the packet's \
                     end, which is taken to hold any value"
                ));
            } else if private {
                notes.push(format!(
                    "the path depends on byte {offset} of the {}, which is taken to hold any \
                     value at the start",
                    info.name
                ));
            }
        }
        Witness { length: found.length, bytes: support.bytes, environment, notes }
    }

    /// Runs the witness through the concrete interpreter: it must take exactly the path, at
    /// exactly the cost that the search found.
    pub fn replay(
        &self,
        unrolled: &Unrolled,
        model: &CostModel,
        found: &FoundPath,
    ) -> Result<(), Error> {
        let program = unrolled.machine.program();
        let run = concrete::run(program, &self.environment, found.path.len() + 1)?;
        let expected = found.path.iter().map(|&arc| {
            let arc = &unrolled.dag.arcs[arc as usize];
            Taken { block: unrolled.dag.nodes[arc.tail as usize].block, edge: arc.edge }
        });
        if let Some(step) = run.path.iter().copied().zip(expected).position(|(a, b)| a != b) {
            let at = program.block(run.path[step].block).first.0;
            return Err(Error::Replay(format!("it leaves the path at .{at} (step {step})")));
        }
        if run.path.len() != found.path.len() {
            return Err(Error::Replay("it takes a path of another length".into()));
        }
        let mut cost = model.overhead();
        let mut context = model.start();
        for event in &run.costs {
            context = model.step(context, event.class.0, &mut cost);
        }
        if cost != found.cost {
            return Err(Error::Replay("it has another cost than the search found".into()));
        }
        Ok(())
    }

    /// The witness for reports.
    pub fn result(&self, machine: &Machine) -> WitnessResult {
        let regions = &machine.program().regions;
        let byte_at = |region, offset| self.bytes.get(&(RegionId::from(region), offset));
        let packet = regions.iter().position(|region| region.kind == RegionKind::Packet);
        let hex = (0..u64::from(self.length)).map(|offset| {
            let byte = packet.and_then(|region| byte_at(region, offset));
            byte.map_or_else(|| "--".to_owned(), |byte| format!("{byte:02x}"))
        });
        let mut maps = Map::new();
        for (index, region) in regions.iter().enumerate() {
            if region.kind == RegionKind::Map {
                let stretches = self.stretches(RegionId::from(index));
                if !stretches.is_empty() {
                    maps.insert(region.name.clone(), Value::Array(stretches));
                }
            }
        }
        WitnessResult { packet: hex.collect(), length: self.length, maps }
    }

    /// The bytes of a region, adjacent ones together.
    fn stretches(&self, region: RegionId) -> Vec<Value> {
        let mut stretches: Vec<(u64, String, u64)> = Vec::new();
        for (&(_, offset), byte) in self.bytes.iter().filter(|((r, _), _)| *r == region) {
            match stretches.last_mut() {
                Some((_, hex, end)) if *end == offset => {
                    hex.push_str(&format!("{byte:02x}"));
                    *end += 1;
                }
                _ => stretches.push((offset, format!("{byte:02x}"), offset + 1)),
            }
        }
        let entry = |(offset, bytes, _)| json!({ "offset": offset, "bytes": bytes });
        stretches.into_iter().map(entry).collect()
    }
}

/// What a set of conditions depends on.
struct Support {
    bytes: BTreeMap<(RegionId, u64), u8>,
    inputs: BTreeSet<InputId>,
}

impl Support {
    fn of(machine: &Machine, conditions: &[TermId], model: &Model) -> Self {
        let pool = &machine.pool;
        let mut support = Support { bytes: BTreeMap::new(), inputs: BTreeSet::new() };
        let mut seen = HashSet::new();
        let mut work = conditions.to_vec();
        while let Some(term) = work.pop() {
            if !seen.insert(term) {
                continue;
            }
            match *pool.node(term) {
                Node::Select { array, index } => {
                    let offset = pool.eval(index, model);
                    let regions = (0..machine.program().regions.len()).map(RegionId::from);
                    for region in regions.filter(|&region| machine.array(region) == array) {
                        let byte = pool.eval(term, model) as u8;
                        support.bytes.insert((region, offset), byte);
                    }
                }
                Node::Var(_) => {
                    let input = machine.inputs().iter().position(|&input| input == term);
                    support.inputs.extend(input.map(InputId::from));
                }
                _ => {}
            }
            work.extend(pool.children(term));
        }
        support
    }
}
