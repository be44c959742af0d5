//! Creates witnesses: the packet and map content that make a program take a path. Each witness is
//! replayed before it is shown.

mod draws;
mod maps;
mod pipeline;
mod requirements;
mod support;
pub(crate) mod test_run;

use crate::Error;
use crate::frontend::Pipeline;
use crate::result::{PipelineWitness, Requirement, Unknown, WitnessResult};
use draws::Drawn;
use pipeline::PipelinePath;
use slowpath_bpf::lift::Layout;
use slowpath_exec::Executor;
use slowpath_exec::concrete::{self, ByteMap, Environment, Taken};
use slowpath_ir::{BlockId, InputId, InputKind, RegionId, RegionKind};
use slowpath_search::{FoundPath, Unrolled};
use slowpath_smt::{Model, Node, TermId, TermPool};
use slowpath_swx::replay::Start;
use slowpath_target::CostModel;
use std::collections::{BTreeMap, HashMap};
use support::{FILL, Support};

/// A packet and an environment in which it takes a path, with the values that the path depends on.
pub(crate) struct Witness {
    length: u32,
    /// Bytes of memory before the run that the path depends on, by region and offset.
    bytes: BTreeMap<(RegionId, u64), u8>,
    environment: Environment,
    /// Values that the run receives from outside the program, such as random numbers, if the path
    /// depends on them.
    unknowns: Vec<Unknown>,
    /// Requirements on the state before the first instruction, besides packet and maps.
    requirements: Vec<Requirement>,
    /// Numbers by which the replay represents pairs of words (interned pairs), by pair.
    interned: HashMap<(u64, u64), u32>,
    /// Inputs of the program that the path depends on, with their values.
    inputs: BTreeMap<InputId, u64>,
    /// Bytes that the program has written to memory in the replay.
    written: ByteMap,
}

impl Witness {
    /// Builds the witness from the solver's model of a path's conditions.
    pub fn new(unrolled: &Unrolled, found: &FoundPath) -> Self {
        let executor = &unrolled.executor;
        let support = Support::of(executor, &found.conditions, &found.model);
        let program = executor.program();
        let mut environment = Environment::with_fill(program, FILL);
        for (index, input) in program.inputs.iter().enumerate() {
            let id = InputId::from(index);
            let Node::Var(var) = *executor.pool.node(executor.inputs()[index]) else { continue };
            if input.kind == InputKind::PacketLength {
                environment.inputs.insert(id, u64::from(found.length));
            } else if support.inputs.contains(&id) {
                let value = found.model.var(var).unwrap_or(input.min);
                environment.inputs.insert(id, value);
            }
        }
        environment.interned = support.interned.clone();
        let drawn = draws::of(unrolled, found);
        let values = drawn.iter().map(|drawn| value(&executor.pool, &found.model, drawn.term));
        environment.unknowns.extend(values);
        let unknowns = draws::unknowns(program, &drawn, &environment, &support);
        let clocks = drawn.iter().filter_map(Drawn::clock).collect();
        let mut requirements =
            requirements::values(program, &support.inputs, &clocks, &environment);
        requirements.extend(requirements::memory(program, &support.bytes, found.length));
        environment.memory.extend(support.bytes.iter().map(|(&place, &byte)| (place, byte)));
        let values = &environment.inputs;
        let inputs = support.inputs.iter().filter_map(|id| Some((*id, *values.get(id)?))).collect();
        Witness {
            length: found.length,
            bytes: support.bytes,
            environment,
            unknowns,
            requirements,
            interned: HashMap::new(),
            inputs,
            written: ByteMap::default(),
        }
    }

    /// Runs the program on the witness in the concrete interpreter.
    ///
    /// # Errors
    /// If the run does not have exactly the path and the cost that the search found.
    pub fn replay(
        &mut self,
        unrolled: &Unrolled,
        model: &CostModel,
        found: &FoundPath,
    ) -> Result<(), Error> {
        let program = unrolled.executor.program();
        let run = concrete::run(program, &self.environment, found.path.len() + 1)?;
        let expected = found.path.iter().map(|&arc| {
            let arc = &unrolled.dag[arc];
            Taken { block: unrolled.dag[arc.tail].block, edge: arc.edge }
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
        self.interned = run.interned;
        self.written = run.written;
        Ok(())
    }

    /// Runs a pipeline on the witness in the interpreter of pipelines, and describes the run.
    ///
    /// # Errors
    /// If the run does not have exactly the path that the search found.
    pub fn pipeline(
        &self,
        unrolled: &Unrolled,
        found: &FoundPath,
        pipeline: &Pipeline,
    ) -> Result<PipelineWitness, Error> {
        let blocks = found.path.iter().map(|&arc| unrolled.dag[unrolled.dag[arc].tail].block);
        let blocks: Vec<BlockId> = blocks.collect();
        let path = PipelinePath {
            pipeline,
            program: unrolled.executor.program(),
            blocks: &blocks,
            unknowns: &self.environment.unknowns,
            length: self.length,
        };
        let inputs = self.inputs.iter().map(|(&id, &value)| (id, value)).collect();
        path.witness(Start { bytes: self.bytes.clone(), fill: None, inputs, is_new: false })
    }

    /// Returns the address that a memory region has in the replay; 0 if it has none.
    fn base(&self, executor: &Executor, region: RegionId) -> u64 {
        let kind = InputKind::BaseAddress(region);
        let input = executor.program().inputs.iter().position(|input| input.kind == kind);
        let value = input.and_then(|input| self.environment.inputs.get(&InputId::from(input)));
        value.copied().unwrap_or_default()
    }

    /// Converts the witness to the type that results contain.
    pub fn result(&self, executor: &Executor, layout: Option<&Layout>) -> WitnessResult {
        let regions = &executor.program().regions;
        let byte_at = |region, offset| self.bytes.get(&(RegionId::from(region), offset));
        let packet = regions.iter().position(|region| region.kind == RegionKind::Packet);
        let hex = (0..u64::from(self.length)).map(|offset| {
            let byte = packet.and_then(|region| byte_at(region, offset));
            byte.map_or_else(|| "--".to_owned(), |byte| format!("{byte:02x}"))
        });
        let maps = match layout {
            Some(layout) => {
                let base = |region| self.base(executor, region);
                let memory = maps::Memory {
                    bytes: &self.bytes,
                    interned: &self.interned,
                    inputs: &self.inputs,
                    written: &self.written,
                    base: &base,
                };
                maps::of_layout(executor, layout, &memory)
            }
            None => maps::of_regions(executor, &self.bytes),
        };
        let unknowns = self.unknowns.clone();
        let environment = self.requirements.clone();
        WitnessResult {
            packet: hex.collect(),
            length: self.length,
            maps,
            unknowns,
            environment,
            pipeline: None,
            #[cfg(test)]
            p4: None,
        }
    }
}

/// Evaluates a term with the values of a solver's model. A variable without a value gets its
/// minimum.
fn value(pool: &TermPool, model: &Model, term: TermId) -> u64 {
    match *pool.node(term) {
        Node::Var(var) => model.var(var).unwrap_or(pool.domain(term).lo()),
        _ => pool.eval(term, model),
    }
}
